"""The registry: which formats exist, which one a file is, and who reads it.

Promises: a file is judged by its content first and by its name second; a file that nobody
can read is named for what it is (`Unread`), never guessed at. Readers, and the packages they
need, are imported at first use only.
Does not: read documents, open paths, or decide which files are looked at.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
from dataclasses import dataclass
from typing import BinaryIO, cast

from helpers import packages
from helpers.errors import Unread
from helpers.extract import sniff
from helpers.extract.blocks import Reader

TEXT_FAMILY_VERSION = 2  # part of every text format's fingerprint: encoding detection


@dataclass(frozen=True, slots=True)
class Format:
    """One format. `module` is the dotted name of its reader, None where it cannot be read
    yet; `package` the distribution its reader needs; `reader_version` rises whenever the
    reader would give other blocks for the same bytes; `holds` is "documents" where it may hold
    documents of other formats, "archives" where ZIP files may be among them.
    """

    name: str
    label: str
    extensions: tuple[str, ...]
    module: str | None = None
    reader_version: int = 1
    package: str | None = None
    is_text: bool = False
    holds: str = ""
    file_names: tuple[str, ...] = ()

    @property
    def supported(self) -> bool:
        return self.module is not None


def _text(
    name: str, label: str, module: str, extensions: str, file_names: str = "", version: int = 1
) -> Format:
    return Format(
        name,
        label,
        tuple(extensions.split()),
        f"helpers.extract.{module}",
        reader_version=version,
        is_text=True,
        file_names=tuple(file_names.split()),
    )


def _office(
    name: str,
    label: str,
    module: str,
    extensions: str,
    package: str | None = None,
    version: int = 1,
    holds: str = "",
) -> Format:
    return Format(
        name,
        label,
        tuple(extensions.split()),
        f"helpers.extract.{module}",
        reader_version=version,
        package=package,
        holds=holds,
    )


def _holder(name: str, label: str, module: str, extensions: str, version: int = 1) -> Format:
    return Format(
        name,
        label,
        tuple(extensions.split()),
        f"helpers.extract.{module}",
        reader_version=version,
        holds="archives",
    )


def _known(name: str, label: str, extensions: str) -> Format:
    return Format(name, label, tuple(extensions.split()))


SOURCE_EXTENSIONS = (
    "py pyi pyw js mjs cjs jsx ts tsx vue svelte java kt kts scala groovy gradle c h cc cpp "
    "cxx hh hpp hxx m mm cs fs vb go rs rb php pl pm lua r jl dart swift zig nim hs ml ex exs erl "
    "clj lisp el scm sql sh bash zsh fish ps1 psm1 bat cmd awk sed tcl asm s f90 f95 pas ada v sv "
    "vhd proto thrift graphql css scss sass less xml xsd xsl xslt dtd tex bib sty cmake mk tf "
    "hcl ini cfg conf properties desktop service diff patch po srt vtt sol nix"
)
SOURCE_FILE_NAMES = (
    "makefile gnumakefile dockerfile containerfile vagrantfile jenkinsfile procfile rakefile "
    "gemfile pipfile"
)
AUDIO_EXTENSIONS = "mp3 wav m4a ogg oga opus flac aac wma amr webm"
PLAIN_FILE_NAMES = (
    "readme license licence copying notice authors contributors changelog changes news todo "
    "install history version manifest"
)

FORMATS = (
    _text("txt", "plain text", "plain", "txt text asc rst adoc asciidoc org", PLAIN_FILE_NAMES, 2),
    _text("log", "log", "plain", "log out err"),
    _text("source", "source code", "plain", SOURCE_EXTENSIONS, SOURCE_FILE_NAMES),
    _text("md", "Markdown", "markdown", "md markdown mdown mkd mdx"),
    _text("csv", "comma-separated table", "delimited", "csv"),
    _text("tsv", "tab-separated table", "delimited", "tsv tab"),
    _text("json", "JSON", "structured", "json geojson json5 webmanifest"),
    _text("jsonl", "JSON lines", "structured", "jsonl ndjson"),
    _text("yaml", "YAML", "structured", "yaml yml"),
    _text("toml", "TOML", "structured", "toml"),
    _text("html", "HTML", "html", "html htm xhtml shtml", version=2),
    _office("docx", "Word document", "docx", "docx docm dotx dotm", version=4, holds="documents"),
    _office("xlsx", "Excel workbook", "xlsx", "xlsx xltx", version=2, holds="documents"),
    _office(
        "xlsm", "Excel workbook with macros", "xlsx", "xlsm xltm", version=2, holds="documents"
    ),
    _office(
        "pptx",
        "PowerPoint presentation",
        "pptx",
        "pptx pptm ppsx ppsm potx potm",
        version=3,
        holds="documents",
    ),
    _office("odt", "OpenDocument text", "odf", "odt ott odm oth", version=4),
    _office("ods", "OpenDocument spreadsheet", "odf", "ods ots", version=4),
    _office("odp", "OpenDocument presentation", "odf", "odp otp", version=4),
    _office("pdf", "PDF", "pdf", "pdf", package="pypdf", version=2),
    _office("doc", "Word 97-2003 document", "doc", "doc dot"),
    _office("xls", "Excel 97-2003 workbook", "xls", "xls xlt xlw", version=2),
    _office("ppt", "PowerPoint 97-2003 presentation", "ppt", "ppt pps pot"),
    _office("xlsb", "binary Excel workbook", "xlsb", "xlsb"),
    _office("hwp", "Hangul Word Processor document", "hwp", "hwp hwt"),
    _office("hml", "Hangul document in one XML file (HWPML)", "hml", "hml"),
    _office("hwpx", "Hangul Word Processor XML document", "hwpx", "hwpx hwtx"),
    _office("rtf", "Rich Text Format document", "rtf", "rtf", version=2, holds="documents"),
    _office("epub", "EPUB book", "epub", "epub ibooks", version=2),
    _holder("eml", "e-mail message", "mail", "eml emlx mht mhtml"),
    _holder("msg", "Outlook message", "msg", "msg oft"),
    _holder("tnef", "Outlook envelope (winmail.dat)", "tnef", "tnef"),
    _holder("mbox", "mailbox", "mbox", "mbox mbx"),
    _office("fodt", "flat OpenDocument file", "odf_flat", "fodt fods fodp fodg", version=2),
    _office("odf", "OpenDocument formula", "odf", "odf"),
    _office("odg", "OpenDocument drawing or chart", "odf", "odg otg odc", version=2),
    _known("odb", "OpenDocument database or image", "odb odi"),
    _office("spreadsheetml2003", "Excel 2003 XML spreadsheet", "spreadsheetml", ""),
    _office("wordml2003", "Word 2003 XML document", "wordml2003", "", version=2),
    _office("flatopc", "Office document in one XML file", "flat_opc", "", version=2),
    _known("oldword", "document of Word 1, Windows Write or Word for DOS", ""),
    _known("wordperfect", "WordPerfect document", "wpd"),
    _office("ipynb", "Jupyter notebook", "notebook", "ipynb"),
    _office("image", "image", "image", "png jpg jpeg jpe jfif gif tif tiff bmp webp"),
    _known("photo", "HEIC, AVIF or other image", "heic heif avif jxl ico psd"),
    _office("svg", "SVG drawing", "svg", "svg"),
    _office("mml", "MathML formula", "svg", "mml mathml"),
    _office("audio", "audio recording", "sound", AUDIO_EXTENSIONS),
    _known("video", "video", "mp4 m4v mov mkv avi wmv mpg mpeg"),
    _holder("zip", "ZIP archive", "zip_members", "zip"),
    _known("archive", "archive", "7z rar gz tgz tar bz2 xz zst jar"),
    _known("program", "program or library", "exe dll so dylib bin class o a pyc wasm"),
    _known("database", "database", "db sqlite sqlite3 mdb accdb"),
    _known("pointer", "cloud pointer", "gdoc gsheet gslides gdraw gform gmap url webloc lnk"),
    _known("ole", "OLE compound file", ""),
)
BY_NAME = {entry.name: entry for entry in FORMATS}
_BY_EXTENSION = {ending: entry for entry in FORMATS for ending in entry.extensions}
_BY_FILE_NAME = {known: entry for entry in FORMATS for known in entry.file_names}
_ZIP_BASED = {
    "docx", "xlsx", "xlsm", "xlsb", "pptx", "odt", "ods", "odp", "odf", "odg", "epub", "hwpx",
}  # fmt: skip
_MAIL_BASED = {"doc", "xls", "ppt", "msg", "eml", "mbox"}  # what a mail or web archive is named
_WORKBOOKS = {"xls", "xlsx", "xlsm", "xlsb"}  # what web systems call their HTML and text tables
_OLE_BASED = {"doc", "xls", "ppt", "hwp", "msg"}


# --- which format ----------------------------------------------------------------------


def extension(name: str) -> str:
    """The ending of a file's name, lower case, without the dot; "" where there is none."""
    stem, dot, ending = name.rpartition(".")
    return ending.lower() if dot and stem else ""


