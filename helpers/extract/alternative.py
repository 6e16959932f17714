"""Alternative texts of pictures: what an author wrote for those who do not see them.

Promises: a text that a person wrote comes out as "[image: text]"; what programs put there by
themselves is left out: names such as "Picture 1", paths and file names, machine-made guesses.
Does not: look at pictures.
"""

from __future__ import annotations

import re

from helpers.limits import ALTERNATIVE_CHARS

_NUMBERED = re.compile(
    r"(?:picture|image|graphic|graphics|object|shape|chart|diagram|photo|text ?box|textframe|frame|"
    r"group|table|line|rectangle|oval|straight connector|connector|freeform|freihandform|title|"
    r"subtitle|content placeholder|placeholder|footer placeholder|slide number placeholder|logo|"
    r"grafik|bild|objekt|rahmen|imagen|imagem|immagine|afbeelding|рисунок|рис|图片|圖片|図|画像|"
    r"그림|개체|도형|표|사진|텍스트 상자|직사각형|타원|선|제목|รูปภาพ|ภาพ|รูป|กล่องข้อความ|วัตถุ|ตาราง)"
    r"[\s_#:.-]*(?:개체[\s_-]*)?\d*",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?:[a-z]:\\|\\\\|file:|https?://|cid:|data:)\S", re.IGNORECASE)
_PICTURE_ENDINGS = "png jpg jpeg gif bmp tif tiff emf wmf svg webp ico pict eps"
_PICTURES = frozenset(_PICTURE_ENDINGS.split())
_MACHINE = re.compile(
    r"(?:description|title) automatically generated|automatisch generierte beschreibung"
    r"|자동 생성된 설명|คำอธิบายที่สร้างโดยอัตโนมัติ|คำอธิบายถูกสร้างขึ้นโดยอัตโนมัติ"
    r"|自動的に生成された説明|已自动生成说明|自動產生的描述"
    r"|원본 그림의 (?:이름|크기)|그림입니다\.|this image may contain|no photo description",
    re.IGNORECASE,
)


def alternative(*texts: str) -> str:
    """The first of the texts that a person wrote, as it stands in a document; "" for none."""
    for text in texts:
        text = " ".join(text.split())[:ALTERNATIVE_CHARS]
        if written(text):
            return f"[image: {text}]"
    return ""


def written(text: str) -> bool:
    """Whether a person seems to have written this text about a picture."""
    if sum(map(str.isalnum, text)) < 2 or _MACHINE.search(text):
        return False
    name, _, ending = text.rpartition(".")
    if _PLACE.match(text) or (name and ending.lower() in _PICTURES):
        return False
    return _NUMBERED.fullmatch(text) is None
