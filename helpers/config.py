"""The launch settings: flag, environment, `config.json`, default, in that order.

Promises: this is the only module that reads the environment; a `Settings` never changes, so
no tool argument can widen what the launch set; a value that cannot be used raises ConfigError
naming the flag and the variable.
Does not: create directories or open the index.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from helpers import limits, log
from helpers.errors import ConfigError, StoreError, UsageError, shown
from helpers.files import read_json

VERSION = "0.1.0"
PROJECT = Path(__file__).resolve().parent.parent
DEFAULT_KB = "default"
PREFIX = "RAGDOC_"
MODELS_DIR = "~/.mcp-ragdoc/models"  # shared by all data directories; RAGDOC_MODELS_DIR
SEMANTIC_CHOICES = ("auto", "on", "off")
FUSION_CHOICES = ("score", "rrf")
ARCHIVE_CHOICES = ("off", "on")
OCR_CHOICES = ("auto", "off")
THAI_CHOICES = ("bundled", "pythainlp")
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,30}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Settings:
    """What one launch may read and where it keeps its state; all paths are absolute."""

    knowledge_dir: Path
    data_dir: Path
    db: Path
    kb_id: str = DEFAULT_KB
    semantic: str = "auto"
    semantic_model_dir: Path | None = None
    semantic_linger: float | None = None
    fusion: str = FUSION_CHOICES[0]
    models_dir: Path = field(default_factory=lambda: _path(MODELS_DIR))
    huggingface_cache: Path = field(default_factory=lambda: _huggingface_cache({}))
    quiet: bool = False
    chunk_chars: int = limits.CHUNK_CHARS
    chunk_overlap: int = limits.CHUNK_OVERLAP
    thai_words: str = THAI_CHOICES[0]
    archives: str = ARCHIVE_CHOICES[0]
    ocr: str = OCR_CHOICES[0]
    ocr_languages: tuple[str, ...] = ()
    ocr_vlm_url: str = ""
    ocr_vlm_model: str = ""
    llm_control_url: str = ""
    ocr_auto_start: bool = False
    ocr_auto_stop: bool = False
    whisper_model_dir: Path | None = None
    exclude: tuple[str, ...] = ()
    exclude_dirs: tuple[str, ...] = ()
    exclude_files: tuple[str, ...] = ()
    workers: int = 0
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def jobs_dir(self) -> Path:
        return self.data_dir / "sync_jobs"

    @property
    def logs_dir(self) -> Path:
        return self.data_dir / "logs"

    @property
    def lock_path(self) -> Path:
        return self.data_dir / "sync.lock"

    def flags(self) -> list[str]:
        """The command-line words that give another process these same settings."""
        words = [
            *("--knowledge-dir", str(self.knowledge_dir), "--data-dir", str(self.data_dir)),
            *("--db", str(self.db), "--kb", self.kb_id, "--semantic", self.semantic),
            *("--chunk-chars", str(self.chunk_chars), "--chunk-overlap", str(self.chunk_overlap)),
            *("--thai-words", self.thai_words, "--archives", self.archives),
            *("--ocr", self.ocr, "--workers", str(self.workers)),
        ]
        if self.ocr_languages:
            words.append(f"--ocr-languages={','.join(self.ocr_languages)}")
        for name in ("ocr_vlm_url", "ocr_vlm_model", "llm_control_url", "whisper_model_dir"):
            if value := getattr(self, name):
                words.append(f"--{name.replace('_', '-')}={value}")
        words += ["--ocr-auto-start"] * self.ocr_auto_start
        words += ["--ocr-auto-stop"] * self.ocr_auto_stop
        if self.semantic_model_dir:
            words += ["--semantic-model-dir", str(self.semantic_model_dir)]
        if self.semantic_linger is not None:
            words += ["--semantic-linger", str(self.semantic_linger)]
        if self.fusion != FUSION_CHOICES[0]:
            words += ["--fusion", self.fusion]
        for name in ("exclude", "exclude_dirs", "exclude_files"):
            for value in getattr(self, name):
                words.append(f"--{name.replace('_', '-')}={value}")
        return words + (["--quiet"] if self.quiet else [])


class Parser(argparse.ArgumentParser):
    """A door's command line: its help begins with examples, an error says where to find them."""

    def __init__(self, prog: str, description: str, examples: str) -> None:
        self.examples = examples.strip()
        super().__init__(
            prog=prog,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # a flag to come must not change what a script means
        )

    def format_help(self) -> str:
        return f"{self.examples}\n\n{super().format_help()}"

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. Run {self.prog} --help for what fits.\n")


