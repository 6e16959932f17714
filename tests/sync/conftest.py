from __future__ import annotations

from pathlib import Path

import pytest

from tests.sync.stage import Stage, stage_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """An empty knowledge folder with a data directory beside it."""
    return stage_in(tmp_path)
