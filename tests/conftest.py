"""What every test shares: where the reference data lies, and quiet surroundings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.accept.documents import Library
from tests.source.tree import tree_digest

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("RAGDOC_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")
# Where the embedded model is, for the tests that are about it. No other test sees a model that
# happens to be installed, nor a Hugging Face cache.
INSTALLED_MODELS = Path(
    os.environ.get("RAGDOC_MODELS_DIR") or Path.home() / ".mcp-ragdoc" / "models"
)
RECOGNISED_S = 900  # seconds that recognising may take on a busy machine
KEPT = {"RAGDOC_MODELS_DIR": os.devnull + "/models", "HF_HUB_CACHE": os.devnull + "/hub"}
os.environ.update(KEPT)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--points", default="sample", help="points of tests/trust: sample, N or all")


@pytest.fixture(scope="session")
def points(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """How many points to take: `points(sample, everything)` as --points says."""
    asked = request.config.getoption("--points")

    def take(sample: int, everything: int) -> int:
        if asked in ("sample", "all"):
            return sample if asked == "sample" else everything
        return min(int(asked), everything)

    return take


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference data beside the repository; tests over it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"no reference data at {SHARED} (set RAGDOC_SHARED_DATA)")
    return SHARED


@pytest.fixture(scope="session")
def recognised(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The reference documents in an index, scans recognised where there is an engine. Made once:
    recognising takes a minute. The manifest, which quotes the documents, is left out.
    """
    library = Library(tmp_path_factory.mktemp("recognised"), source=shared / "docs")
    job = library.sync("--exclude", "/MANIFEST.tsv", timeout=RECOGNISED_S)
    assert job["status"] == "done", job
    return library


@pytest.fixture(scope="session", autouse=True)
def _sources_stay_as_they_are() -> Iterator[None]:
    """LIMITS 22: whatever the suite does, the digest of the documents it reads is unchanged."""
    before = tree_digest(SHARED)
    yield
    assert tree_digest(SHARED) == before, f"the suite changed {SHARED}"


@pytest.fixture(scope="session")
def installed_models() -> Path:
    """Where the embedded model is installed, if it is."""
    return INSTALLED_MODELS


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the project."""
    return REPOSITORY


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("RAGDOC_") and name not in KEPT:
            monkeypatch.delenv(name)
