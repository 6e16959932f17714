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
JOB_FAILURES = 100_000  # entries of Job.failures; the rest is counted
JOB_WRITE_S = 0.5  # seconds between two writes of a job file, at least
JOB_WRITE_SHARE = 0.05  # of the worker's time, what writing its job file may cost
JOB_CANCEL_STAT_S = 0.05  # seconds between two looks at the cancel file
JOB_START_GRACE_S = 10.0  # seconds a queued job waits for its worker's lock to show
JOB_START_WAIT_S = 0.8  # seconds a start waits to see its worker take the lock
LOCK_RETRY_S = 0.3  # seconds an acquirer retries, a probe may hold the lock for a moment

# --- reports -------------------------------------------------------------------------
UNREAD_LISTED = 50  # entries of Health.unread
CHANGES_LISTED = 50  # paths per group of check_changes