def by_name(name: str) -> Format | None:
    """The format a file's name promises, supported or not; None for unknown endings."""
    return _BY_EXTENSION.get(extension(name)) or _BY_FILE_NAME.get(name.lower())


def detect(file: BinaryIO, name: str) -> Format:
    """The supported format of an open file, by content first and by name second.

    Leaves the position at the start. Raises Unread: `empty` for 0 bytes, `encrypted` for an
    office file behind a password, `corrupt` where the content is not what the name says and
    nothing else either, `unsupported` for everything that has no reader.
    """
    start = sniff.head(file)
    if not start:
        raise Unread("empty", "The file is empty (0 bytes)", "It is read once it has content.")
    named = by_name(name)
    if named is not None and named.name == "pointer":
        raise Unread(
            "unsupported",
            f"Cloud pointer (.{extension(name)}): the document itself is not on this disk",
            "Export or download the document and index that file.",
        )
    if start.startswith(sniff.LOCK_MARKS):
        raise Unread(
            "encrypted",
            "The file is locked by a document protection (DRM)",
            "Save a copy without protection and index that.",
        )
    found = _by_content(file, start, named, name)
    if not found.supported:
        raise _unsupported(found, name)
    return found


def load(found: Format) -> Reader:
    """The reader of a supported format. Raises Unread("missing_reader") where the package it
    needs is not installed.
    """
    if found.module is None:
        raise _unsupported(found, "")
    try:
        if found.package is not None and importlib.util.find_spec(found.package) is None:
            raise ModuleNotFoundError(name=found.package)
        module = importlib.import_module(found.module)
    except ModuleNotFoundError as missing:
        raise Unread(
            "missing_reader",
            f"Reading {found.label} needs the package {found.package or missing.name}",
            f"pip install {found.package or missing.name}, then sync again.",
        ) from missing
    return cast(Reader, module.read)


