"""A first manifest from a Helm chart: what it renders tells most."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from drivers.images import images_of
from drivers.manifest import Package
from drivers.manifest.draft import Entry, Found, driver_parts, entries, named, text
from drivers.packages import objects_in, shown, templated

Object = dict[str, Any]
_SETS_NAME = re.compile(r"driver[._-]?name$", re.IGNORECASE)
_PROBE = "probe.example.dra"
_OWNER = re.compile(r"^https?://github\.com/(?P<owner>[^/]+)/")


def drafted(chart: str, values: Sequence[Path], settings: Mapping[str, str], place: Path) -> str:
    """The manifest of the driver that a chart installs with some values; it will lie in the directory `place`.

    Raises:
        PackageError: there is no such chart, or it does not render.
        NothingFound: it has no driver.
    """
    about = shown(chart, "chart")
    package = Package(chart=chart, values=tuple(values))
    objects = _objects(package, about["name"], settings)
    daemon_sets = driver_parts(objects, f"in what {chart} renders")
    own = daemon_sets[0]["metadata"].get("namespace") or about["name"]
    found = Found(
        namespace=own,
        daemon_sets=daemon_sets,
        names=named(daemon_sets, objects),
        deployments=[item["metadata"]["name"] for item in objects if item["kind"] == "Deployment"],
        classes=[item for item in objects if item["kind"] == "DeviceClass"],
        about_name=_about_name(package, about["name"], settings, objects),
    )
    install = [
        Entry("kind", "helm"),
        Entry("chart", chart if chart.startswith("oci://") else os.path.relpath(chart, place)),
        Entry("release", about["name"]),
    ]
    if values:
        install.append(Entry("values", [os.path.relpath(file, place) for file in values]))
    if settings:
        literal = {key: value.replace("{", "{{").replace("}", "}}") for key, value in settings.items()}
        install.append(Entry("set", literal))
    images = ", ".join(sorted(images_of(objects)))
    extra = [
        Entry("", says=("? Another version lets rollouts be checked from one to the other; what differs is named:",)),
        Entry("", says=('upgrade: {version: "...", set: {image.tag: "..."}}   (or chart, values)',)),
        Entry("", says=(f"? Can nodes of a kind cluster pull {images}? If not:",)),
        Entry("", says=("images: [...]   (archives, or names of images that docker has)",)),
    ]
    return text(f"The driver of the chart {chart}.", entries(found, _made_by(about), Entry("install", install), extra))


def _objects(package: Package, name: str, settings: Mapping[str, str]) -> list[Object]:
    return objects_in(templated(package, name, name, settings, ""))


def _made_by(about: Object) -> dict[str, str | None]:
    """Who made a chart's driver, as `Chart.yaml` tells."""
    urls = [about.get("home"), *(about.get("sources") or ())]
    url = next(filter(None, urls), None)
    owners = (match["owner"] for match in map(_OWNER.match, filter(None, urls)) if match)
    makers = (maker["name"] for maker in about.get("maintainers") or () if maker.get("name"))
    return {
        "organization": next(chain(owners, makers), None),
        "project": about["name"],
        "version": str(about.get("appVersion") or about.get("version") or "") or None,
        "url": url,
    }


def _about_name(package: Package, name: str, settings: Mapping[str, str], objects: list[Object]) -> tuple[str, ...]:
    """Whether a value of the chart gives the driver its name: tried, not guessed."""
    assert package.chart is not None
    for key in _keys(shown(package.chart, "values")):
        if _SETS_NAME.search(key) and key not in settings:
            renamed = _objects(package, name, {**settings, key: _PROBE})
            if _PROBE in named([item for item in renamed if item["kind"] == "DaemonSet"], renamed):
                first = next(item["metadata"]["name"] for item in objects if item["kind"] == "DaemonSet")
                how = (
                    f"The chart's value {key} sets it. So each check can install a driver of its own, and checks run "
                    f'in parallel, with name: "x-{{id}}.example.com", install.set: {{{key}: "{{name}}"}}, '
                    f'install.release: "{{prefix}}", no workload.namespace, and {{prefix}} in names like {first}.'
                )
                return (how,)
    return ("No value of the chart was found that sets it: it is fixed, and checks take turns.",)


def _keys(values: Object, above: str = "") -> Iterator[str]:
    """The dotted keys of a chart's values."""
    for key, value in values.items():
        yield f"{above}{key}"
        if isinstance(value, dict):
            yield from _keys(value, f"{above}{key}.")
