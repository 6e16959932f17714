"""OpenDocument in one XML file (.fodt, .fods, .fodp, .fodg).

Promises: the same blocks as the packed form gives; pictures, which such a file holds as text,
are passed over; a DOCTYPE is refused; the body streams, whatever its size.
Does not: read what a packed file keeps in folders of its own but embedded formulas and charts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from helpers.extract import one_file
from helpers.extract.blocks import Context, Item
from helpers.extract.odf import margins_of, metadata_of
from helpers.extract.odf_body import Body

_PART = "the file"
_BODY = re.compile(rb"<([\w.-]+:)?body[\s/>]")
_ROOT = re.compile(rb"<((?:[\w.-]+:)?document)[\s>]")


def read(file: BinaryIO, ctx: Context) -> Iterator[Item]:
    """Yields Metadata, then the body's blocks, then page headers and footers.

    Raises Unread: corrupt, limit_reached.
    """
    metadata = metadata_of(_PART, one_file.head(file, ctx, _ROOT, _BODY))
    yield metadata
    body = Body(_PART, metadata.title is not None)
    yield from body.read(one_file.pieces(file, ctx), lambda embedded: iter(()))
    yield from margins_of(_PART, one_file.head(file, ctx, _ROOT, _BODY))
