"""How an EPUB book hangs together: its package, its reading order, its table of contents.

Promises: EPUB 2 and 3 and the Open eBook packages before them; names are resolved inside the
container only; a table of contents that is damaged is no contents, the book is still read.
Does not: read chapters.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from helpers.errors import Unread, limit_reached
from helpers.extract.archive import RESAVE, SMALLER, Archive
from helpers.extract.blocks import Metadata, Notice
from helpers.extract.markup import Attributes, OnEnd, OnStart, Scanner, names, table
from helpers.extract.opc import real_title
from helpers.limits import OFFICE_RELATED_PARTS

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OBFUSCATION = (  # of fonts, by a key that stands in the book
    "http://www.idpf.org/2008/embedding",
    "http://ns.adobe.com/pdf/enc#RC",
)
_NO_TEXT = ("ttf", "otf", "woff", "woff2", "css", "jpg", "jpeg", "png", "gif", "mp3", "mp4", "js")
_PACKAGE_URI = "http://www.idpf.org/2007/opf"
_OPEN_EBOOK = "http://openebook.org/namespaces/oeb-package/1.0/"
NAMESPACES: Mapping[str, tuple[str, ...]] = {
    "ocf": ("urn:oasis:names:tc:opendocument:xmlns:container",),
    "opf": (_PACKAGE_URI, _OPEN_EBOOK),
    "dc": (
        "http://purl.org/dc/elements/1.1/",
        "http://purl.org/dc/elements/1.0/",
        "http://purl.org/metadata/dublin_core",
    ),
    "ncx": ("http://www.daisy.org/z3986/2005/ncx/",),
    "h": ("http://www.w3.org/1999/xhtml",),
    "ops": ("http://www.idpf.org/2007/ops",),
    "enc": ("http://www.w3.org/2001/04/xmlenc#",),
}
_TYPE = names("ops:type", NAMESPACES)[0]
_CONTENTS_CHARS = 400  # code points of one title in the contents


@dataclass(frozen=True, slots=True)
class Item:
    """One resource of the package."""

    path: str
    media: str
    nav: bool = False
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table of contents: `fragment` is the id of an element in its page."""

    title: str
    fragment: str
    depth: int


@dataclass(slots=True)
class Book:
    """What the package says. `spine` lists the pages in reading order, `contents` the entries
    of each page, by its path in lower case.
    """

    spine: list[Item] = field(default_factory=list)
    contents: dict[str, list[Entry]] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)
    creators: list[str] = field(default_factory=list)
    subjects: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def metadata(self) -> Metadata:
        title = real_title(self.titles[0]) if self.titles else None
        extra = {"author": ", ".join(self.creators)} if self.creators else {}
        words = (word.strip() for subject in self.subjects for word in subject.split(","))
        return Metadata(title=title, tags=tuple(filter(None, words)), extra=extra)


def open_book(archive: Archive) -> Book:
    """The book in the container. Raises Unread: encrypted, corrupt, limit_reached."""
    _refuse_encrypted(archive)
    book = Book()
    package = _package_path(archive)
    if package is None:
        book.notices.append(
            Notice("part_unread", "The book has no package file, so its pages come by name")
        )
        book.spine = [Item(name, "") for name in sorted(archive.names) if _is_page(name)]
        if not book.spine:
            raise Unread("corrupt", "The file has no package file and no pages", RESAVE)
        return book
    _read_package(archive, package, book)
    return book


def inside(folder: str, target: str) -> str:
    """A reference as a name inside the container, without its fragment."""
    path = unquote(target.partition("#")[0]).replace("\\", "/")
    return posixpath.normpath("/" + posixpath.join(folder, path).lstrip("/")).lstrip("/")


# --- protection ---------------------------------------------------------------------------


