"""The index: documents, their chunks, and the postings that find them, in one SQLite file."""