# --- what the registry tells others ------------------------------------------------------


def supported_extensions() -> frozenset[str]:
    """Endings, without the dot, of the formats that can be read."""
    return frozenset(e for entry in FORMATS if entry.supported for e in entry.extensions)


@functools.cache
def fingerprint(found: Format, archives: bool = False) -> str:
    """Identifies the reader: its version and that of the package it uses, or "absent"; of a
    format that holds documents all readers, and whether `archives` are followed.
    """
    parts = [_reader_identity(found)]
    if found.holds:
        readers = "+".join(_reader_identity(entry) for entry in FORMATS if entry.supported)
        parts.append(f"inside={hashlib.sha256(readers.encode()).hexdigest()[:12]}")
    if found.holds == "archives":
        parts.append(f"archives={'on' if archives else 'off'}")
    return "/".join(parts)


def _reader_identity(found: Format) -> str:
    parts = [found.name, str(found.reader_version)]
    if found.is_text:
        parts.append(f"text{TEXT_FAMILY_VERSION}")
    if found.package is not None:
        parts.append(f"{found.package}={packages.version(found.package) or 'absent'}")
    return "/".join(parts)


def availability() -> dict[str, str]:
    """For each format: "ok", "missing: pip install …" or "unsupported"."""
    return {entry.name: _available(entry) for entry in FORMATS if entry.name != "pointer"}


# --- judging -------------------------------------------------------------------------------


def _by_content(file: BinaryIO, start: bytes, named: Format | None, name: str) -> Format:
    if start.startswith((sniff.ZIP_MAGIC, sniff.ZIP_EMPTY_MAGIC)):
        return _zip_format(file, named, name)
    if start.startswith(sniff.OLE_MAGIC):
        return _ole_format(file, named, name)
    offset = sniff.pdf_offset(start)
    if offset == 0 or (offset is not None and not (named is not None and named.is_text)):
        return BY_NAME["pdf"]
    kind = sniff.magic_kind(start)
    if kind is not None and not (kind == "rtf" and named is not None and named.name == "source"):
        sound = kind == "video" and named is not None and named.name == "audio"  # such as .webm
        return BY_NAME["audio" if sound else kind]
    return _text_format(start, named, name)


