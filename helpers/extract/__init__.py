"""Extraction: one open file in, a stream of text blocks with their locations out.

Each module reads one family of formats; `formats` decides which one a file belongs to.
This room never opens a path: it is handed an open, seekable file.
"""
