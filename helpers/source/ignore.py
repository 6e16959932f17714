r"""What the owner leaves out: launch exclusions, `.ragdocignore` files, and a few defaults
(machine-made or private to a tool; `!name/` in a .ragdocignore brings a visible one back).

Patterns are those of gitignore: a pattern without a slash matches a name at any depth, one
with a slash is anchored where it was given; `*` and `?` stop at a slash, `**` does not; `dir/`
matches folders only; `!` brings back; `\` escapes; the last pattern that matches decides, and
an excluded folder is not entered, so nothing inside it can be brought back.

Promises: launch exclusions are final, an ignore file inside the folder cannot undo them;
matching takes linear time per segment, whatever the pattern; each exclusion is named by the
rule that caused it, so that health can count it.
Does not: read the file system (`walk` does) or decide about secrets (`refuse` does).
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from helpers.limits import IGNORE_PATTERNS
from helpers.source.refuse import DEFAULT_FOLDERS

FOLD_CASE = sys.platform in ("win32", "darwin")
BACKSLASH_SEPARATES = sys.platform == "win32"

_Segment: TypeAlias = "re.Pattern[str] | None"  # None stands for `**`
_NOTHING = re.compile("(?!)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One compiled exclusion; `label` is how health names it."""

    label: str
    segments: tuple[_Segment, ...]
    last: str  # regular expression of the last segment, for the prefilter
    negated: bool = False
    anchored: bool = False
    folders: bool = True
    files: bool = True

    def matches(self, parts: Sequence[str], is_folder: bool) -> bool:
        """True for a path given as its names below the place where the pattern was given."""
        if not (self.folders if is_folder else self.files):
            return False
        if self.anchored:
            return _match_segments(self.segments, parts)
        segment = self.segments[0]
        return segment is None or segment.match(parts[-1]) is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """The exclusions of one launch; `closed` holds (st_dev, st_ino) of folders never entered."""

    launch: tuple[Pattern, ...] = ()
    closed: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Scope:
    """What holds inside one folder: the launch's patterns and the ignore files above."""

    rules: Rules
    parts: tuple[str, ...] = ()
    files: tuple[tuple[int, tuple[Pattern, ...]], ...] = ()  # (depth of the file, its patterns)
    _prefilter: re.Pattern[str] | None = field(default=None, compare=False)

    def with_file(self, patterns: tuple[Pattern, ...]) -> Scope:
        """The scope once this folder's own ignore file is known."""
        if not patterns:
            return self
        files = (*self.files, (len(self.parts), patterns))
        return Scope(self.rules, self.parts, files, _prefilter(self.rules, files))

    def inside(self, name: str) -> Scope:
        """The scope of the folder `name` below this one."""
        return Scope(self.rules, (*self.parts, fold(name)), self.files, self._prefilter)

    @property
    def is_plain(self) -> bool:
        """True where no file can be excluded, so that none need be asked about."""
        return self._prefilter is None

    def excluded(self, name: str, is_folder: bool) -> str | None:
        """The label of the rule that leaves this entry out, or None."""
        if self._prefilter is not None:
            folded = fold(name)
            if self._prefilter.match(folded) is not None:
                decided = self._decide(folded, is_folder)
                if decided is not None:
                    return decided or None
        return f"default: {name}/" if is_folder and name in DEFAULT_FOLDERS else None

    def _decide(self, name: str, is_folder: bool) -> str | None:
        """A label, "" for brought back, None where no pattern speaks."""
        parts = (*self.parts, name)
        for pattern in self.rules.launch:
            if pattern.matches(parts, is_folder):
                return pattern.label
        for depth, patterns in reversed(self.files):
            below = parts[depth:]
            for pattern in reversed(patterns):
                if pattern.matches(below, is_folder):
                    return "" if pattern.negated else pattern.label
        return None


def build(
    exclude: Iterable[str] = (),
    exclude_dirs: Iterable[str] = (),
    exclude_files: Iterable[str] = (),
    closed: Iterable[tuple[int, int]] = (),
    root: str = "",
) -> Rules:
    """The rules of a launch: globs for both, for folders only and for files only.

    A glob that begins with the absolute path `root` is taken from there on.
    """
    patterns = [
        *_launch("--exclude", exclude, root, True, True),
        *_launch("--exclude-dirs", exclude_dirs, root, True, False),
        *_launch("--exclude-files", exclude_files, root, False, True),
    ]
    return Rules(tuple(patterns), frozenset(closed))


def scope(rules: Rules) -> Scope:
    """The scope of the knowledge folder itself."""
    return Scope(rules, (), (), _prefilter(rules, ()))


