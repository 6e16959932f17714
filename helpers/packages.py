"""Which version of a package is installed, told by the name of its dist-info folder.

`importlib.metadata` says the same but takes 30 to 60 ms to import, which a sync without changes
would spend on nothing else.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re

_DIST_INFO = re.compile(r"(?P<name>[\w.]+)-(?P<version>[^-]+)\.(?:dist|egg)-info", re.ASCII)


def version(package: str) -> str | None:
    """The installed version; "unknown" where it does not say, None where it is not installed."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    site = os.path.dirname(os.path.dirname(spec.origin))
    try:
        return _versions(site, os.stat(site).st_mtime_ns).get(package.lower(), "unknown")
    except OSError:
        return "unknown"


@functools.lru_cache(maxsize=16)
def _versions(site: str, mtime_ns: int) -> dict[str, str]:
    """The packages of a folder, which is listed again when it changed. Raises OSError."""
    found: dict[str, str] = {}
    for name in sorted(os.listdir(site)):
        match = _DIST_INFO.fullmatch(name)
        if match:
            found.setdefault(match["name"].lower().replace("-", "_"), match["version"])
    return found
