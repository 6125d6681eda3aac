"""A node image with an older kubelet: where that comes from, and that the image is made once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.cluster.commands import CommandError, Commands
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.node_image.choice import NodeImage
from fixtures.cluster.node_image.golang import GoCommands
from fixtures.cluster.node_image.old_kubelet import REPOSITORY, with_kubelet

BUILT = NodeImage("localhost/dra-conformance/node:v1.35.4-abc", "1.35.4", "sha256:1", Path("/kind"), Path("/k"), False)
STOCK = replace(BUILT, reference="kindest/node:v1.35.4")


class FakeEngine:
    """A docker: images by reference, containers that are copied to and committed, and a registry that may answer."""

    def __init__(self, root: Path):
        self.root = root
        self.registry = False
        self.full = False
        self.images: dict[str, str] = {}
        self.containers: dict[str, str] = {}
        self.created: list[str] = []

    def run(self, *arguments: str | Path, **_: float) -> str:
        match [str(word) for word in arguments]:
            case ["images", "--quiet", reference]:
                return "id\n" if reference in self.images else ""
            case ["images", *_, repository]:
                return "\n".join(reference for reference in self.images if reference.startswith(repository))
            case ["rmi", reference]:
                del self.images[reference]
            case ["manifest", "inspect", _] | ["pull", *_] if self.registry:
                return ""
            case ["image", "inspect", *_]:
                return "sha256:stock\n"
            case ["create", "--network", "none", image]:
                self.created.append(image)
                self.containers["c"] = "its own kubelet"
                return "c\n"
            case ["cp", "--follow-link", "c:/usr/bin/kubelet", into]:
                Path(into, "kubelet").write_text("stock kubelet")
            case ["cp", file, "c:/usr/bin/kubelet"] if not self.full:
                self.containers["c"] = Path(file).read_text()
            case ["commit", "c", reference]:
                self.images[reference] = self.containers["c"]
            case ["rm", "--force", "--volumes", "c"]:
                del self.containers["c"]
            case words:
                raise CommandError(words, "no", "no space left on device")
        return ""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    def build(wanted: GoCommands, into: Path, _: Commands, __: Path) -> None:
        (into / "kubelet").write_text(f"built {wanted.version}")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(GoCommands, "build", build)
    return FakeEngine(tmp_path)


@pytest.fixture
def make(engine: FakeEngine) -> Callable[[NodeImage], str]:
    return lambda image: with_kubelet(image, "1.32.13", engine, lambda _: None)  # type: ignore[arg-type]


def test_kubelet_is_built_for_an_image_that_was_built(engine: FakeEngine, make: Callable[[NodeImage], str]) -> None:
    engine.registry = True
    reference = make(BUILT)
    assert reference.startswith(f"{REPOSITORY}:v1.35.4-v1.32.13-")
    assert engine.images == {reference: "built 1.32.13"}
    assert engine.created == [BUILT.id]
    assert engine.containers == {}


def test_kubelet_is_taken_out_of_the_stock_image(engine: FakeEngine, make: Callable[[NodeImage], str]) -> None:
    engine.registry = True
    assert engine.images[make(STOCK)] == "stock kubelet"
    assert engine.created == ["sha256:stock", STOCK.id]


def test_kubelet_is_built_where_no_registry_has_the_older_one(
    engine: FakeEngine, make: Callable[[NodeImage], str]
) -> None:
    assert engine.images[make(STOCK)] == "built 1.32.13"


def test_image_is_made_once_per_node_image(engine: FakeEngine, make: Callable[[NodeImage], str]) -> None:
    first = make(BUILT)
    assert make(BUILT) == first
    assert len(engine.created) == 1
    newer = make(replace(BUILT, id="sha256:2"))
    assert newer != first
    assert list(engine.images) == [newer], "the superseded one is removed"


def test_failure_leaves_nothing_and_tells_the_remedy(engine: FakeEngine, make: Callable[[NodeImage], str]) -> None:
    engine.full = True
    with pytest.raises(ClusterError, match="no space left") as caught:
        make(BUILT)
    assert "Run again" in caught.value.remedy
    assert engine.images == engine.containers == {}
