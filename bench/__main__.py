"""`python -m bench [NAME …]`: run benchmarks, print one JSON object per claim.

Exit code 0 when every ratio is reached, 1 otherwise. Needs a quiet machine and, for `server`,
the packages of requirements.txt.
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import sys
from collections.abc import Callable

from bench import office, search, semantic, server, sync
from bench.measure import Ratio


def _vectors() -> list[Ratio]:
    from bench import vectors  # needs numpy, which the others do without

    return vectors.exact_search()


def _hybrid() -> list[Ratio]:
    from bench import hybrid  # needs numpy and the model

    return hybrid.latency()


BENCHMARKS: dict[str, Callable[[], list[Ratio]]] = {
    "server": server.handshake,
    "no-change": sync.no_change,
    "text": sync.text,
    "search": search.latency,
    "large-file": sync.one_large_file,
    "office": office.formats,
    "legacy": office.legacy,
    "folder": office.folder,
    "semantic-cold": semantic.cold,
    "semantic-bulk": semantic.bulk,
    "vectors": _vectors,
    "hybrid": _hybrid,
}


def main() -> int:
    """Run what was named, or everything."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHMARKS)}; default: all")
    names = parser.parse_args().names or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    print(f"{machine}, SQLite {sqlite3.sqlite_version}", file=sys.stderr)
    reached = True
    for name in names:
        for ratio in BENCHMARKS[name]():
            print(json.dumps(ratio.as_dict()), flush=True)
            reached = reached and ratio.value <= ratio.target
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
