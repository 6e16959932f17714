"""Every cap in one place, with its unit; docs/limits.md explains each one.

Grouped by the room that enforces it. A cap's error goes through `errors.limit_reached`.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

# --- queries and answers -------------------------------------------------------------
QUERY_CHARS = 4_000  # code points
FILTER_CHARS = 4_000  # code points of a path or type that narrows a search
RESULT_LIMIT = 50  # results per answer
RESULT_DEFAULT = 8  # results per answer
ANSWER_TOKENS = 3_000  # estimated tokens over results[].text
RESULT_OFFSET = 200  # results that can be passed over
NEIGHBOURS = 10  # chunks before or after
ALIAS_FILE_BYTES = 1 * MIB  # bytes of STATE/aliases.json or aliases.txt
CHUNK_TEXT_CHARS = 1_500  # code points of one chunk's text
CONTEXT_CHARS = 300  # code points of one chunk's title and heading path

# --- chunking ------------------------------------------------------------------------
CHUNK_CHARS = 900  # code points, default target
CHUNK_CHARS_RANGE = (200, 1_200)  # code points, what --chunk-chars takes
CHUNK_OVERLAP = 120  # code points, default
CHUNK_OVERLAP_SHARE = 0.15  # of the chunk size, at most

# --- extract: archives and markup ----------------------------------------------------
ZIP_ENTRIES = 10_000  # entries of one container
ZIP_DIRECTORY_BYTES = 4 * MIB  # bytes of a container's central directory
ZIP_PART_BYTES = 512 * MIB  # inflated bytes of one part
ZIP_DOCUMENT_BYTES = 1 * GIB  # inflated bytes of one document, re-read parts counted again
ZIP_RATIO = 200  # inflated bytes per stored byte, of a part and of a document
ZIP_RATIO_FROM_BYTES = 32 * MIB  # inflated bytes below which the ratio is not looked at
ZIP_SMALL_PART_BYTES = 16 * MIB  # inflated bytes of a part that is held whole
MARKUP_DEPTH = 1_000  # nested elements
MARKUP_TOKEN_BYTES = 4 * MIB  # bytes of one tag, comment or other unbroken token
MARKUP_NAMES = 20_000  # distinct element and attribute names of one part
EQUATION_CHARS = 65_536  # code points of one equation that are told as LaTeX, the rest as it is
EQUATION_DEPTH = 200  # nested groups of one equation; what is nested deeper is written flat
OFFICE_TEXT_CHARS = 256_000_000  # code points one office document may yield
OFFICE_BLOCK_CHARS = 65_536  # code points of one paragraph or row before it is cut
ALTERNATIVE_CHARS = 4_000  # code points of a picture's alternative text; the rest is cut
OFFICE_RELATED_PARTS = 10_000  # headers, notes, slides and other parts one document names
SHEET_STRINGS = 5_000_000  # shared strings of one workbook
SHEET_STRING_BYTES = 128 * MIB  # UTF-8 bytes of the shared strings of one workbook
SHEET_REPEATED_CELLS = 20_000_000  # filled cells that ODF repeat counts may declare
SHEET_REPEAT_COLUMNS = 16  # times one repeated cell is written out in a row

# --- the console ---------------------------------------------------------------------
LISTED_FILES = 200  # files in one page of the list
LISTED_FOLDERS = 2_000  # folders that the console offers as a filter
LISTED_JOBS = 50  # syncs in the history
UI_THREADS = 16  # requests that are answered at the same time
UI_ORIGINALS = 8  # originals that are sent at the same time; one more is told to come back
UI_CONNECTIONS = 400  # connections that may wait; beyond it the one that has waited longest goes
UI_HEAD_BYTES = 16 * KIB  # bytes of a request's head
UI_BODY_BYTES = 64 * KIB  # bytes of a request's body
UI_HEAD_S = 10.0  # seconds within which a request's head must have come
UI_STALL_S = 10.0  # seconds without progress in reading a body or writing an answer

# --- extraction: compound files (DOC, XLS, PPT, HWP, MSG) ------------------------------
OLE_ENTRIES = 100_000  # streams and storages of one compound file
OLE_STREAM_BYTES = 256 * MIB  # bytes of one stream that is held whole
PROTECTED_BYTES = 64 * MIB  # bytes of an Office file that is decrypted, which is done in memory
OLE_PART_BYTES = 64 * MIB  # bytes of one table of a document, or of one slide, that are held
PROPERTY_SET_BYTES = 1 * MIB  # bytes of a summary (title, keywords) that are looked at

# --- extraction: documents inside documents (mail attachments, members of archives) ----
NESTED_DEPTH = 3  # documents around the innermost one
NESTED_MEMBERS = 10_000  # documents inside one document, at any depth
NESTED_BYTES = 64 * MIB  # bytes of one of them
NESTED_TOTAL_BYTES = 1 * GIB  # bytes of all of them

# --- extraction: Hangul (HWP, HWPX) ------------------------------------------------------
HWP_STREAM_BYTES = 128 * MIB  # inflated bytes of one section of an HWP document
HWP_RATIO = 200  # inflated bytes per stored byte of such a stream
HWP_RATIO_FROM_BYTES = 32 * MIB  # inflated bytes below which the ratio is not looked at
HWP_INFO_BYTES = 16 * MIB  # inflated bytes of a document's table of styles
HWP_RECORD_BYTES = 16 * MIB  # bytes of one record that is looked into
HWP_LEVELS = 1_000  # records within each other
HANGUL_HEADING_CHARS = 150  # code points; a longer paragraph in a heading's style is no heading

# --- extraction: mail ------------------------------------------------------------------
MAIL_HEADER_BYTES = 256 * KIB  # bytes of one message's or part's header
MAIL_FIELD_CHARS = 4_000  # code points of one header field that is shown, such as To
MAIL_TEXT_BYTES = 16 * MIB  # bytes of one text of a mail, decoded
MAIL_PARTS = 1_000  # parts of one message
MAIL_DEPTH = 20  # parts within parts
MSG_RTF_BYTES = 32 * MIB  # inflated bytes of the formatted text of an Outlook message

# --- extraction: RTF -----------------------------------------------------------------
RTF_DEPTH = 50_000  # groups within groups
RTF_OBJECT_BYTES = 32 * MIB  # bytes of one embedded object
RTF_TABLE_DEPTH = 32  # tables within tables; deeper ones are read as the deepest

# --- extraction: what a file is, and the text family ---------------------------------
SNIFF_BYTES = 4 * KIB  # bytes of a file's head that decide what it is
PDF_HEADER_BYTES = 1_024  # bytes within which %PDF must stand
KIND_ENTRY_BYTES = 256 * KIB  # bytes of a ZIP's content-types entry
OLE_DIRECTORY_SECTORS = 256  # sectors of an OLE file's directory
READ_BYTES = 256 * KIB  # bytes read at a time from a text
ENCODING_EVIDENCE_BYTES = 4 * MIB  # bytes with non-ASCII letters that decide an encoding
ENCODING_SAMPLE_BYTES = 32 * KIB  # bytes of them that are weighed letter by letter
FRONT_MATTER_CHARS = 32_000  # code points within which front matter must end
SECTION_LABEL_CHARS = 200  # code points of a heading path shown as a location
ROW_LINES = 200  # lines one quoted table cell may span; beyond it a quote is a stray one
ROW_CHARS = 32_000  # code points of one table row; the rest of the row follows as another
JSON_TREE_BYTES = 8 * MIB  # bytes of a JSON file that is parsed whole; a larger one is text
NOTEBOOK_BYTES = 32 * MIB  # bytes of a Jupyter notebook, its pictures not counted
JSON_DEPTH = 500  # levels of nesting
RECORD_CHARS = 1_000_000  # code points of one JSON line
MARKUP_CHARS = 1_000_000  # code points of one unfinished HTML tag, comment or script
TITLE_LINE_CHARS = 80  # code points of a text file's first line that may be its title
PARAGRAPH_CHARS = 32_000  # code points of one block; a longer paragraph is cut at a line end

# --- extraction: PDF -----------------------------------------------------------------
PDF_PAGES = 20_000  # pages of one file
PDF_STREAM_BYTES = 32 * MIB  # bytes one stream may inflate to
PDF_RAW_STREAM_BYTES = 128 * MIB  # bytes of one stream as it lies in the file
PDF_RESCUED_BYTES = 64 * MIB  # bytes of a file whose lost table of objects is made anew
PDF_RESCUED_OBJECTS = 500_000  # objects of such a file
PDF_OUTLINE_ENTRIES = 20_000  # bookmarks of one file
PDF_CHARS = 2_000_000  # code points shown by all pages of one file, visible or not ...
PDF_CHARS_PER_BYTE = 8  # ... and as many more per byte of it: pages may share what they show
PDF_PAGE_CHARS = 1_000_000  # code points shown by one page
PDF_PAGE_INSTRUCTIONS = 3_000_000  # drawing instructions of one page
PDF_FORM_DEPTH = 8  # forms within forms
PDF_FORM_CALLS = 500  # forms shown by one page
PDF_ANNOTATIONS = 2_000  # annotations of one page
PDF_FONT_BYTES = 32 * MIB  # bytes of an embedded font that is looked into
PDF_MAP_ENTRIES = 200_000  # codes of one font's table of letters
PDF_MAP_RANGE = 65_536  # codes of one range within it

# --- reader processes ----------------------------------------------------------------
READERS_MAX = 4  # processes that parse documents at the same time
READER_START_S = 60.0  # seconds until a reader process must have said hello
READER_STALL_S = 20.0  # seconds without a sign of progress
READER_WALL_S = 20.0  # seconds for one file, of which more are granted by the next two
READER_WALL_S_PER_MIB = 10.0  # seconds per MiB of file
READER_WALL_CHARS_PER_S = 10_000  # code points of text found that grant one more second
READER_CPU_S = 60  # CPU seconds between two frames: holds even while nobody watches
READER_MEMORY_BYTES = 512 * MIB  # bytes of address space (Linux) or resident memory
READER_OPEN_FILES = 64  # descriptors of one reader process
READER_OUTPUT_CHARS = 4_000_000  # code points of one document's chunks ...
READER_OUTPUT_CHARS_PER_BYTE = 20  # ... and as many more per byte of its file
READER_NOTICES = 200  # notices of one document; the rest is counted
READER_BUFFER_CHUNKS = 2_000  # chunks up to which a document is held whole
READER_BUFFER_BYTES = 8 * MIB  # bytes of frames up to which a document is held whole
READER_FRAME_BYTES = 4 * MIB  # bytes of one frame
READER_FRAME_CHUNKS = 64  # chunks of one frame
READER_FRAME_CHARS = 200_000  # code points after which a frame is sent
READER_FIELD_CHARS = 1_000  # code points of a title, tag, label, reason or other short field
READER_TERMS_CHARS = 40_000  # code points of one chunk's terms
READER_FILES = 5_000  # files after which a reader process is replaced
READER_RECYCLE_BYTES = 160 * MIB  # resident bytes between two files, above which it is replaced
READER_QUEUE_BYTES = 1 * MIB  # bytes of a file up to which another may wait behind it
READER_QUESTIONS = 20_000  # pages, images and recordings that one document has recognised
READER_QUESTIONS_OPEN = 4  # of them waiting for their answer at the same time
READER_ATTACHED_BYTES = 256 * MIB  # bytes of inner files that one document hands out for it
READER_ATTACHED_PART_BYTES = 1 * MIB  # bytes of an inner file in one frame
READER_ANSWER_CHARS = 4_000_000  # code points of one answer
READER_ANSWER_PART_BYTES = 256 * KIB  # bytes of an answer sent at once
READER_ANSWER_S = 5.0  # seconds that a reader process may take to accept one

# --- recognition -----------------------------------------------------------------------
OCR_VISION_PAGE_S = 180.0  # seconds a vision model may take for one page
OCR_VISION_PICTURE_BYTES = 24 * MIB  # bytes of a picture that is sent to it
REMOTE_ANSWER_BYTES = 8 * MIB  # bytes of one answer of a server
SOUND_S = 86_400  # seconds of one recording
SOUND_PART_S = 600  # seconds that are transcribed at a time, and kept
SOUND_PART_WALL_S = 7_200.0  # seconds that transcribing one part may take
SOUND_MEMORY_BYTES = 16 * GIB  # bytes of address space of whatever transcribes
SOUND_FILE_BYTES = 3 * GIB  # bytes of a recording made ready for it
OCR_DPI = 300  # dots per inch at which a page is drawn
OCR_PIXELS = 100_000_000  # pixels of one picture or drawn page
OCR_SIDE_PIXELS = 32_000  # pixels of its longer side
OCR_FRAMES = 5_000  # pages of one picture file
OCR_PAGE_S = 180.0  # seconds of one run of an engine over one page ...
OCR_PAGE_CPU_S = 30  # ... and processor seconds (a dense A4 page takes 3 to 6)
OCR_LOOK_CPU_S = 15  # processor seconds for telling which way up a page stands
OCR_DRAW_CPU_S = 20  # processor seconds for drawing one page
OCR_PROBE_S = 10.0  # seconds in which an engine must say its version
OCR_MEMORY_BYTES = 2 * GIB  # bytes of address space of an engine's program (Linux)
OCR_OUTPUT_BYTES = 8 * MIB  # bytes that an engine's program may write out
OCR_FILE_BYTES = 512 * MIB  # bytes of a file that an engine's program may write
RECOGNISED_BYTES = 512 * MIB  # bytes of kept results; the ones unused for longest go

# --- jobs ----------------------------------------------------------------------------
JOB_HISTORY = 50  # finished job files kept
JOB_LOG_BYTES = 5 * MIB  # bytes of STATE/logs/sync.log
JOB_FAILURES = 100_000  # entries of Job.failures; the rest is counted
JOB_RESERVE_BYTES = 64 * KIB  # bytes held by a running job to report a full disk with
JOB_WRITE_S = 0.5  # seconds between two writes of a job file, at least
JOB_WRITE_SHARE = 0.05  # of the worker's time, what writing its job file may cost
JOB_CANCEL_STAT_S = 0.05  # seconds between two looks at the cancel file
JOB_START_GRACE_S = 10.0  # seconds a queued job waits for its worker's lock to show
JOB_START_WAIT_S = 0.8  # seconds a start waits to see its worker take the lock
LOCK_RETRY_S = 0.1  # seconds an acquirer retries, a probe may hold the lock for a moment
START_LOCK_S = 5.0  # seconds a start waits for another process that is starting one

# --- MCP -----------------------------------------------------------------------------
MCP_LINE_BYTES = 16 * MIB  # bytes of one message over stdio
MCP_NESTING = 100  # levels of arrays and objects in one message
MCP_NAME_CHARS = 300  # code points of a title, label or reason on one line of the text form
MCP_ANSWER_GRACE_S = 3.0  # seconds that open requests get after the end of input
MCP_EXIT_GRACE_S = 3.5  # seconds from the end of input to a forced exit

# --- reports -------------------------------------------------------------------------
UNREAD_LISTED = 50  # entries of Health.unread
CHANGES_LISTED = 50  # paths per group of check_changes

# --- the knowledge folder --------------------------------------------------------------
FOLDER_DEPTH = 128  # folders inside folders; each level holds one descriptor during a walk
IGNORE_BYTES = 256 * KIB  # bytes of one .ragdocignore
IGNORE_PATTERNS = 2_000  # patterns of one .ragdocignore
UNSETTLED_NS = 2_000_000_000  # nanoseconds in which a file system may reuse a time stamp
DIGEST_BLOCK_BYTES = MIB  # bytes read at a time while hashing

# --- the embedding process -------------------------------------------------------------
SEMANTIC_LINGER_S = 30.0  # seconds an idle embedding process stays under a server
SEMANTIC_LINGER_MAX_S = 3_600.0  # seconds --semantic-linger takes at most
SEMANTIC_QUERY_S = 20.0  # seconds from a question to its answer, the process's start included
SEMANTIC_TEXTS_S = 120.0  # seconds for one batch of texts
SEMANTIC_PREPARE_S = 300.0  # seconds to make a found model ready
SEMANTIC_PAUSE_S = 60.0  # seconds after a failure in which no new process is started
SEMANTIC_BATCH_TEXTS = 32  # chunks of one request
SEMANTIC_FRAME_BYTES = 64 * MIB  # bytes of one frame between the processes
SEMANTIC_NOTE_BYTES = 4 * KIB  # bytes kept of what the process writes to standard error
SEMANTIC_TEXT_CHARS = 20_000  # code points of one text that is embedded
SEMANTIC_THREADS = 16  # texts embedded at the same time, at most
CHILD_TOKENS = 112  # tokens of one child's own text
CHILD_OVERLAP_TOKENS = 24  # tokens two neighbouring children share, at most
CHILD_CONTEXT_TOKENS = 48  # tokens of title and headings in front of each child
MODEL_FILE_BYTES = 4 * GIB  # bytes of one file of a model
MODEL_NOTE_BYTES = 32 * MIB  # bytes of a JSON file beside a model (tokenizer.json has 17 MB)