def _refuse_encrypted(archive: Archive) -> None:
    """Pages that a shop or a library protects; fonts that are merely hidden are no obstacle."""
    if _ENCRYPTION not in archive:
        return
    methods: list[str] = []

    def method(attributes: Attributes) -> None:
        methods.append(attributes.get("Algorithm", ""))

    def reference(attributes: Attributes) -> None:
        ending = attributes.get("URI", "").rpartition(".")[2].casefold()
        used = methods[-1] if methods else ""
        methods.clear()
        if used not in _OBFUSCATION and ending not in _NO_TEXT:
            raise _protected()

    starts: dict[str, OnStart] = {
        "enc:EncryptionMethod": method,
        "enc:CipherReference": reference,
    }
    try:
        Scanner(_ENCRYPTION, table(starts, NAMESPACES)).run(archive.pieces(_ENCRYPTION))
    except Unread as error:
        if error.code != "corrupt":
            raise


def _protected() -> Unread:
    return Unread(
        "encrypted",
        "The book is protected (DRM): its pages are encrypted",
        "Get a copy without protection from where it was bought, or exclude it.",
    )


# --- package ------------------------------------------------------------------------------


def _is_page(name: str) -> bool:
    return name.endswith((".xhtml", ".html", ".htm", ".xht"))


def _package_path(archive: Archive) -> str | None:
    """The package file that the container names, else the first that there is."""
    found: list[str] = []
    if _CONTAINER in archive:

        def rootfile(attributes: Attributes) -> None:
            found.append(inside("", attributes.get("full-path", "")))

        actions = table({"ocf:rootfile rootfile": rootfile}, NAMESPACES)
        try:
            Scanner(_CONTAINER, actions, doctype=True).run(archive.pieces(_CONTAINER))
        except Unread as error:
            if error.code != "corrupt":
                raise
    found += [name for name in sorted(archive.names) if name.endswith(".opf")]
    return next((path for path in found if path in archive), None)


def _read_package(archive: Archive, package: str, book: Book) -> None:
    """Title, pages in order and contents, from the package file."""
    folder = posixpath.dirname(package)
    items: dict[str, Item] = {}
    order: list[str] = []
    contents: list[str] = []

    def item(attributes: Attributes) -> None:
        href = attributes.get("href", "")
        if not href or len(items) >= OFFICE_RELATED_PARTS:
            return
        nav = "nav" in attributes.get("properties", "").split()
        media = attributes.get("media-type", "").strip().casefold()
        path, fallback = inside(folder, href), attributes.get("fallback", "")
        items[attributes.get("id", "")] = Item(path, media, nav, fallback)

    def reference(attributes: Attributes) -> None:
        order.append(attributes.get("idref", ""))
        if len(order) > OFFICE_RELATED_PARTS:
            what, unit = "Pages of the book", "pages"
            raise limit_reached(what, len(order), OFFICE_RELATED_PARTS, unit, SMALLER)

    starts: dict[str, OnStart] = {
        "opf:item item": item,
        "opf:itemref itemref": reference,
        "opf:spine spine": lambda attributes: contents.append(attributes.get("toc", "")),
    }
    _scan_package(archive, package, starts, book)
    _set_spine(items, order, book)
    paths = [item.path for item in items.values() if item.nav]
    paths += [items[name].path for name in contents if name in items]
    paths += [item.path for item in items.values() if item.media == "application/x-dtbncx+xml"]
    _read_contents(archive, paths, book)


def _scan_package(archive: Archive, package: str, starts: dict[str, OnStart], book: Book) -> None:
    scanner: Scanner
    parts: list[str] = []

    def ended(found: list[str]) -> OnEnd:
        def end() -> None:
            scanner.collect(None)
            text = " ".join("".join(parts).split())
            parts.clear()
            if text and len(found) < 100:
                found.append(text)

        return end

    dublin = {"title": book.titles, "creator": book.creators, "subject": book.subjects}
    ends: dict[str, OnEnd] = {}
    for name, found in dublin.items():
        words = f"dc:{name} dc:{name.capitalize()}"
        starts[words] = lambda _: scanner.collect(parts.append)
        ends[words] = ended(found)
    scanner = Scanner(package, table(starts, NAMESPACES), table(ends, NAMESPACES), doctype=True)
    scanner.run(archive.pieces(package))


