"""Who may import whom: the table of docs/architecture.md, enforced over every module's syntax.

A room sees only the rooms listed for it; a package or a delicate standard module belongs to the
rooms that own it; nothing below imports a door or a story; there is no cycle between modules.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GROUND = {"errors", "limits", "files", "log", "config", "packages", "environment", "recognition"}
STORY_ROOMS = {"source", "language", "extract", "store", "semantic", "remote", "retrieve", "jobs"}
STORY_ROOMS |= {"recognize"}
SERVICE_ROOMS = {"jobs", "store", "config", "source", "language", "extract", "semantic"}
SERVICE_ROOMS |= {"recognize"}
DOOR_ROOMS = {"service", "catalogue", "clients", "evaluate", "doctor", "bundle", "setup"}

MAY_IMPORT = {
    "source": set(),
    "language": set(),
    "extract": {"language"},
    "store": set(),
    "semantic": set(),
    "remote": set(),
    "recognize": {"language", "remote"},
    "retrieve": {"language", "store", "semantic", "remote"},
    "jobs": set(),
    "service": SERVICE_ROOMS | {"changes"},
    "catalogue": {"jobs", "source", "store"},
    "survey": {"source", "store"},
    "changes": {"source", "store", "survey"},
    "intake": {"extract", "jobs", "source", "store", "survey"},
    "trial": {"extract", "source"},
    "readers": {"extract", "language", "recognize"},
    "embedding": {"jobs", "semantic", "store"},
    "evaluate": SERVICE_ROOMS,
    "doctor": SERVICE_ROOMS,
    "bundle": SERVICE_ROOMS,
    "setup": SERVICE_ROOMS,
    "clients": set(),
    "stdio": set(),
    "render": set(),
    "mcp_offer": set(),
    "mcp_reply": {"mcp_offer", "render"},
    "rag_sync": STORY_ROOMS
    | DOOR_ROOMS
    | {
        "changes",
        "survey",
        "intake",
        "readers",
        "embedding",
        "trial",
    },  # its command line is a door
    "rag_search": STORY_ROOMS | DOOR_ROOMS | {"render"},
    "rag_server": DOOR_ROOMS | {"stdio", "mcp_offer", "mcp_reply", "rag_search", "ui"},
    "semantic_worker": {"semantic", "setup"},  # its command line installs
    "ui": DOOR_ROOMS,
}
# Single modules that see more than their room does.
ALSO = {
    # The scan reads its blocks where they lie: through a pipe they would be copied, all of them,
    # at each change. It opens the index read-only, and the store keeps sqlite3 to itself.
    "helpers.semantic.scan": {"store"},
    # Keys and passwords are refused inside a mail or an archive too, by the same names and signs.
    "helpers.extract.nested": {"source"},
    "helpers.extract.zip_members": {"source"},
    "helpers.semantic.shelf": {"store"},
    "helpers.semantic.narrowing": {"store"},
    "helpers.semantic.heads": {"store"},
}
# Modules that only the embedding process and the install load.
WORKER_MODULES = {"encoder", "prepare", "install", "onnx_file", "e5_bundle", "e5_graph"}
WORKER_MODULES |= {"scan", "heads", "shelf", "narrowing", "products"}
OWNERS = {
    "fcntl": {"helpers.files"},
    "msvcrt": {"helpers.files", "helpers.extract", "helpers.stdio"},
    "pypdf": {"helpers.extract.pdf"},
    "pypdfium2": {"helpers.recognize.draw"},
    "cryptography": {"helpers.extract.pdf"},
    "pythainlp": {"helpers.language.thai"},
    "zipfile": {"helpers.extract", "helpers.semantic.install", "helpers.bundle"},
    "xml": {"helpers.extract"},
    "sqlite3": {"helpers.store"},
    "pymilvus": {"helpers.store.milvus"},
    "onnxruntime": {"semantic_worker", "helpers.semantic.sessions"},
    "numpy": {"semantic_worker"} | {f"helpers.semantic.{name}" for name in WORKER_MODULES},
    "faster_whisper": {"helpers.recognize.transcribe"},
    "sentencepiece": {"helpers.semantic.encoder"},
    "mcp": {"rag_server"},
    "mcp_types": {"rag_server"},
    "anyio": {"rag_server"},
    "pydantic": {"rag_server"},
    "uvicorn": {"rag_server"},
    "http.server": {"ui.console"},
    "subprocess": {
        "helpers.extract",
        "helpers.recognize",
        "helpers.semantic.client",
        "helpers.jobs.spawn",
        "helpers.environment",
    }
    | {"helpers.semantic.process", "helpers.semantic.install", "helpers.setup", "helpers.bundle"},
}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for pattern in ("*.py", "helpers/**/*.py", "ui/**/*.py")
    for path in sorted(ROOT.glob(pattern))
}


def room(module: str) -> str:
    return module.split(".")[1] if module.startswith("helpers.") else module.split(".")[0]


def imports(path: Path) -> Iterator[str]:
    """Every module that `path` imports, anywhere in it; `from a import b` counts a module b."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from (names & MODULES.keys()) or {str(node.module)}


def inside(name: str, owner: str) -> bool:
    return name == owner or name.startswith(owner + ".")


@pytest.mark.parametrize("module", MODULES)
def test_a_room_imports_only_what_the_table_allows(module: str) -> None:
    own = room(module)
    for name in imports(MODULES[module]):
        top = name.split(".")[0]
        if name in MODULES and name != "helpers" and room(name) != own and own not in GROUND:
            assert own in MAY_IMPORT, f"{module}: give {own} a line in the table"
            seen = MAY_IMPORT[own] | ALSO.get(module, set()) | GROUND
            assert room(name) in seen, f"{module} imports {name}"
        elif name in MODULES and own in GROUND:
            assert room(name) in GROUND, f"the ground ({module}) imports {name}"
        for owned, owners in OWNERS.items():
            if inside(name, owned):
                allowed = any(inside(module, owner) for owner in owners)
                assert allowed, f"{module} imports {name}, which belongs to {sorted(owners)}"
        known = top in sys.stdlib_module_names or name in MODULES or top in OWNERS
        assert known or top == "__future__", f"{module} imports {name}, which nobody owns"


@pytest.mark.parametrize("module", MODULES)
def test_only_config_reads_the_environment(module: str) -> None:
    if module == "helpers.config":
        return
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv"):
            raise AssertionError(f"{module}, line {node.lineno} reads the environment")


def test_the_stories_never_import_each_other() -> None:
    for one, other in (("rag_sync", "rag_search"), ("rag_search", "rag_sync")):
        if one in MODULES:
            assert other not in set(imports(MODULES[one]))


def test_no_module_imports_itself_through_others() -> None:
    graph = {
        module: {name for name in imports(path) if name in MODULES and name != module}
        for module, path in MODULES.items()
    }
    while leaves := {module for module, needs in graph.items() if not needs & graph.keys()}:
        graph = {module: needs for module, needs in graph.items() if module not in leaves}
    assert not graph, f"a cycle among {sorted(graph)}"
