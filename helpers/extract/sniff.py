"""What a file's bytes say it is, whatever its name says.

Promises: reads a bounded part of an open file (its head, a ZIP's directory and two small
entries, an OLE file's directory) and leaves the position at the start; never decompresses
more than KIND_ENTRY_BYTES of an entry; raises nothing on broken containers but reports them.
Does not: read documents, look at names, or decide what to do about what it found.
"""

from __future__ import annotations

import contextlib
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from helpers import limits
from helpers.errors import Unread
from helpers.extract.compound import CompoundFile

ZIP_MAGIC = b"PK\x03\x04"
ZIP_EMPTY_MAGIC = b"PK\x05\x06"
OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

BROKEN_ZIP = "zip-broken"
BROKEN_OLE = "ole-broken"
PLAIN_ZIP = "zip"
PLAIN_OLE = "ole"

# (offset, magic, kind). Only magics that hold a byte no text holds, so that a text that
# begins with such letters stays a text; `WEAK_MAGICS` need a NUL in the head besides.
STRONG_MAGICS = (
    (0, b"\xdb\xa5\x2d\x00", "doc"),
    (0, b"\xdc\xa5\x65\x00", "doc"),
    (0, b"\xdc\xa5\x68\x00", "doc"),
    (0, b"\x89PNG\r\n\x1a\n", "image"),
    (0, b"\xff\xd8\xff", "image"),
    (0, b"II*\x00", "image"),
    (0, b"MM\x00*", "image"),
    (0, b"II+\x00", "image"),
    (0, b"MM\x00+", "image"),
    (0, b"\x00\x00\x01\x00", "photo"),
    (4, b"ftypheic", "photo"),
    (4, b"ftypavif", "photo"),
    (0, b"\x1f\x8b\x08", "archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "archive"),
    (0, b"Rar!\x1a\x07", "archive"),
    (0, b"\xfd7zXZ\x00", "archive"),
    (0, b"\x28\xb5\x2f\xfd", "archive"),
    (0, b"\x78\x9f\x3e\x22", "tnef"),
    (0, b"\xff\xfb", "audio"),
    (0, b"\xff\xf3", "audio"),
    (0, b"\xff\xf2", "audio"),
    (0, b"\xff\xf1", "audio"),
    (0, b"\x1aE\xdf\xa3", "video"),
    (0, b"\x7fELF", "program"),
    (0, b"\xcf\xfa\xed\xfe", "program"),
    (0, b"\xca\xfe\xba\xbe", "program"),
    (0, b"SQLite format 3\x00", "database"),
    (0, b"\x9b\xa5\x21\x00", "oldword"),
    (0, b"\x31\xbe\x00\x00", "oldword"),
    (0, b"\x32\xbe\x00\x00", "oldword"),
    (0, b"\xffWPC", "wordperfect"),
    (0, b"\x09\x00\x04\x00", "xls"),  # BIFF2 to BIFF8 without a compound file around them
    (0, b"\x09\x02\x06\x00", "xls"),
    (0, b"\x09\x04\x06\x00", "xls"),
    (0, b"\x09\x08\x08\x00", "xls"),
    (0, b"\x09\x08\x10\x00", "xls"),
)
WEAK_MAGICS = (
    (0, b"GIF87a", "image"),
    (0, b"GIF89a", "image"),
    (0, b"BM", "image"),
    (8, b"WEBP", "image"),
    (0, b"8BPS", "photo"),
    (0, b"BZh", "archive"),
    (257, b"ustar", "archive"),
    (0, b"ID3", "audio"),
    (0, b"OggS", "audio"),
    (0, b"fLaC", "audio"),
    (8, b"WAVE", "audio"),
    (4, b"ftypM4A", "audio"),
    (4, b"ftypM4B", "audio"),
    (4, b"ftyp", "video"),
    (8, b"AVI ", "video"),
    (0, b"MZ", "program"),
    (0, b"HWP Document File V3", "hwp"),
)

OOXML_MAIN_PARTS = (
    (b"wordprocessingml.document.main+xml", "docx"),
    (b"wordprocessingml.template.main+xml", "docx"),
    (b"ms-word.document.macroEnabled.main+xml", "docx"),
    (b"ms-word.template.macroEnabledTemplate.main+xml", "docx"),
    (b"spreadsheetml.sheet.main+xml", "xlsx"),
    (b"spreadsheetml.template.main+xml", "xlsx"),
    (b"ms-excel.sheet.macroEnabled.main+xml", "xlsm"),
    (b"ms-excel.template.macroEnabled.main+xml", "xlsm"),
    (b"ms-excel.sheet.binary.macroEnabled.main", "xlsb"),
    (b"presentationml.presentation.main+xml", "pptx"),
    (b"presentationml.template.main+xml", "pptx"),
    (b"presentationml.slideshow.main+xml", "pptx"),
    (b"ms-powerpoint.presentation.macroEnabled.main+xml", "pptx"),
    (b"ms-powerpoint.slideshow.macroEnabled.main+xml", "pptx"),
)
MIMETYPES = (
    (b"application/vnd.oasis.opendocument.text", "odt"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"application/vnd.oasis.opendocument.presentation", "odp"),
    (b"application/vnd.oasis.opendocument.formula", "odf"),
    (b"application/vnd.oasis.opendocument.base", "odb"),
    (b"application/vnd.oasis.opendocument.database", "odb"),
    (b"application/vnd.oasis.opendocument.image", "odb"),
    (b"application/vnd.oasis.opendocument.", "odg"),
    (b"application/epub+zip", "epub"),
    (b"application/hwp+zip", "hwpx"),
)
# A container whose kind entry is damaged or missing still shows its family by an entry name.
TELLTALE_ENTRIES = (
    ("word/document.xml", "docx"),
    ("xl/workbook.xml", "xlsx"),
    ("xl/workbook.bin", "xlsb"),
    ("ppt/presentation.xml", "pptx"),
    ("META-INF/container.xml", "epub"),
    ("Contents/content.hpf", "hwpx"),
    ("Contents/section0.xml", "hwpx"),
)
# Stream names of OLE files, the decisive ones first.
OLE_STREAMS = (
    ("EncryptedPackage", "ooxml-encrypted"),
    ("EncryptionInfo", "ooxml-encrypted"),
    ("DRMEncryptedDataSpace", "ooxml-encrypted"),
    ("\x06DataSpaces", "ooxml-encrypted"),
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PowerPoint Document", "ppt"),
    ("DocInfo", "hwp"),
    ("FileHeader", "hwp"),
    ("__properties_version1.0", "msg"),
)

# Files that a document protection of the office has locked, whatever their format and name.
LOCK_MARKS = (b"SCDSA00", b"\x9b DRMONE", b"<DOCUMENT SAFER", b"<## NASCA DRM FILE")

_PDF_HEADER = re.compile(rb"%PDF-\d")
_RTF_START = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]{0,64}\{\\rtf")
_MAIL_FIELD = re.compile(rb"[!-9;-~]{1,80}[ \t]*:")
_MAIL_FIELDS = re.compile(
    rb"^(From|To|Received|Return-Path|Message-ID|Date|Subject|MIME-Version|Delivered-To"
    rb"|Content-Type|X-[A-Za-z-]{1,40}):",
    re.IGNORECASE | re.MULTILINE,
)
_MAIL_ENCODED = re.compile(
    rb"^Content-(?:Type:[ \t]*multipart/|Transfer-Encoding:[ \t]*(?:base64|quoted-printable))",
    re.IGNORECASE | re.MULTILINE,
)
_MAILBOX_LINE = re.compile(rb"From [^\r\n]{0,500}\d[^\r\n]{0,500}\r?\n(?=[!-9;-~]{1,80}[ \t]*:)")
_SPREADSHEET_ML = re.compile(
    rb"<(?:\w+:)?Workbook\s[^<>]*[\"']urn:schemas-microsoft-com:office:spreadsheet[\"']"
)
_HTML_TABLE = re.compile(rb"<(?:table|tr|td|div|body|font|style)[\s>]", re.IGNORECASE)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_HTML_START = re.compile(
    rb"\A<(?:!doctype\s+html|html|head|body|table|meta|title)[\s>]", re.IGNORECASE
)


def head(file: BinaryIO, count: int = limits.SNIFF_BYTES) -> bytes:
    """The first `count` bytes; the position is left at the start."""
    file.seek(0)
    start = file.read(count)
    file.seek(0)
    return start


def magic_kind(start: bytes) -> str | None:
    """The family of a file that announces itself in its first bytes, or None."""
    if _RTF_START.match(start):
        return "rtf"
    for offset, magic, kind in STRONG_MAGICS:
        if start.startswith(magic, offset):
            return kind
    if b"\0" in start:
        for offset, magic, kind in WEAK_MAGICS:
            if start.startswith(magic, offset):
                return kind
    return None


def pdf_offset(start: bytes) -> int | None:
    """Where %PDF stands within the first PDF_HEADER_BYTES, or None."""
    found = _PDF_HEADER.search(start[: limits.PDF_HEADER_BYTES])
    return found.start() if found else None


def looks_like_html(start: bytes) -> bool:
    """True where the first element is one that only HTML begins with."""
    view = _ascii_view(start).lstrip()
    while view.startswith((b"<?xml", b"<!--")):
        end = b"?>" if view.startswith(b"<?") else b"-->"
        _, found, view = view.partition(end)
        if not found:
            return False
        view = view.lstrip()
    return _HTML_START.match(view) is not None


def is_encoded_mail(start: bytes) -> bool:
    """Whether a mail begins here whose text cannot be read as it stands, whatever its name."""
    return mail_kind(start) is not None and _MAIL_ENCODED.search(start) is not None


def mail_kind(start: bytes) -> str | None:
    """ "mbox" for a mailbox, "eml" for one message, None where no header of a mail begins."""
    view = start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    boxed = _MAILBOX_LINE.match(view)
    header = re.split(rb"\r?\n\r?\n", view[boxed.end() if boxed else 0 :], maxsplit=1)[0]
    if not _MAIL_FIELD.match(header):
        return None
    if len({name.lower() for name in _MAIL_FIELDS.findall(header)}) < (1 if boxed else 2):
        return None
    return "mbox" if boxed else "eml"


def xml_kind(start: bytes) -> str | None:
    """The format of an XML file that is an office document in one piece, or None."""
    view = _ascii_view(start)
    if b"<office:document" in view:
        return "fodt"
    if b"<HWPML" in view:
        return "hml"
    if b'progid="Excel.Sheet"' in view or _SPREADSHEET_ML.search(view):
        return "spreadsheetml2003"
    if b"office/2006/xmlPackage" in view:
        return "flatopc"
    if b'progid="Word.Document"' in view or b"office/word/2003/wordml" in view:
        return "wordml2003"
    return None


def looks_like_plain_text(start: bytes) -> bool:
    """True where the head holds nothing but text, and no codes of RTF whose beginning is lost."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return not _BINARY.search(start) and b"\\par" not in start


def exported_kind(start: bytes) -> str | None:
    """What a text file is that bears a workbook's name: HTML or a delimited table, else None."""
    wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    view = _ascii_view(start).lstrip()
    if view.startswith(b"<"):
        return "html" if _HTML_TABLE.search(view) else None
    if not wide and _BINARY.search(start):
        return None
    first_line = view.partition(b"\n")[0].partition(b"\r")[0]
    return "tsv" if b"\t" in view or b"," in first_line or b";" in first_line else None


def zip_kind(file: BinaryIO) -> str:
    """What a ZIP file holds: a format's name, PLAIN_ZIP, or BROKEN_ZIP."""
    try:
        file.seek(0)
        with zipfile.ZipFile(file) as container:
            return _container_kind(container)
    except Exception:  # zipfile raises many types on a hostile directory
        return BROKEN_ZIP
    finally:
        file.seek(0)


def ole_kind(file: BinaryIO) -> str:
    """What an OLE compound file holds: a format's name, PLAIN_OLE, or BROKEN_OLE."""
    top, every = _ole_names(file)
    file.seek(0)
    if not every:
        return BROKEN_OLE
    # An embedded document has such streams too, below: those at the top are asked first.
    for names in (top, every):
        for stream, kind in OLE_STREAMS:
            if stream in names:
                return kind
    return PLAIN_OLE


def _ole_names(file: BinaryIO) -> tuple[set[str], set[str]]:
    """The names at the top of an OLE file, and all that were found."""
    rows: list[_Row] = []
    try:
        rows += _ole_rows(file)
    except IndexError:  # its directory lies beyond what the header's own table reaches
        with contextlib.suppress(Unread):
            container = CompoundFile(file)
            entries = container.entries.values()
            top = {entry.path[0] for entry in entries if len(entry.path) == 1}
            return top, {entry.path[-1] for entry in entries}
    except (struct.error, ValueError, OSError):
        pass  # what was read before the damage is still worth looking at
    return _top_names(rows), {row.name for row in rows if row.name}


def _ascii_view(start: bytes) -> bytes:
    """The head with UTF-16's zero bytes and any BOM taken out, for ASCII searches."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start[2:].replace(b"\0", b"")
    return start.removeprefix(b"\xef\xbb\xbf")


def _container_kind(container: zipfile.ZipFile) -> str:
    names = set(container.namelist())
    if "mimetype" in names:
        declared = _entry_head(container, "mimetype").strip()
        for prefix, kind in MIMETYPES:
            if declared.startswith(prefix):
                return kind
    if "[Content_Types].xml" in names:
        types = _entry_head(container, "[Content_Types].xml")
        if types.startswith((b"\xff\xfe", b"\xfe\xff")):
            types = types.replace(b"\0", b"")
        for main_part, kind in OOXML_MAIN_PARTS:
            if main_part in types:
                return kind
    for entry, kind in TELLTALE_ENTRIES:
        if entry in names:
            return kind
    return PLAIN_ZIP


def _entry_head(container: zipfile.ZipFile, name: str) -> bytes:
    try:
        with container.open(name) as entry:
            return entry.read(limits.KIND_ENTRY_BYTES)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, NotImplementedError):
        return b""


class _Row(NamedTuple):
    """An entry of an OLE file's directory; the last three are the numbers of other entries."""

    name: str
    left: int
    right: int
    child: int


def _top_names(rows: list[_Row]) -> set[str]:
    """The names of what lies at the top, as far as the directory's tree can be followed."""
    names: set[str] = set()
    seen = {0}
    waiting = [rows[0].child] if rows else []
    while waiting:
        number = waiting.pop()
        if number < len(rows) and number not in seen:
            seen.add(number)
            names.add(rows[number].name)
            waiting += (rows[number].left, rows[number].right)
    return names


def _ole_rows(file: BinaryIO) -> Iterator[_Row]:
    """The entries of an OLE file's directory, at most OLE_DIRECTORY_SECTORS of it."""
    file.seek(0)
    header = file.read(512)
    sector_bytes = 1 << struct.unpack_from("<H", header, 30)[0]
    if sector_bytes not in (512, 4096):
        raise ValueError("no OLE sector size")
    sector = struct.unpack_from("<I", header, 48)[0]
    fat_sectors = struct.unpack_from("<109I", header, 76)
    for _ in range(limits.OLE_DIRECTORY_SECTORS):
        if sector >= 0xFFFFFFFA:
            return
        yield from _directory_rows(_ole_sector(file, sector, sector_bytes))
        per_sector = sector_bytes // 4
        table = _ole_sector(file, fat_sectors[sector // per_sector], sector_bytes)
        sector = struct.unpack_from("<I", table, 4 * (sector % per_sector))[0]


def _ole_sector(file: BinaryIO, sector: int, sector_bytes: int) -> bytes:
    file.seek((sector + 1) * sector_bytes)
    return file.read(sector_bytes)


def _directory_rows(sector: bytes) -> Iterator[_Row]:
    for offset in range(0, len(sector) - 127, 128):
        length = struct.unpack_from("<H", sector, offset + 64)[0]
        used = 2 <= length <= 64 and sector[offset + 66] in (1, 2, 5)
        raw = sector[offset : offset + length - 2] if used else b""
        name = raw.decode("utf-16-le", "replace")
        yield _Row(name, *struct.unpack_from("<III", sector, offset + 68))
