"""Letters of the Adobe character collections, by character identifier (CID).

Promises: the tables for Korean and Japanese are read from data files at first use.
Does not: know the Chinese collections; their fonts are read where the file maps them itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

DATA = Path(__file__).with_name("data")
COLLECTIONS = {"Korea1": "adobe_korea1.txt", "Japan1": "adobe_japan1.txt"}
_NONE = "\ufffd"


@lru_cache(maxsize=4)
def letters(ordering: str) -> Mapping[int, str]:
    """Letters by CID of the collection `ordering`; empty for one that is not known."""
    name = COLLECTIONS.get(ordering)
    if name is None:
        return {}
    joined = (DATA / name).read_text(encoding="utf-8").replace("\n", "")
    return {cid: letter for cid, letter in enumerate(joined) if letter != _NONE}
