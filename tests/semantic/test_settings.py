"""The settings of the semantic room: linger, where models lie, where the cache is."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import config
from helpers.errors import UsageError


@pytest.mark.parametrize(("given", "linger"), [("", None), ("0", 0.0), ("2.5", 2.5)])
def test_linger_is_left_to_the_door_where_nobody_sets_it(given: str, linger: float | None) -> None:
    settings = config.resolve(None, {"RAGDOC_SEMANTIC_LINGER": given})
    assert settings.semantic_linger == linger
    assert ("--semantic-linger" in settings.flags()) is (linger is not None)


@pytest.mark.parametrize("given", ["-1", "3601", "nan", "soon"])
def test_a_linger_out_of_range_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="--semantic-linger"):
        config.resolve(None, {"RAGDOC_SEMANTIC_LINGER": given})


@pytest.mark.parametrize(
    ("environ", "cache"),
    [
        ({"HUGGINGFACE_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HF_HUB_CACHE": "/a"}, "/a"),
        ({"HF_HOME": "/b"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
        ({}, "~/.cache/huggingface/hub"),
    ],
)
def test_the_hugging_face_cache_is_where_its_tools_have_it(
    environ: dict[str, str], cache: str
) -> None:
    assert config.resolve(None, environ).huggingface_cache == Path(cache).expanduser().absolute()


def test_models_are_shared_by_all_data_directories(tmp_path: Path) -> None:
    one = config.resolve(None, {"RAGDOC_DATA_DIR": str(tmp_path / "one")})
    other = config.resolve(None, {"RAGDOC_DATA_DIR": str(tmp_path / "other")})
    assert one.models_dir == other.models_dir == Path("~/.mcp-ragdoc/models").expanduser()
