"""Every cap in one place, with its unit; docs/limits.md explains each one.

Grouped by the room that enforces it. A cap's error goes through `errors.limit_reached`.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

# --- queries and answers -------------------------------------------------------------
QUERY_CHARS = 4_000  # code points
RESULT_LIMIT = 50  # results per answer
RESULT_DEFAULT = 8  # results per answer
ANSWER_TOKENS = 3_000  # estimated tokens over results[].text
NEIGHBOURS = 10  # chunks before or after
CHUNK_TEXT_CHARS = 1_500  # code points of one chunk's text
CONTEXT_CHARS = 300  # code points of one chunk's title and heading path

# --- chunking ------------------------------------------------------------------------
CHUNK_CHARS = 900  # code points, default target
CHUNK_CHARS_RANGE = (200, 1_200)  # code points, what --chunk-chars takes
CHUNK_OVERLAP = 120  # code points, default
CHUNK_OVERLAP_SHARE = 0.15  # of the chunk size, at most

# --- jobs ----------------------------------------------------------------------------
JOB_HISTORY = 50  # finished job files kept
JOB_LOG_BYTES = 5 * MIB  # bytes of STATE/logs/sync.log
JOB_FAILURES = 1_000  # entries of Job.failures; the rest is counted

# --- reports -------------------------------------------------------------------------
UNREAD_LISTED = 50  # entries of Health.unread
CHANGES_LISTED = 50  # paths per group of check_changes
