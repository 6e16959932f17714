"""Names of RTF 1.9.1 that a reader needs: letters, destinations to read, destinations to pass over.

Does not: act on them; `rtf_body` does.
"""

from __future__ import annotations

# Control words that stand for a letter, and signs behind a backslash that do.
LETTERS = {
    b"tab": "\t", b"line": "\n", b"lbr": "\n", b"softline": "\n", b"page": "\n", b"column": "\n",
    b"emdash": "\u2014", b"endash": "\u2013", b"emspace": "\u2003", b"enspace": "\u2002",
    b"qmspace": "\u2005", b"bullet": "\u2022", b"lquote": "\u2018", b"rquote": "\u2019",
    b"ldblquote": "\u201c", b"rdblquote": "\u201d", b"zwj": "\u200d", b"zwnj": "\u200c",
}  # fmt: skip
SIGNS = {0x7E: "\u00a0", 0x5F: "\u2011", 0x5C: "\\", 0x7B: "{", 0x7D: "}", 0x09: "\t"}

# Destinations without text for a reader, whether they carry a star or not.
PASSED_OVER = frozenset(
    b"colortbl NeXTGraphic nonshppict shprslt filetbl revtbl listtable listoverridetable rsidtbl "
    b"objclass objname objalias objsect fldinst fldtype formfield datafield ftnsep ftnsepc "
    b"ftncn aftnsep aftnsepc aftncn xe tc tcn rxe pn pntxta pntxtb pnseclvl bkmkstart bkmkend "
    b"nonesttables mmathPict background themedata colorschememapping datastore latentstyles "
    b"generator template atnid atnauthor atndate atnref atntime atnparent atnicn atrfstart atrfend "
    b"docvar userprops xmlnstbl keycode falt panose fontemb fontfile htmltag mhtmltag private "
    b"passwordhash wgrffmtfilter fchars lchars listname listlevel leveltext levelnumbers".split()
)
# Destinations with a star that hold text all the same; others with a star are passed over.
STARRED = frozenset(
    b"shpinst do annotation footnote nesttableprops ud shptxt result fldrslt moMath "
    b"moMathPara shppict picprop objdata".split()
)
# Destinations whose own letters are no text, though groups inside them may hold some.
WITHOUT_TEXT = b"shpinst do shp sp nesttableprops pict shppict picprop".split()
INFO_KEPT = frozenset((b"title", b"keywords", b"upr", b"ud"))
MARGINS = {
    **dict.fromkeys((b"header", b"headerl", b"headerr", b"headerf"), "header"),
    **dict.fromkeys((b"footer", b"footerl", b"footerr", b"footerf"), "footer"),
}
# Properties of a shape that are text, as its `\sn` names them.
SHAPE_TEXTS = frozenset(("gtextUNICODE",))
SHAPE_DESCRIPTIONS = frozenset(("wzDescription", "wzName"))
