"""What Allure shows around its results, which come from pytest: environment, categories and executor."""

import json

from reports.model import Report
from reports.phrases import duration

# The first words of a result's message name its outcome: the one thing about it that Allure can match on.
_CATEGORIES = [
    ("Not conformant: a check failed", ["failed"], None),
    ("Waited in vain: a check failed at a timeout", ["failed"], r"(?is).*(timed out|timeout|in vain).*"),
    ("The suite broke", ["broken", "unknown"], None),
    ("Inconclusive: the environment did not allow to tell", ["skipped"], r"(?s)(Skipped: )?inconclusive\b.*"),
    ("Not supported, by declaration", ["skipped"], r"(?s)(Skipped: )?not-supported\b.*"),
    ("Not applicable: version, capability or mode", ["skipped"], r"(?s)(Skipped: )?not-applicable\b.*"),
    ("Exempt: the operator's choice", ["skipped"], r"(?s)(Skipped: )?exempt\b.*"),
    ("Not run", ["skipped"], r"(?s)(Skipped: )?not-run\b.*"),
]


def environment(report: Report) -> str:
    """`environment.properties`: what runs are compared by."""
    kubelets = sorted({node.kubelet for node in report.cluster.nodes})
    runtimes = sorted({node.runtime for node in report.cluster.nodes})
    facts = {
        "Verdict": report.verdict,
        "Kubernetes": report.cluster.server_version,
        "resource.k8s.io": ", ".join(report.cluster.resource_versions),
        "Provider": report.cluster.provider,
        "Nodes": str(len(report.cluster.nodes)),
        "Kubelet": ", ".join(kubelets),
        "Runtime": ", ".join(runtimes),
        "Driver": report.driver.name,
        "Driver.version": report.driver.version,
        "Saboteur": report.driver.saboteur or "",
        "Suite": report.metadata.suite_version,
        "Suite.commit": report.metadata.suite_commit + (" (edited)" if report.metadata.suite_dirty else ""),
        "Run": report.metadata.run_id,
        "Duration": duration((report.metadata.finished - report.metadata.started).total_seconds()),
    }
    return "".join(f"{name} = {_property(value)}\n" for name, value in facts.items() if value)


def categories(_report: Report) -> str:
    """`categories.json`: an outcome that Allure has no word for is a category."""
    content = [
        {"name": name, "matchedStatuses": statuses} | ({"messageRegex": pattern} if pattern else {})
        for name, statuses, pattern in _CATEGORIES
    ]
    return json.dumps(content, indent=2) + "\n"


def executor(report: Report) -> str:
    """`executor.json`: which run these results are of; the order of builds is the order of time."""
    content = {
        "name": "dra-conformance",
        "type": "dra-conformance",
        "buildName": report.metadata.run_id,
        "buildOrder": int(report.metadata.started.timestamp()),
        "reportName": f"DRA good practices: {report.driver.name}",
    }
    return json.dumps(content, indent=2) + "\n"


def _property(value: str) -> str:
    """Java properties are Latin-1 and know no line breaks."""
    escaped = value.replace("\\", "\\\\").replace("\r", "").replace("\n", "\\n")
    return "".join(character if ord(character) < 127 else _unicode_escape(character) for character in escaped)


def _unicode_escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
