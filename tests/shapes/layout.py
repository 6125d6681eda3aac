"""The shapes, made usable: a copy of this room in which the driver's code lies where each package expects it.

`python -m tests.shapes.layout DIRECTORY` makes it; `--dra-driver DIRECTORY/<shape>/driver.yaml` runs the suite on one.
"""

from __future__ import annotations

import base64
import shutil
import sys
from pathlib import Path

import yaml

from drivers.install import archive

HERE = Path(__file__).parent
DRIVER = HERE.parents[1] / "drivers" / "fake"
SHAPES = tuple(sorted(file.parent.name for file in HERE.glob("*/driver.yaml")))


def lay_out(target: Path) -> dict[str, Path]:
    """Write the copy to a directory that is not there yet; returns the manifest of each shape by its name."""
    shutil.copytree(HERE, target, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    code = archive(DRIVER)
    for place in ("chart/files", "no-class/base"):
        (target / place).mkdir(exist_ok=True)
        (target / place / "code.zip").write_bytes(code)
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "code", "namespace": "bare"},
        "binaryData": {"code.zip": base64.b64encode(code).decode()},
    }
    (target / "no-probe" / "code.yaml").write_text(yaml.safe_dump(config_map))
    return {shape: target / shape / "driver.yaml" for shape in SHAPES}


if __name__ == "__main__":
    for manifest in lay_out(Path(sys.argv[1])).values():
        print(manifest)