def _zip_format(file: BinaryIO, named: Format | None, name: str) -> Format:
    kind = sniff.zip_kind(file)
    if kind == sniff.BROKEN_ZIP:
        if named is not None and named.name in _ZIP_BASED | _OLE_BASED:
            raise Unread(
                "corrupt",
                f"Damaged {named.label}: its ZIP container is cut off or broken",
                "Restore the file from a backup or export it again.",
            )
        return BY_NAME["zip"]
    if kind == sniff.PLAIN_ZIP:
        if named is not None and named.name in _ZIP_BASED:
            raise Unread(
                "corrupt",
                f"Named .{extension(name)} but is a ZIP file without the parts of a {named.label}",
                "Export the document again, or rename the file to what it is.",
            )
        return BY_NAME["zip"]
    return BY_NAME[kind]


def _ole_format(file: BinaryIO, named: Format | None, name: str) -> Format:
    kind = sniff.ole_kind(file)
    if kind == "ooxml-encrypted":
        from helpers.extract import locked  # brings a cipher, which is seldom needed

        return _zip_format(locked.opened(file), named, name)
    if kind in BY_NAME:
        return BY_NAME[kind]
    if named is not None and named.name in _OLE_BASED:
        return named
    if named is not None and named.name in _ZIP_BASED:
        raise Unread(
            "corrupt",
            f"Named .{extension(name)} but is a damaged or foreign OLE compound file",
            "Restore the file from a backup or export it again.",
        )
    return BY_NAME["ole"]


def _text_format(start: bytes, named: Format | None, name: str) -> Format:
    """What a file without any magic is: HTML, what its text ending says, or nothing known."""
    kind = sniff.xml_kind(start)
    if kind is not None and (named is None or not named.is_text or extension(name) == "xml"):
        return BY_NAME[kind]
    if named is not None and named.is_text:
        encoded = named.name == "txt" and sniff.is_encoded_mail(start)
        return BY_NAME[sniff.mail_kind(start) or "eml"] if encoded else named
    if sniff.looks_like_html(start):
        return BY_NAME["html"]
    mail = sniff.mail_kind(start)
    if mail is not None and (named is None or named.name in _MAIL_BASED):
        return BY_NAME["eml" if named is not None and named.name == "eml" else mail]
    if named is None:
        ending = extension(name)
        shown = f".{ending}" if ending else "without an ending"
        raise Unread("unsupported", f"No reader for files {shown}", _CONVERT)
    if named.name in _WORKBOOKS:
        kind = sniff.exported_kind(start)
        if kind is not None:
            return BY_NAME[kind]
    if named.name in ("doc", "rtf") and sniff.looks_like_plain_text(start):
        return BY_NAME["txt"]
    if named.name in _ZIP_BASED:
        raise _not_a("no ZIP container", named, name)
    if named.name == "pdf":
        raise _not_a("no PDF (no %PDF in its first 1,024 bytes)", named, name)
    if named.name in _OLE_BASED:
        raise _not_a("no OLE compound file", named, name)
    return named


def _not_a(what: str, named: Format, name: str) -> Unread:
    return Unread(
        "corrupt",
        f"Named .{extension(name)} but is {what}: no {named.label}",
        "Restore the file from a backup, or rename it to what it is.",
    )


def _unsupported(found: Format, name: str) -> Unread:
    ending = extension(name)
    named_otherwise = bool(name) and ending not in found.extensions
    what = f"{found.label[0].upper()}{found.label[1:]}"
    told = f"{what} named .{ending}" if named_otherwise and ending else what
    return Unread(
        "unsupported",
        f"{told}: this format cannot be read yet",
        _SAVE_AS.get(found.name, _CONVERT),
    )


_CONVERT = "Convert it to a supported format, or exclude it."
_SAVE_AS = {
    "oldword": "Open it in a program that still knows it, such as LibreOffice; save it as .docx.",
    "wordperfect": "Open it in LibreOffice and save it as .docx.",
    "archive": "Unpack it into the knowledge directory.",
}


def _available(entry: Format) -> str:
    if not entry.supported:
        return "unsupported"
    if entry.package is not None and importlib.util.find_spec(entry.package) is None:
        return f"missing: pip install {entry.package}"
    return "ok"