def add_shared_flags(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the flags that every door takes; absent ones stay None."""
    group = parser.add_argument_group("shared flags (each has a RAGDOC_* variable of its name)")
    group.add_argument("--knowledge-dir", metavar="DIR", help="folder of documents to search")
    group.add_argument("--data-dir", metavar="DIR", help="where the index and job files live")
    group.add_argument("--db", metavar="FILE", help="index file (default: DATA-DIR/ragdoc.sqlite3)")
    group.add_argument("--kb", metavar="ID", help="knowledge base (default: default)")
    group.add_argument(
        "--semantic", choices=SEMANTIC_CHOICES, help="search by meaning (default: auto)"
    )
    group.add_argument("--semantic-model-dir", metavar="DIR", help="folder of the semantic model")
    group.add_argument(
        "--semantic-linger",
        metavar="SECONDS",
        help="how long an idle embedding process stays (default: 30 under a server, else 0)",
    )
    group.add_argument(
        "--fusion",
        choices=FUSION_CHOICES,
        help="how meaning and words are put in one order (default: score)",
    )
    group.add_argument(
        "--exclude", metavar="GLOB", action="append", help="leave out matching paths; repeatable"
    )
    group.add_argument(
        "--exclude-dirs", metavar="NAMES", action="append", help="folder names to leave out"
    )
    group.add_argument(
        "--exclude-files", metavar="NAMES", action="append", help="file names to leave out"
    )
    group.add_argument("--chunk-chars", metavar="N", help="characters per chunk (default: 900)")
    group.add_argument("--chunk-overlap", metavar="N", help="characters of overlap (default: 120)")
    group.add_argument(
        "--thai-words",
        choices=THAI_CHOICES,
        help="who finds Thai words where a chunk must be cut inside a run (default: bundled)",
    )
    group.add_argument(
        "--archives",
        choices=ARCHIVE_CHOICES,
        help="whether the files inside ZIP archives are read (default: off)",
    )
    group.add_argument(
        "--ocr", choices=OCR_CHOICES, help="recognise text in scans and images (default: auto)"
    )
    group.add_argument(
        "--ocr-languages",
        metavar="LIST",
        help="languages of OCR, such as tha,eng (default: those of eng, tha, kor installed)",
    )
    group.add_argument(
        "--ocr-vlm-url",
        metavar="URL",
        help="loopback vision server that corrects OCR (default: none)",
    )
    group.add_argument("--ocr-vlm-model", metavar="NAME", help="the model it is asked for")
    group.add_argument(
        "--llm-control-url", metavar="URL", help="loopback address that starts and stops it"
    )
    group.add_argument(
        "--ocr-auto-start", action="store_true", default=None, help="start it when a sync needs it"
    )
    group.add_argument(
        "--ocr-auto-stop", action="store_true", default=None, help="stop it after such a sync"
    )
    group.add_argument(
        "--whisper-model-dir", metavar="DIR", help="folder of Whisper models: transcribe recordings"
    )
    group.add_argument(
        "--workers", metavar="N", help="reader processes (default: one per core, at most 4)"
    )
    group.add_argument("--quiet", action="store_true", default=None, help="no progress, no notes")
    group.add_argument("--version", action="version", version=f"RagDoc {VERSION}")


def resolve(
    arguments: argparse.Namespace | None = None, environ: Mapping[str, str] | None = None
) -> Settings:
    """Settings from `arguments`, then `environ`, then STATE/config.json, then the defaults.

    Raises ConfigError for a value that cannot be used, UsageError for a number out of range.
    """
    environ = os.environ if environ is None else environ
    _hand_over_secrets(environ)
    flags: dict[str, Any] = dict(vars(arguments or argparse.Namespace()))
    data_dir = _path(flags.get("data_dir") or environ.get(PREFIX + "DATA_DIR") or "~/.mcp-ragdoc")
    find = _finder(flags, environ, _config_file(data_dir))
    settings = Settings(
        knowledge_dir=_path(find("knowledge_dir") or PROJECT / "rag_document"),
        data_dir=data_dir,
        db=_path(find("db") or data_dir / "ragdoc.sqlite3"),
        kb_id=str(find("kb") or DEFAULT_KB),
        semantic=_choice("semantic", find("semantic") or "auto", SEMANTIC_CHOICES),
        semantic_model_dir=_optional_path(find("semantic_model_dir")),
        semantic_linger=_seconds("semantic_linger", find("semantic_linger")),
        fusion=_choice("fusion", find("fusion") or FUSION_CHOICES[0], FUSION_CHOICES),
        models_dir=_path(find("models_dir") or MODELS_DIR),
        huggingface_cache=_huggingface_cache(environ),
        quiet=_truth("quiet", find("quiet")),
        chunk_chars=_number("chunk_chars", find("chunk_chars"), limits.CHUNK_CHARS),
        chunk_overlap=_number("chunk_overlap", find("chunk_overlap"), -1),
        exclude=_list(find("exclude"), split=False),
        exclude_dirs=_list(find("exclude_dirs")),
        exclude_files=_list(find("exclude_files")),
        thai_words=_choice("thai_words", find("thai_words") or THAI_CHOICES[0], THAI_CHOICES),
        archives=_choice("archives", _on_off(find("archives")), ARCHIVE_CHOICES),
        ocr=_choice("ocr", find("ocr") or OCR_CHOICES[0], OCR_CHOICES),
        ocr_languages=_languages(find("ocr_languages")),
        ocr_vlm_url=str(find("ocr_vlm_url") or ""),
        ocr_vlm_model=str(find("ocr_vlm_model") or ""),
        llm_control_url=str(find("llm_control_url") or ""),
        ocr_auto_start=_truth("ocr_auto_start", find("ocr_auto_start")),
        ocr_auto_stop=_truth("ocr_auto_stop", find("ocr_auto_stop")),
        whisper_model_dir=_optional_path(find("whisper_model_dir")),
        workers=_number("workers", find("workers"), 0),
    )
    return _checked(settings)


def variable(flag: str) -> str:
    """The environment variable of a flag: `--knowledge-dir` → RAGDOC_KNOWLEDGE_DIR."""
    return PREFIX + flag.lstrip("-").replace("-", "_").upper()


def environment_value(flag: str, environ: Mapping[str, str] | None = None) -> str | None:
    """The value of `flag`'s environment variable, for a flag that one door alone takes."""
    return (os.environ if environ is None else environ).get(variable(flag)) or None


def provide_variable(name: str, value: str) -> None:
    """Set an environment variable for a library about to be imported, unless it is set."""
    os.environ.setdefault(name, value)


def terminal_wants_colour(environ: Mapping[str, str] | None = None) -> bool:
    """False under NO_COLOR or TERM=dumb."""
    environ = os.environ if environ is None else environ
    return "NO_COLOR" not in environ and environ.get("TERM") != "dumb"


def reader_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process that parses documents: no keys, tokens or settings."""
    environ = os.environ if environ is None else environ
    keep = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
    return {name: environ[name] for name in keep if name in environ}


def engine_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a program that recognises text: as a reader's, one thread each, and
    where Tesseract's language data lies if it was told so.
    """
    environ = os.environ if environ is None else environ
    found = reader_environment(environ) | {"OMP_THREAD_LIMIT": "1"}
    if environ.get("TESSDATA_PREFIX"):
        found["TESSDATA_PREFIX"] = environ["TESSDATA_PREFIX"]
    return found


def _checked(settings: Settings) -> Settings:
    low, high = limits.CHUNK_CHARS_RANGE
    chars, overlap = settings.chunk_chars, settings.chunk_overlap
    if not low <= chars <= high:
        raise UsageError(f"--chunk-chars is {chars}", f"Give a number from {low} to {high}.")
    most = int(chars * limits.CHUNK_OVERLAP_SHARE)
    if overlap == -1:
        overlap = min(limits.CHUNK_OVERLAP, most)
    if not 0 <= overlap <= most:
        raise UsageError(f"--chunk-overlap is {overlap}", f"Give a number from 0 to {most}.")
    if not settings.kb_id.isidentifier() and not settings.kb_id.replace("-", "_").isidentifier():
        raise UsageError(f"--kb is {settings.kb_id!r}", "Use letters, digits, - and _.")
    knowledge, data = _real(settings.knowledge_dir), _real(settings.data_dir)
    db = _real(settings.db)
    for name, flag, path in (("data directory", "--data-dir", data), ("index", "--db", db)):
        if path == knowledge or knowledge in path.parents:
            raise ConfigError(
                f"The {name} {path} lies inside the knowledge directory {knowledge}",
                f"Give a {flag} outside it, so that the index never indexes itself.",
            )
    changes: dict[str, Any] = {name: getattr(settings, name) for name in settings.__slots__}
    return Settings(**(changes | {"chunk_overlap": overlap}))


def _finder(
    flags: Mapping[str, Any], environ: Mapping[str, str], stored: Mapping[str, Any]
) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if flags.get(name) is not None:
            return flags[name]
        return environ.get(PREFIX + name.upper()) or stored.get(name)

    return find


def _config_file(data_dir: Path) -> Mapping[str, Any]:
    try:
        value = read_json(data_dir / "config.json")
    except StoreError as error:
        raise ConfigError(error.what, error.remedy) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(
            f"{data_dir / 'config.json'} holds no JSON object", "Mend it or remove it."
        )
    return value


def _path(value: Any) -> Path:
    if not isinstance(value, (str, Path)):
        raise ConfigError(f"A path is {shown(value)}", "Give it as text.")
    if "\0" in str(value):
        raise ConfigError("A path holds a NUL character", "Give another path.")
    return Path(os.path.abspath(os.path.expanduser(value)))


def _optional_path(value: Any) -> Path | None:
    return _path(value) if value else None


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ConfigError(f"{variable(name)} is {value!r}", f"Give one of {', '.join(choices)}.")
    return str(value)


def _on_off(value: Any) -> Any:
    """A switch that config.json may also give as true or false."""
    return "on" if value is True else value or "off"


def _number(name: str, value: Any, default: int) -> int:
    if value is None or value == "":
        return default
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        flag = "--" + name.replace("_", "-")
        raise UsageError(f"{flag} is {value!r}", "Give a whole number.") from None


def _seconds(name: str, value: Any) -> float | None:
    if value is None or value == "":
        return None
    flag = "--" + name.replace("_", "-")
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{flag} is {value!r}", "Give a number of seconds.") from None
    if not 0 <= seconds <= limits.SEMANTIC_LINGER_MAX_S:
        most = limits.SEMANTIC_LINGER_MAX_S
        raise UsageError(f"{flag} is {value}", f"Give a number of seconds from 0 to {most:,.0f}.")
    return seconds


def _huggingface_cache(environ: Mapping[str, str]) -> Path:
    """Where the Hugging Face tools keep what they downloaded, by their own rules."""
    for name in ("HUGGINGFACE_HUB_CACHE", "HF_HUB_CACHE"):
        if environ.get(name):
            return _path(environ[name])
    cache = _path(environ.get("XDG_CACHE_HOME") or "~/.cache")
    return _path(environ.get("HF_HOME") or cache / "huggingface") / "hub"


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, str):
        if value.lower() in ("1", "true", "yes", "on"):
            return True
        if value.lower() in ("0", "false", "no", "off", ""):
            return False
        raise ConfigError(f"{variable(name)} is {value!r}", "Give 1 or 0.")
    return bool(value)


def _list(value: Any, split: bool = True) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value or []
    if not isinstance(words, (list, tuple)) or not all(isinstance(w, str) for w in words):
        raise ConfigError(f"A list of names is {shown(value)}", "Give text, or a list of texts.")
    if split:
        words = [part for word in words for part in word.split(",")]
    return tuple(word.strip() for word in words if word.strip())


def _languages(value: Any) -> tuple[str, ...]:
    """Names of language data as Tesseract has them; `tha+eng` is its own way to list them."""
    found = _list(value.replace("+", ",") if isinstance(value, str) else value)
    for name in found:
        if not _LANGUAGE.fullmatch(name):
            raise UsageError(
                f"--ocr-languages names {shown(name)}", "Give names such as tha,eng,kor."
            )
    return found


def _hand_over_secrets(environ: Mapping[str, str]) -> None:
    for name, value in environ.items():
        if name.upper().endswith(("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")):
            log.redact_value(value)
