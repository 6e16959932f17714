"""JSON, JSON lines, YAML and TOML: values with the keys that lead to them.

Promises: JSON leaves come as "key.path: value", one block per record, located by its key
path; YAML and TOML keep their lines verbatim, located by the section they stand in; what is
no valid JSON is read as text and said to be; nesting is capped; nothing recurses.
Does not: parse YAML or TOML into values (a reader must not depend on packages or on
Python 3.11), resolve references, or run anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from helpers import limits
from helpers.errors import limit_reached
from helpers.extract import formats
from helpers.extract.blocks import Block, Context, Item, Location, Metadata, Notice
from helpers.extract.plain import line_place, lines, numbered, some
from helpers.extract.sections import PATH_SEPARATOR
from helpers.extract.stream import TextStream

SECTION_CHARS = 1_500  # code points after which a YAML section is parted at its next key
INLINE_LIST_CHARS = 300  # code points up to which a list of plain values stays on one line

_JSON_SIGN = re.compile(r'["\\\[\]{}]')
_YAML_KEY = re.compile(
    r"\A((?:[ ]|- )*)(\"[^\"]{1,200}\"|'[^']{1,200}'|[^\s#:{\[&*!|>'\"-][^:#]{0,200}?):(?:[ ]|$)"
)
_TOML_TABLE = re.compile(r"\A[ \t]*\[{1,2}([^\[\]]{1,200})\]{1,2}[ \t]*(?:#.*)?$")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Blocks of a structured text. Raises Unread: `empty`, `corrupt` for binary content, or
    `limit_reached` for JSON nested deeper than JSON_DEPTH.
    """
    named = formats.by_name(ctx.name)
    kind = named.name if named is not None else "json"
    stream = TextStream(file, ctx)
    yield Metadata(encoding=stream.encoding.label)
    if kind == "jsonl":
        found = _json_lines(stream)
    elif kind == "yaml":
        found = yaml_sections(numbered(stream))
    elif kind == "toml":
        found = toml_sections(numbered(stream))
    else:
        found = _json(stream, ctx.size)
    yield from some(found)
    yield from stream.notices()


# --- JSON --------------------------------------------------------------------------------


