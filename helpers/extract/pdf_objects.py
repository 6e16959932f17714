"""Small readers of pypdf's objects, which are used as plain mappings, lists and streams.

Promises: a missing or odd entry gives a default, never an error of its own.
Does not: import pypdf.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def resolve(value: Any) -> Any:
    """The object behind a reference."""
    return value.get_object() if hasattr(value, "get_object") else value


def get(holder: Any, key: str) -> Any:
    """The resolved entry `key`, or None."""
    holder = resolve(holder)
    return resolve(holder.get(key)) if isinstance(holder, Mapping) else None


def data(value: Any) -> bytes:
    """The unpacked bytes of a stream; empty for anything else."""
    value = resolve(value)
    return bytes(value.get_data()) if hasattr(value, "get_data") else b""


def number(value: Any, default: float) -> float:
    """A number, else `default`."""
    value = resolve(value)
    return float(value) if isinstance(value, (int, float)) else default
