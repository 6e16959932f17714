"""What every test shares: where the reference data lies, and quiet surroundings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("RAGDOC_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference data beside the repository; tests over it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"no reference data at {SHARED} (set RAGDOC_SHARED_DATA)")
    return SHARED


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the project."""
    return REPOSITORY


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("RAGDOC_"):
            monkeypatch.delenv(name)