def _set_spine(items: dict[str, Item], order: list[str], book: Book) -> None:
    """The pages in reading order, each once; an entry that no item stands for is noticed."""
    seen: set[str] = set()
    for name in order or [name for name, item in items.items() if "html" in item.media]:
        found = items.get(name)
        tried = 0
        while found is not None and not _readable(found) and found.fallback in items and tried < 9:
            found, tried = items[found.fallback], tried + 1
        if found is None:
            message = f"The book's order names a page {name!r} that is not in its list"
            book.notices.append(Notice("part_unread", message))
        elif found.path not in seen:
            seen.add(found.path)
            book.spine.append(found)


def _readable(item: Item) -> bool:
    kind = item.media.partition("/")[0]
    return kind in ("", "text") or "html" in item.media or item.media.endswith("xml")


# --- contents -----------------------------------------------------------------------------


def _read_contents(archive: Archive, paths: list[str], book: Book) -> None:
    """The first table of contents that lists anything."""
    for path in dict.fromkeys(paths):
        if path not in archive:
            continue
        contents = _Contents(path)
        try:
            contents.scanner.run(archive.pieces(path))
        except Unread as error:
            if error.code != "corrupt":
                raise
        if contents.found:
            for target, entry in contents.found:
                book.contents.setdefault(target.casefold(), []).append(entry)
            return


class _Contents:
    """A navigation document (EPUB 3) or an NCX (EPUB 2): `found` pairs paths and entries."""

    def __init__(self, path: str) -> None:
        self.found: list[tuple[str, Entry]] = []
        self._folder = posixpath.dirname(path)
        self._depth = 0
        self._in_contents = False
        self._text: list[str] = []
        self._target = ""
        self._titles: list[str] = []  # of the open points of an NCX
        starts: dict[str, OnStart] = {
            "h:nav": self._nav,
            "h:ol": lambda _: self._deeper(),
            "h:a": self._link,
            "ncx:navPoint navPoint": lambda _: self._point(),
            "ncx:text text": lambda _: self._collect(),
            "ncx:content content": self._content,
            "ncx:pageList pageList ncx:navList navList": lambda _: self.scanner.skip(),
        }
        ends: dict[str, OnEnd] = {
            "h:nav": self._nav_end,
            "h:ol": self._shallower,
            "h:a": self._link_end,
            "ncx:navPoint navPoint": self._point_end,
            "ncx:text text": self._text_end,
        }
        self.scanner = Scanner(
            path, table(starts, NAMESPACES), table(ends, NAMESPACES), doctype=True
        )

    def _add(self, title: str, target: str) -> None:
        if title and target and len(self.found) < OFFICE_RELATED_PARTS:
            fragment = unquote(target.partition("#")[2])
            path = inside(self._folder, target)
            self.found.append((path, Entry(title[:_CONTENTS_CHARS], fragment, self._depth)))

    def _collect(self) -> None:
        self._text = []
        self.scanner.collect(self._text.append)

    def _taken(self) -> str:
        self.scanner.collect(None)
        return " ".join("".join(self._text).split())

    # --- navigation documents

    def _nav(self, attributes: Attributes) -> None:
        kind = attributes.get(_TYPE, "toc")
        self._in_contents = "toc" in kind.split() and not self.found
        self._depth = 0

    def _nav_end(self) -> None:
        self._in_contents = False

    def _deeper(self) -> None:
        self._depth += 1

    def _shallower(self) -> None:
        self._depth -= 1

    def _link(self, attributes: Attributes) -> None:
        if self._in_contents:
            self._target = attributes.get("href", "")
            self._collect()

    def _link_end(self) -> None:
        if self._in_contents:
            self._add(self._taken(), self._target)

    # --- NCX

    def _point(self) -> None:
        self._depth += 1
        self._titles.append("")

    def _point_end(self) -> None:
        self._depth -= 1
        if self._titles:
            self._titles.pop()

    def _text_end(self) -> None:
        text = self._taken()
        if self._titles and not self._titles[-1]:
            self._titles[-1] = text

    def _content(self, attributes: Attributes) -> None:
        if self._titles:
            self._add(self._titles[-1], attributes.get("src", ""))