def parse(text: str, where: str) -> tuple[Pattern, ...]:
    """The patterns of an ignore file; `where` names it in labels.

    At most IGNORE_PATTERNS patterns; more raise ValueError, since leaving some out would
    index what its owner excluded.
    """
    patterns = [_parse_line(line, where) for line in text.lstrip("\ufeff").splitlines()]
    kept = tuple(pattern for pattern in patterns if pattern is not None)
    if len(kept) > IGNORE_PATTERNS:
        raise ValueError(f"reached {len(kept):,} > {IGNORE_PATTERNS:,} patterns")
    return kept


def fold(text: str) -> str:
    """The form in which names and patterns are compared: NFC, and caseless where names are."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.casefold() if FOLD_CASE else text


def _launch(
    flag: str, globs: Iterable[str], root: str, folders: bool, files: bool
) -> Iterable[Pattern]:
    for glob in globs:
        text = glob[len(root) :] if root and glob.startswith(root) else glob
        text = text.replace("\\", "/") if BACKSLASH_SEPARATES else text
        pattern = _compile(text.removeprefix("./"), f"{flag} {glob}", folders, files)
        if pattern is not None:
            yield pattern


def _parse_line(line: str, where: str) -> Pattern | None:
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    return _compile(text[negated:], f"{where}: {text}", negated=negated)


def _compile(
    text: str, label: str, folders: bool = True, files: bool = True, negated: bool = False
) -> Pattern | None:
    only_folders = text.endswith("/")
    names = [name for name in fold(text).split("/") if name]
    if not names or (only_folders and not folders):
        return None
    sources = [None if name == "**" else _segment(name) for name in names]
    compiled = tuple(None if source is None else re.compile(source) for source in sources)
    return Pattern(
        label,
        compiled,
        sources[-1] or ".*",
        negated=negated,
        anchored="/" in text.rstrip("/"),
        folders=folders,
        files=files and not only_folders,
    )


def _prefilter(
    rules: Rules, files: Sequence[tuple[int, tuple[Pattern, ...]]]
) -> re.Pattern[str] | None:
    """One expression that a name must match for any pattern to match its path."""
    sources = {pattern.last: None for pattern in rules.launch}
    for _, patterns in files:
        sources.update({pattern.last: None for pattern in patterns})
    if not sources:
        return None
    return re.compile("|".join(f"(?:{source})" for source in sources), re.DOTALL)


def _match_segments(segments: Sequence[_Segment], parts: Sequence[str]) -> bool:
    """Whole-path match; `**` stands for any number of names, at the end for one or more.

    Only the last `**` met is ever retried, so the cost is segments times names.
    """
    at = name = 0
    star, resume = -1, 0
    while name < len(parts):
        segment = segments[at] if at < len(segments) else _NOTHING
        if segment is None:
            if at == len(segments) - 1:
                return True
            star, resume, at = at, name, at + 1
        elif segment.match(parts[name]):
            at, name = at + 1, name + 1
        elif star >= 0:
            resume += 1
            at, name = star + 1, resume
        else:
            return False
    return at == len(segments)


def _segment(glob: str) -> str:
    """A regular expression for one name, without backtracking between stars.

    Each stretch up to the next star is taken at its first occurrence and never given back
    (a look-ahead group, then its back-reference), which for globs finds the same matches.
    """
    pieces = _pieces(glob)
    if len(pieces) == 1:
        return f"(?s:{pieces[0]})\\Z"
    middle = ""
    for index, piece in enumerate(pieces[1:-1]):
        if piece:
            group = f"g{_fresh(glob)}_{index}"
            middle += f"(?=(?P<{group}>.*?{piece}))(?P={group})"
    return f"(?s:{pieces[0]}{middle}.*{pieces[-1]})\\Z"


def _fresh(glob: str) -> str:
    """A group prefix that differs between globs, which share one prefilter."""
    return glob.encode("utf-8", "surrogatepass").hex()


def _pieces(glob: str) -> list[str]:
    """The glob cut at its stars, each piece as a regular expression of fixed length."""
    pieces, at = [""], 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[" and (end := _class_end(glob, at)):
            pieces[-1] += _class(glob[at:end])
            at = end + 1
        else:
            if char == "\\" and at < len(glob):
                char, at = glob[at], at + 1
            pieces[-1] += re.escape(char)
    return pieces


def _class_end(glob: str, at: int) -> int:
    """Where the `]` of a character class stands, 0 if it is never closed."""
    start = at + 1 if glob[at : at + 1] in ("!", "^") else at
    end = glob.find("]", start + 1)
    return max(end, 0)


def _class(body: str) -> str:
    negated = body[:1] in ("!", "^")
    ranges = _ranges(body[1:] if negated else body)
    if not ranges:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{ranges}]"


def _ranges(text: str) -> str:
    """Single characters and ranges, escaped; a range that runs backwards is empty."""
    result, at = "", 0
    while at < len(text):
        low = text[at]
        if at + 2 < len(text) and text[at + 1] == "-":
            high = text[at + 2]
            at += 3
            result += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
        else:
            at += 1
            result += re.escape(low)
    return result