def records(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(key path, text) of each record in a JSON value, in order.

    A record is an object in a list, or the document itself; its text is a line per leaf,
    "key.path: value". Iterative, so nesting costs no stack.
    """
    gathered: list[str] = []
    record, size = name, 0
    pending: list[tuple[Any, str, str]] = [(value, name, "")]
    while pending:
        here, owner, path = pending.pop()
        if owner != record or size > limits.PARAGRAPH_CHARS:
            if gathered:
                yield record, "\n".join(gathered)
            gathered, size, record = [], 0, owner
        if isinstance(here, dict):
            members = [
                (member, owner, f"{path}.{key}" if path else key) for key, member in here.items()
            ]
            pending.extend(reversed(members))
        elif isinstance(here, list) and not _is_plain_list(here):
            full = ".".join(part for part in (owner, path) if part)
            entries = [(entry, f"{full}[{index}]", "") for index, entry in enumerate(here)]
            pending.extend(reversed(entries))
        else:
            line = _leaf(here, path)
            gathered.append(line)
            size += len(line) + 1
    if gathered:
        yield record, "\n".join(gathered)


def json_depth(text: str) -> int:
    """The deepest nesting of brackets outside strings."""
    depth = deepest = 0
    position, quoted = 0, False
    while found := _JSON_SIGN.search(text, position):
        sign, position = found.group(), found.end()
        if sign == '"':
            quoted = not quoted
        elif quoted:
            position += sign == "\\"
        elif sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _json(stream: TextStream, size: int) -> Iterator[Item]:
    if size > limits.JSON_TREE_BYTES:
        yield Notice(
            "read_as_text",
            f"JSON of {size:,} > {limits.JSON_TREE_BYTES:,} bytes was read as text",
        )
        yield from lines(stream, "line")
        return
    text = "".join(stream)
    if not text.strip():
        return
    try:
        value = _parsed(text)
    except ValueError as problem:
        yield Notice("read_as_text", f"No valid JSON ({problem}); read as text")
        yield from lines([text], "line")
        return
    del text
    for path, record in records(value):
        yield from _record_blocks(record, Location("section", path or "top", None, path or None))


def _parsed(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, or Unread("limit_reached") on deep nesting."""
    if text.count("[") + text.count("{") > limits.JSON_DEPTH:
        depth = json_depth(text)
        if depth > limits.JSON_DEPTH:
            remedy = "Flatten the file, or index what it was exported from."
            raise limit_reached("JSON nesting", depth, limits.JSON_DEPTH, "levels", remedy)
    return json.loads(text)


def _json_lines(stream: TextStream) -> Iterator[Item]:
    broken, first_broken = 0, 0
    for number, line in numbered(stream, limits.RECORD_CHARS):
        if not line.strip():
            continue
        try:
            text = "\n".join(record for _, record in records(json.loads(line)))
        except (ValueError, RecursionError):
            broken, first_broken = broken + 1, first_broken or number
            text = line.strip()
        yield from _record_blocks(text, line_place(number))
    if broken:
        yield Notice(
            "read_as_text",
            f"Lines that are no valid JSON, read as text: {broken:,}, first line {first_broken:,}",
            line_place(first_broken),
        )


def _record_blocks(text: str, place: Location) -> Iterator[Block]:
    for start in range(0, len(text), limits.PARAGRAPH_CHARS):
        yield Block(text[start : start + limits.PARAGRAPH_CHARS], "paragraph", 0, place)


def _is_plain_list(value: list[Any]) -> bool:
    return (
        len(value) <= INLINE_LIST_CHARS
        and not any(isinstance(entry, (dict, list)) for entry in value)
        and sum(len(str(entry)) + 2 for entry in value) <= INLINE_LIST_CHARS
    )


def _leaf(value: Any, path: str) -> str:
    if isinstance(value, list):
        shown = ", ".join(_scalar(entry) for entry in value)
    else:
        shown = _scalar(value)
    return f"{path}: {shown}" if path else shown


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.dumps(value)


# --- YAML and TOML -----------------------------------------------------------------------


def yaml_sections(found: Iterable[tuple[int, str]]) -> Iterator[Block]:
    """Verbatim runs of YAML lines: one per top-level key, parted further where long."""
    path: list[tuple[int, str]] = []
    run = _Run()
    for number, line in found:
        key = _YAML_KEY.match(line)
        if key:
            indent = len(key[1])
            if indent == 0 or run.size > SECTION_CHARS:
                yield from run.flush()
            path = [entry for entry in path if entry[0] < indent]
            path.append((indent, key[2].strip("\"' ")))
        elif line.startswith("---"):
            yield from run.flush()
            path = []
        run.add(number, line, [name for _, name in path])
        if run.size > limits.PARAGRAPH_CHARS:
            yield from run.flush()
    yield from run.flush()


def toml_sections(found: Iterable[tuple[int, str]]) -> Iterator[Block]:
    """Verbatim runs of TOML lines: one per table."""
    run = _Run()
    table: list[str] = []
    quoted = ""
    for number, line in found:
        header = None if quoted else _TOML_TABLE.match(line)
        if header:
            yield from run.flush()
            table = [part.strip("\"' ") for part in header[1].split(".")]
        for fence in ('"""', "'''"):
            if line.count(fence) % 2 and quoted in ("", fence):
                quoted = "" if quoted else fence
        run.add(number, line, table)
        if run.size > limits.PARAGRAPH_CHARS:
            yield from run.flush()
    yield from run.flush()


class _Run:
    """Lines gathered into one block, located by the section of the first one."""

    def __init__(self) -> None:
        self.size = 0
        self._lines: list[str] = []
        self._number = 0
        self._path: list[str] = []

    def add(self, number: int, line: str, path: list[str]) -> None:
        if not self._lines:
            self._number, self._path = number, path
        self._lines.append(line)
        self.size += len(line) + 1

    def flush(self) -> Iterator[Block]:
        text = "\n".join(self._lines).rstrip()
        if text.strip():
            label = PATH_SEPARATOR.join(self._path)[: limits.SECTION_LABEL_CHARS]
            if self._path:
                place = Location("section", label, self._number, self._path[-1])
            else:
                place = line_place(self._number)
            yield Block(text, "code", 0, place)
        self._lines.clear()
        self.size = 0
