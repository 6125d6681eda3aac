"""Images without an image builder."""

import hashlib
import json
import tarfile
from pathlib import Path

from fixtures.cluster.node_image.archive import Image


def write(tmp_path: Path) -> tuple[str, tarfile.TarFile]:
    tool, link = tmp_path / "tool", tmp_path / "link"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    link.symlink_to("tool")
    (tmp_path / "directory").mkdir()
    files = {"/usr/bin/tool": tool, "/usr/bin/link": link, "/opt/empty": tmp_path / "directory", "/bin": tool}
    image = Image("localhost/x:1", ["/usr/bin/tool"], files, links={"/bin": "usr/bin"}, environment=["A=1"])
    return image.write(tmp_path / "x.tar"), tarfile.open(tmp_path / "x.tar")


def test_manifest_config_and_layer_agree(tmp_path: Path) -> None:
    layer, archive = write(tmp_path)
    with archive:
        files = {entry.name: archive.extractfile(entry) for entry in archive.getmembers()}
        contents = {name: stream.read() for name, stream in files.items() if stream is not None}
    (manifest,) = json.loads(contents["manifest.json"])
    config = json.loads(contents[manifest["Config"]])
    assert manifest["RepoTags"] == ["localhost/x:1"]
    assert manifest["Config"] == f"{hashlib.sha256(contents[manifest['Config']]).hexdigest()}.json"
    assert config["rootfs"]["diff_ids"] == [f"sha256:{layer}"]
    assert hashlib.sha256(contents[manifest["Layers"][0]]).hexdigest() == layer
    assert config["config"]["Entrypoint"] == ["/usr/bin/tool"]
    assert config["config"]["Env"][1:] == ["A=1"]


def test_layer_holds_files_links_and_directories_of_root(tmp_path: Path) -> None:
    layer, archive = write(tmp_path)
    with archive, tarfile.open(fileobj=archive.extractfile(f"{layer}/layer.tar")) as tar:
        entries = {entry.name: entry for entry in tar.getmembers()}
        assert len(entries) == len(tar.getmembers()), "no path twice"
    assert entries["tmp"].mode == 0o1777
    assert entries["usr/bin/tool"].mode == 0o755
    assert entries["usr/bin/link"].linkname == "tool"
    assert entries["opt/empty"].isdir()
    assert entries["bin"].linkname == "usr/bin", "a link wins over a file of the same name"
    assert {(entry.uid, entry.gid) for entry in entries.values()} == {(0, 0)}
    assert list(entries).index("usr/bin") < list(entries).index("usr/bin/tool")
