"""A first manifest of your driver, from its Helm chart or from a cluster in which it runs.

What cannot be known stands in it as a question, `# ?`. With --schema the JSON Schema of manifests is written, which
editors use.

    python -m drivers.manifest --from-chart ./my-chart --set image.tag=v1 --output my-driver.yaml
    python -m drivers.manifest --from-cluster my-namespace --context my-cluster --output my-driver.yaml
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from drivers.loading import ManifestError, load
from drivers.manifest import from_chart, from_cluster, schema
from drivers.manifest.draft import NothingFound, questions
from drivers.manifest.from_cluster import NoAccess
from drivers.packages import PackageError


class _Refused(Exception):
    """Words that do not fit; tells the remedy."""


def main(words: list[str] | None = None) -> int:
    """Write what is asked for; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m drivers.manifest", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sources = parser.add_mutually_exclusive_group(required=True)
    sources.add_argument("--from-chart", metavar="CHART", help="a directory, an archive or oci://; needs helm")
    sources.add_argument("--from-cluster", metavar="NAMESPACE", help="the namespace of the driver's pods")
    sources.add_argument("--schema", action="store_true", help=f"write {schema.FILE.name}")
    parser.add_argument("--values", action="append", default=[], type=Path, metavar="FILE", help="for the chart")
    parser.add_argument("--set", action="append", default=[], metavar="K=V", help="a single value for the chart")
    parser.add_argument("--context", default="", metavar="NAME", help="of the cluster; else kubectl's current one")
    parser.add_argument("--output", type=Path, metavar="FILE", help="a new file; else the terminal")
    asked = parser.parse_args(words)
    if (asked.values or asked.set) and not asked.from_chart:
        parser.error("--values and --set are for --from-chart")
    if asked.context and not asked.from_cluster:
        parser.error("--context is for --from-cluster")
    try:
        if asked.schema:
            file = asked.output or schema.FILE
            file.write_text(schema.text())
            _say(f"wrote {file}")
        else:
            _write(_drafted(asked), asked.output)
    except (_Refused, PackageError, NothingFound, NoAccess) as error:
        _say(str(error))
        return 2
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}")
        return 2
    return 0


def _drafted(asked: argparse.Namespace) -> str:
    if asked.output and asked.output.exists():
        raise _Refused(f"{asked.output} is there already\nRemedy: name another --output, or move it away.")
    if asked.from_cluster:
        _say(f"asking {asked.context or 'the current context'} about the namespace {asked.from_cluster}")
        return from_cluster.drafted(asked.from_cluster, from_cluster.lists_of(asked.context))
    chart: str = asked.from_chart
    lacking = [str(file) for file in asked.values if not file.is_file()]
    if not chart.startswith("oci://") and not Path(chart).exists():
        lacking.append(chart)
    if lacking:
        remedy = "name a chart's directory, its archive or an oci:// reference, and files of values that are there"
        raise _Refused(f"there is no {', '.join(lacking)}\nRemedy: {remedy}.")
    if wrong := [one for one in asked.set if "=" not in one]:
        raise _Refused(f"--set {wrong[0]}: has no value\nRemedy: --set KEY=VALUE")
    settings = {key: value for key, _, value in (one.partition("=") for one in asked.set)}
    _say(f"rendering {chart}")
    return from_chart.drafted(chart, asked.values, settings, asked.output.parent if asked.output else Path.cwd())


def _write(draft: str, output: Path | None) -> None:
    if output is None:
        print(draft, end="")
    else:
        output.write_text(draft)
    _say(f"{questions(draft)} questions stand in it as `# ?`")
    if output:
        try:
            load(str(output))
        except ManifestError as error:
            _say(f"It cannot be used before some are answered:\n{error}")
        else:
            _say(f"then: pytest suites --dra-driver {output} --dra-plan")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
