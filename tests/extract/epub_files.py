"""Books made by code: pages, tables of contents, packages."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf"'
    ' media-type="application/oebps-package+xml"/></rootfiles></container>'
)
DUBLIN = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
XHTML = "application/xhtml+xml"
HEAD = (
    '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html'
    ' xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head>'
    "<title>t</title><style>p {x}</style></head><body>"
)
NCX_HEAD = (
    '<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN"'
    ' "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><docTitle><text>Book</text></docTitle><navMap>'
)


def page(body: str) -> str:
    return f"{HEAD}{body}</body></html>"


def point(title: str, target: str, inner: str = "") -> str:
    return (
        f"<navPoint><navLabel><text>{title}</text></navLabel>"
        f'<content src="{target}"/>{inner}</navPoint>'
    )


def nav(*links: tuple[str, str]) -> str:
    lines = "".join(f'<li><a href="{target}">{title}</a></li>' for title, target in links)
    return page(f'<nav epub:type="toc"><h1>Contents</h1><ol>{lines}</ol></nav>')


def book(
    pages: Mapping[str, str | bytes],
    order: list[str] | None = None,
    ncx: str = "",
    contents: str = "",
    extra: Mapping[str, str | bytes] | None = None,
    metadata: str = "<dc:title>Livre</dc:title><dc:creator>A. Author</dc:creator>",
    media: str = XHTML,
) -> bytes:
    items = [f'<item id="{name}" href="{name}" media-type="{media}"/>' for name in pages]
    if contents:
        items.append(f'<item id="nav" href="nav.xhtml" properties="nav" media-type="{XHTML}"/>')
    if ncx:
        items.append('<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>')
    spine = "".join(f'<itemref idref="{name}"/>' for name in (order or list(pages)))
    package = (
        f'<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f"<metadata {DUBLIN}>{metadata}</metadata><manifest>{''.join(items)}</manifest>"
        f'<spine toc="ncx">{spine}</spine></package>'
    )
    files: dict[str, str | bytes] = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": package}
    files |= {f"OEBPS/{name}": text for name, text in pages.items()}
    files |= {"OEBPS/toc.ncx": f"{NCX_HEAD}{ncx}</navMap></ncx>"} if ncx else {}
    files |= {"OEBPS/nav.xhtml": contents} if contents else {}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as container:
        container.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in {**files, **(extra or {})}.items():
            container.writestr(name, text)
    return target.getvalue()


FIXTURE = book(
    {
        "a.xhtml": page('<h1 id="x">Alpha</h1><p>first <math><mi>x</mi></math></p>'),
        "b.xhtml": page("<table><tr><td>1</td><td>2</td></tr></table><p>a<br/>b</p>"),
    },
    ncx=point("Alpha", "a.xhtml#x") + point("B", "b.xhtml"),
)
