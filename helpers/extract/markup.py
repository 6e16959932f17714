"""Streaming XML with guards: names dispatch to actions, results are pulled piece by piece.

The threat: entities that expand a thousandfold or open files, tags nested 80,000 deep, one
attribute of half a gigabyte, a million different names. Promises: a DOCTYPE is refused at its
start, in any encoding, so no entity is ever declared (with `doctype` one that declares nothing
is let through, and what it names is never opened); depth, token size and distinct names are
capped; no tree is built, so 70 MB of XML pass through a few megabytes of memory.
Does not: collect text by itself, or know any document format.

A reader pushes what it finds into a list from its actions and pulls after each piece:

    for _ in scanner.scan(archive.pieces(name)):
        yield from drain(found)
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html.entities import html5
from typing import NoReturn
from xml.parsers import expat

from helpers.errors import Unread, limit_reached
from helpers.limits import MARKUP_DEPTH, MARKUP_NAMES, MARKUP_TOKEN_BYTES

RESAVE = "Open it in the program that made it and save it again, or replace it by a good copy."
WORD_CHARS = 1_000  # code points within which a cut looks for white space
TEXT_BUFFER_BYTES = 65_536  # bytes of character data handed over at once

_HANDLERS = (
    "StartElementHandler",
    "EndElementHandler",
    "CharacterDataHandler",
    "StartDoctypeDeclHandler",
    "SkippedEntityHandler",
    "XmlDeclHandler",
)
_REFERENCE = re.compile(r"&([^;&]{0,20});?")
_LETTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_NO_LETTERS = frozenset(map(chr, {*range(32), 0xFFFE, 0xFFFF} - {9, 10, 13}))
_LAST_WORD = re.compile(r"\s\S*\Z")

Attributes = Mapping[str, str]
OnStart = Callable[[Attributes], object]
OnEnd = Callable[[], object]
Namespaces = Mapping[str, Sequence[str]]

_NAMED: dict[tuple[int, str], tuple[Namespaces, tuple[str, ...]]] = {}


def names(qualified: str, namespaces: Namespaces) -> tuple[str, ...]:
    """The names as expat reports them: `w:p` gives ("URI p", …), one per URI of the prefix."""
    prefix, _, local = qualified.rpartition(":")
    return tuple(f"{uri} {local}" for uri in namespaces[prefix]) if prefix else (local,)


def table(actions: Mapping[str, Callable], namespaces: Namespaces) -> dict[str, Callable]:
    """{"w:p w:tr": action} → {"URI p": action, "URI tr": action, …} for Scanner."""
    made: dict[str, Callable] = {}
    for words, action in actions.items():
        key = id(namespaces), words
        named = _NAMED.get(key)
        if named is None or named[0] is not namespaces:  # a table is made for each small part anew
            found = tuple(name for word in words.split() for name in names(word, namespaces))
            named = _NAMED[key] = namespaces, found
        for name in named[1]:
            made[name] = action
    return made


def first(attributes: Attributes, wanted: Iterable[str]) -> str:
    """The value of the first of the `wanted` names that is there, else an empty string."""
    for name in wanted:
        value = attributes.get(name)
        if value is not None:
            return value
    return ""


def whole(text: str | None, default: int = 0) -> int:
    """A decimal number of up to 18 digits in an attribute, else `default`."""
    text = (text or "").strip()
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if len(digits) <= 18 and digits.isascii() and digits.isdigit() else default


def unreferenced(text: str) -> str:
    """Text taken from XML without a parser: its references become letters.

    Raises Unread corrupt for one that XML does not know, as the parser would.
    """
    return _REFERENCE.sub(_referenced, text) if "&" in text else text


def _referenced(match: re.Match[str]) -> str:
    name = match[1]
    if name in _LETTERS:
        return _LETTERS[name]
    digits = name[2:] if name[:2] == "#x" else name[1:]
    try:
        letter = chr(int(digits, 16 if name[:2] == "#x" else 10)) if name[:1] == "#" else ""
    except (ValueError, OverflowError):
        letter = ""
    if not letter or letter in _NO_LETTERS or "\ud800" <= letter <= "\udfff":
        raise Unread("corrupt", f"A part holds a reference unknown to XML (&{name};)", RESAVE)
    return letter


def severed(parts: list[str]) -> str:
    """Cut collected text that grew too long: gives all of it but its last word, which stays."""
    text = "".join(parts)
    found = _LAST_WORD.search(text, max(0, len(text) - WORD_CHARS))
    cut = found.start() if found else len(text)
    parts[:] = [text[cut:]] if cut < len(text) else []
    return text[:cut]


class Scanner:
    """One pass over one XML part.

    `starts` and `ends` map names (as `table` makes them) to actions; without `separator` names are
    as they stand in the file, prefix and all. `collect` sends
    character data somewhere; `skip`, called in a start action, passes over that element.
    """

    def __init__(
        self,
        part: str,
        starts: Mapping[str, OnStart],
        ends: Mapping[str, OnEnd] | None = None,
        doctype: bool = False,
        separator: str | None = " ",
    ) -> None:
        self._part = part
        self.pending = 0  # bytes fed of a tag or comment that is not complete
        # Seeded, so that names compare by identity with those the actions go by.
        self._names = {name: name for name in (*starts, *(ends or ()))}
        self._parser = parser = expat.ParserCreate(None, separator, self._names)
        parser.buffer_text = True
        parser.buffer_size = TEXT_BUFFER_BYTES
        parser.StartDoctypeDeclHandler = self._check_doctype if doctype else self._refuse_doctype
        if doctype:  # names of letters that a definition would declare are looked up
            parser.UseForeignDTD(True)
            parser.SkippedEntityHandler = self._named_letter
        parser.XmlDeclHandler = self._check_encoding
        # Character data goes to the sink it is called with; None lets it pass. Called for every
        # piece of text, so no method of Python's.
        self.collect: Callable[[Callable[[str], object] | None], None]
        self.collect = functools.partial(setattr, parser, "CharacterDataHandler")
        self._usual = _tracking(part, starts, ends or {})
        self.take_over()

    @property
    def position(self) -> int:
        """The byte at which what the running action is about begins."""
        return self._parser.CurrentByteIndex

    def take_over(
        self,
        start: Callable[[str, Attributes], None] | None = None,
        end: Callable[[str], None] | None = None,
    ) -> tuple[Callable[[str, Attributes], None], Callable[[str], None]]:
        """Put a reader's own two handlers in front, for elements that come by the million.

        Gives the usual handlers, to which the new ones pass every other element on; without
        arguments the usual ones are in charge again. Elements not passed on have no depth.
        """
        usual_start, usual_end = self._usual
        self._start, self._end = start or usual_start, end or usual_end
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        return self._usual

    def skip(self) -> None:
        """Pass over everything inside the element whose start action is running."""
        parser, part, level = self._parser, self._part, 1
        sink = parser.CharacterDataHandler

        def start(name: str, attributes: Attributes) -> None:
            nonlocal level
            level += 1
            if level > MARKUP_DEPTH:
                raise too_deep(part, level)

        def end(name: str) -> None:
            nonlocal level
            level -= 1
            if not level:
                parser.StartElementHandler = self._start
                parser.EndElementHandler = self._end
                parser.CharacterDataHandler = sink
                self._end(name)

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = None

    def divert(
        self,
        start: Callable[[str, Attributes], object],
        end: Callable[[str], object],
        collect: Callable[[str], object] | None,
        done: Callable[[], object],
    ) -> None:
        """Hand everything inside the element whose start action is running to other handlers,
        such as those of an equation; `done` is called at its end, before its own end action.
        """
        parser, part, level = self._parser, self._part, 1
        sink = parser.CharacterDataHandler

        def inner_start(name: str, attributes: Attributes) -> None:
            nonlocal level
            level += 1
            if level > MARKUP_DEPTH:
                raise too_deep(part, level)
            start(name, attributes)

        def inner_end(name: str) -> None:
            nonlocal level
            level -= 1
            if level:
                end(name)
                return
            parser.StartElementHandler = self._start
            parser.EndElementHandler = self._end
            parser.CharacterDataHandler = sink
            done()
            self._end(name)

        parser.StartElementHandler = inner_start
        parser.EndElementHandler = inner_end
        parser.CharacterDataHandler = collect

    def lend(
        self, start: Callable[[str, Attributes], object], end: Callable[[str], object]
    ) -> Callable[[str], None]:
        """Like `divert`, for handlers that count levels themselves: they get all that follows,
        and call what is returned with the name of the end tag that is not theirs any more.
        """
        parser, sink = self._parser, self._parser.CharacterDataHandler

        def give_back(name: str) -> None:
            parser.StartElementHandler = self._start
            parser.EndElementHandler = self._end
            parser.CharacterDataHandler = sink
            self._end(name)

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = None
        return give_back

    def scan(self, pieces: Iterable[bytes]) -> Iterator[None]:
        """Feed the pieces; yields after each of them, and once more at the end.

        Raises Unread: corrupt (not well-formed, DOCTYPE), limit_reached.
        """
        fed = 0
        for piece in pieces:
            self._feed(piece, False)
            fed += len(piece)
            self.pending = fed - max(0, self._parser.CurrentByteIndex)
            if self.pending > MARKUP_TOKEN_BYTES:
                what, unit = f"One tag of {self._part}", "bytes"
                raise limit_reached(what, self.pending, MARKUP_TOKEN_BYTES, unit, RESAVE)
            if len(self._names) > MARKUP_NAMES:
                raise self._too_many_names()
            yield
        self._feed(b"", True)
        self._release()
        yield

    def scan_whole(self, part: bytes) -> Iterator[None]:
        """`scan` of a part in one piece. The parser need not count lines for a next one, which is
        a twentieth of its work.
        """
        self._feed(part, True)
        if len(self._names) > MARKUP_NAMES:
            raise self._too_many_names()
        self._release()
        yield

    def run(self, pieces: Iterable[bytes]) -> None:
        """Scan to the end, for parts whose findings are small."""
        for _ in self.scan(pieces):
            pass

    def _too_many_names(self) -> Unread:
        what, unit = f"Distinct names of {self._part}", "names"
        return limit_reached(what, len(self._names), MARKUP_NAMES, unit, RESAVE)

    def _release(self) -> None:
        """Let go of what refers back to the parser, so that it need not wait for the collector:
        of a book's 100 pages the memory is used again.
        """
        self._parser.buffer_text = False
        for handler in _HANDLERS:
            setattr(self._parser, handler, None)

    def _feed(self, piece: bytes, final: bool) -> None:
        try:
            self._parser.Parse(piece, final)
        except expat.ExpatError as error:
            raise Unread(
                "corrupt", f"Part {self._part} is not well-formed XML ({error})", RESAVE
            ) from error

    def _refuse_doctype(self, *declaration: object) -> NoReturn:
        raise Unread(
            "corrupt", f"Part {self._part} declares a DOCTYPE, which is never followed", RESAVE
        )

    def _check_doctype(
        self, name: str, system: str | None, public: str | None, declares: int
    ) -> None:
        if declares:
            self._refuse_doctype()

    def _named_letter(self, name: str, is_parameter: bool) -> None:
        sink = self._parser.CharacterDataHandler
        letter = "" if is_parameter else html5.get(f"{name};", "")
        if sink is not None and letter:
            sink(letter)

    def _check_encoding(self, version: str, encoding: str | None, standalone: int) -> None:
        """Expat knows UTF-8, UTF-16 and Latin-1; of Python's codecs only 8-bit ones fit it."""
        if encoding is None or encoding.casefold() in ("utf-8", "utf-16", "us-ascii"):
            return
        try:
            letters = len(bytes(range(256)).decode(encoding, "replace"))
        except (LookupError, ValueError):
            letters = 0
        if letters != 256:
            raise Unread(
                "corrupt", f"Part {self._part} is in the unknown encoding {encoding[:40]}", RESAVE
            )


def _tracking(
    part: str, starts: Mapping[str, OnStart], ends: Mapping[str, OnEnd]
) -> tuple[Callable[[str, Attributes], None], Callable[[str], None]]:
    """The two handlers of every element, as closures: this is the hot path."""
    depth = 0
    most = MARKUP_DEPTH

    def start(name: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > most:
            raise too_deep(part, depth)
        if name in starts:
            starts[name](attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if name in ends:
            ends[name]()

    return start, end


def too_deep(part: str, depth: int) -> Unread:
    """The error of elements that are nested too deep."""
    return limit_reached(f"Nesting in {part}", depth, MARKUP_DEPTH, "elements", RESAVE)
