"""Which model is found, and what is said where none can be used."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import limits, packages
from helpers.config import Settings
from helpers.errors import ConfigError
from helpers.semantic import children, client, model, prepare, snapshot, vocabulary
from helpers.semantic.stamp import stamp_of
from tests.semantic import tiny
from tests.semantic.conftest import Make

MINILM = "models--sentence-transformers--paraphrase-multilingual-MiniLM-L12-v2"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def own(tmp_path: Path, tiny_models: Path, make_settings: Make) -> tuple[Path, Settings]:
    """A copy of the installed tiny model that a test may spoil, and its settings."""
    shutil.copytree(tiny_models, tmp_path / "own")
    return tmp_path / "own" / model.DEFAULT_NAME, make_settings(tmp_path / "own")


def cached(settings: Settings, packed: bytes, **options: str) -> Path:
    """The tiny model as a snapshot in the Hugging Face cache of `settings`, as links to blobs."""
    base = settings.huggingface_cache / MINILM
    made = tiny.export(settings.data_dir / "export", packed, **options)
    (base / "blobs").mkdir(parents=True)
    (base / "refs").mkdir()
    (base / "refs" / "main").write_text(COMMIT)
    into = base / "snapshots" / COMMIT
    for path in sorted(made.rglob("*")):
        target = into / path.relative_to(made)
        if path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            blob = base / "blobs" / model.sha256(path)
            shutil.move(path, blob)
            # External data is looked for beside the real file, so a cache links it by hand.
            target.hardlink_to(blob) if "onnx" in path.name else target.symlink_to(blob)
    return into


def test_no_model_names_the_command_that_installs_one(make_settings: Make) -> None:
    found = client.status(make_settings())
    assert not found.ready and "no semantic model" in found.reason
    assert "semantic_worker.py --install" in found.remedy and "--from" in found.remedy


def test_off_is_off_even_with_a_model(make_settings: Make, tiny_models: Path) -> None:
    found = client.status(make_settings(tiny_models, semantic="off"))
    assert not found.ready and "off" in found.reason


@pytest.mark.parametrize(
    ("package", "version", "said"),
    [
        ("onnxruntime", None, "onnxruntime is not installed"),
        ("onnxruntime", "1.16.3", "onnxruntime 1.16.3 is too old: 1.20 or later is needed"),
        ("numpy", None, "numpy is not installed"),
        ("sentencepiece", "0.1.99", "sentencepiece 0.1.99 is too old"),
    ],
)
def test_a_package_missing_or_too_old_is_named(
    tiny_settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    version: str | None,
    said: str,
) -> None:
    real = packages.version
    monkeypatch.setattr(
        packages, "version", lambda name: version if name == package else real(name)
    )
    found = client.status(tiny_settings)
    assert not found.ready and said in found.reason and "--setup" in found.remedy


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx.data", "tokenizer.table"])
def test_a_model_without_one_of_its_files_says_which(own: tuple[Path, Settings], name: str) -> None:
    (own[0] / name).unlink()
    found = client.status(own[1])
    assert not found.ready and name in found.reason and "--install" in found.remedy


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"format": 99}', "{" * 1_000, '{"format": 1, "files": 3}']
)
def test_a_description_that_says_nothing_is_refused(own: tuple[Path, Settings], text: str) -> None:
    (own[0] / model.DESCRIPTION).write_text(text)
    found = client.status(own[1])
    assert not found.ready and "description" in found.reason and "--install" in found.remedy


def test_an_altered_file_is_noticed_though_its_size_is_the_same(
    own: tuple[Path, Settings],
) -> None:
    path = own[0] / "model.onnx.data"
    with open(path, "r+b") as file:
        file.seek(10_000)
        file.write(b"?")
    found = client.status(own[1])
    assert not found.ready and "not the file that was installed" in found.reason


def test_a_copied_model_is_ready_with_the_same_fingerprint_and_is_hashed_once(
    own: tuple[Path, Settings], tiny_status: client.ModelStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    real = model.sha256

    def noted(path: Path) -> str:
        read.append(path)
        return real(path)

    monkeypatch.setattr(model, "sha256", noted)
    assert client.status(own[1]).fingerprint == tiny_status.fingerprint
    assert len(read) == 4
    assert client.status(own[1]).fingerprint == tiny_status.fingerprint
    assert len(read) == 4


def test_the_fingerprint_follows_everything_that_vectors_depend_on(
    own: tuple[Path, Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, settings = own
    seen = {client.status(settings).fingerprint}
    path = folder / model.DESCRIPTION
    plain = json.loads(path.read_text())
    for key, value in (("passage_prefix", "p: "), ("pooling", "cls"), ("max_tokens", 256)):
        path.write_text(json.dumps(plain | {key: value}))
        seen.add(client.status(settings).fingerprint)
    path.write_text(json.dumps(plain))
    with monkeypatch.context() as patch:
        patch.setattr(children, "POLICY", "another")
        seen.add(client.status(settings).fingerprint)
    real = packages.version
    newer = {"onnxruntime": "99.1"}
    monkeypatch.setattr(packages, "version", lambda name: newer.get(name) or real(name))
    seen.add(client.status(settings).fingerprint)
    assert len(seen) == 6 and all(seen)


def test_status_opens_no_socket_and_starts_no_process(
    tiny_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket or a process")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert client.status(tiny_settings).ready


# --- exports -------------------------------------------------------------------------------


@pytest.mark.parametrize("tokenizer", ["spm", "json"])
def test_a_snapshot_in_the_cache_is_found_prepared_and_used(
    make_settings: Make, packed: bytes, tokenizer: str
) -> None:
    settings = make_settings()
    into = cached(settings, packed, artifact="model_O2.onnx", tokenizer=tokenizer)
    found = client.status(settings)
    assert not found.ready and found.preparable and found.source == into
    assert found.name == "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
    before = {path: path.stat().st_mtime_ns for path in into.rglob("*")}
    ready = client.ensure(settings)
    assert ready.ready, ready
    assert ready.description is not None and ready.description.query_prefix == ""
    assert ready.description.max_tokens == 128
    with client.Worker(settings, ready) as worker:
        assert len(worker.embed_query("ปี 2024")) == 4 * 384
    assert {path: path.stat().st_mtime_ns for path in into.rglob("*")} == before


def test_the_newest_snapshot_serves_where_refs_are_missing(
    make_settings: Make, packed: bytes
) -> None:
    settings = make_settings()
    into = cached(settings, packed)
    shutil.rmtree(into.parents[1] / "refs")
    assert client.status(settings).source == into


def test_a_folder_that_was_named_wins_and_may_hold_an_export(
    make_settings: Make, tiny_models: Path, packed: bytes, tmp_path: Path
) -> None:
    folder = tiny.export(tmp_path / "mine", packed)
    settings = make_settings(tiny_models, semantic_model_dir=folder)
    found = client.status(settings)
    assert found.preparable and found.source == folder
    named = make_settings(semantic_model_dir=tiny_models / model.DEFAULT_NAME)
    assert client.status(named).ready


def test_an_export_that_changed_is_prepared_again(
    make_settings: Make, tmp_path: Path, packed: bytes
) -> None:
    settings = make_settings(semantic_model_dir=tiny.export(tmp_path / "mine", packed))
    first = client.ensure(settings)
    assert first.ready, first
    shutil.rmtree(tmp_path / "mine")
    tiny.export(tmp_path / "mine", tiny.packed(seed=2))
    changed = client.status(settings)
    assert not changed.ready and changed.preparable and "changed" in changed.reason
    second = client.ensure(settings)
    assert second.ready and second.fingerprint != first.fingerprint


@pytest.mark.parametrize(
    "missing", ["onnx/model.onnx", "onnx/model.onnx.data", "sentencepiece.bpe.model"]
)
def test_an_export_without_one_of_its_files_is_refused_plainly(
    make_settings: Make, tmp_path: Path, packed: bytes, missing: str
) -> None:
    folder = tiny.export(tmp_path / "mine", packed)
    (folder / missing).unlink()
    found = client.ensure(make_settings(semantic_model_dir=folder))
    assert not found.ready and found.reason and found.remedy
    assert "Traceback" not in found.reason
    assert missing.split("/")[-1] in found.reason or "tokenizer.json" in found.reason


def test_a_folder_that_is_missing_is_named(make_settings: Make, tmp_path: Path) -> None:
    found = client.status(make_settings(semantic_model_dir=tmp_path / "nowhere"))
    assert not found.ready and "nowhere" in found.reason


def test_an_onnx_file_with_other_inputs_or_dimension_or_that_is_none_is_refused(
    make_settings: Make, tmp_path: Path, packed: bytes
) -> None:
    folder = tiny.export(tmp_path / "mine", packed)
    path = folder / "onnx" / "model.onnx"
    whole = path.read_bytes()
    settings = make_settings(semantic_model_dir=folder)
    spoiled: dict[str, Callable[[bytes], bytes]] = {
        "takes": lambda data: data.replace(b"attention_mask", b"attention_mark"),
        "gives": lambda data: data.replace(b"last_hidden_state", b"last_hidden_stage"),
        "cannot be loaded": lambda data: b"<html>not found</html>",
    }
    for said, change in spoiled.items():
        path.write_bytes(change(whole))
        found = client.ensure(settings)
        assert not found.ready and said in found.reason, found
    small_network(path)
    found = client.ensure(settings)
    assert not found.ready and "8 numbers per text, 384 are needed" in found.reason


def small_network(path: Path) -> None:
    """A network of the right form that gives eight numbers per token."""
    import numpy

    from helpers.semantic import onnx_file

    graph = onnx_file.Graph("small")
    for name in ("input_ids", "attention_mask"):
        graph.input(name, onnx_file.INT64, ["batch", "seq"])
    table = graph.constant("table", numpy.ones((4_000, 8), numpy.float32))
    graph.node("Gather", [table, "input_ids"], output="last_hidden_state")
    graph.output("last_hidden_state", onnx_file.FLOAT, ["batch", "seq", 8])
    graph.write(path)


@pytest.mark.parametrize(
    ("kinds", "chosen"),
    [
        (["arm64"], "model_qint8_arm64.onnx"),
        (["avx512_vnni", "avx512", "avx2"], "model_qint8_avx512_vnni.onnx"),
        (["avx512", "avx2"], "model_qint8_avx512.onnx"),
        (["avx2"], "model_quint8_avx2.onnx"),
        ([], "model_O2.onnx"),
    ],
)
def test_the_artifact_fits_the_cpu(
    tmp_path: Path, packed: bytes, kinds: list[str], chosen: str
) -> None:
    folder = tiny.export(tmp_path / "mine", packed)
    for names in (*snapshot.ARTIFACTS.values(), ("model_O2.onnx",)):
        for name in names:
            (folder / "onnx" / name).touch()
    assert snapshot.read(folder, kinds).artifact.name == chosen
    (folder / "onnx" / chosen).unlink()
    assert snapshot.read(folder, kinds).artifact.name != chosen


def test_prompts_and_pooling_belong_to_the_export(tmp_path: Path, packed: bytes) -> None:
    folder = tiny.export(tmp_path / "my-e5-small", packed)
    assert snapshot.read(folder).passage_prefix == "passage: "
    prompts = {"prompts": {"query": "ask: ", "document": "doc: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    found = snapshot.read(folder)
    assert (found.query_prefix, found.passage_prefix, found.pooling) == ("ask: ", "doc: ", "cls")
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": false}')
    with pytest.raises(ConfigError, match="pools neither"):
        snapshot.read(folder)


def test_a_models_folder_that_cannot_be_written_is_a_reason(
    make_settings: Make, tmp_path: Path, packed: bytes
) -> None:
    folder = tiny.export(tmp_path / "mine", packed)
    (tmp_path / "file").touch()
    found = client.ensure(make_settings(tmp_path / "file" / "x", semantic_model_dir=folder))
    assert not found.ready and "cannot be" in found.reason


def test_calibration_lies_between_its_bounds(tiny_status: client.ModelStatus) -> None:
    described = tiny_status.description
    assert described is not None
    assert -1 <= described.background_mean <= 1 and described.background_std > 0
    low, high = prepare.WEIGHT_RANGE
    assert low <= described.fusion_weight <= high


def test_the_embedded_model_was_measured_at_install(installed_model: Path) -> None:
    described = model.read_description(installed_model)
    assert 0.7 < described.background_mean < 0.78 and 0.02 < described.background_std < 0.05
    assert abs(described.fusion_weight - 0.1) < 0.02
    assert os.stat(described.files["weights"]).st_size == 76_576_768


def test_of_several_snapshots_the_newest_serves(make_settings: Make, packed: bytes) -> None:
    settings = make_settings()
    into = cached(settings, packed)
    shutil.rmtree(into.parents[1] / "refs")
    for name, seconds in (("older", 1_000), ("newest", 3_000_000_000)):
        copy = into.parent / name
        shutil.copytree(into, copy)
        os.utime(copy, (seconds, seconds))
    assert client.status(settings).source == into.parent / "newest"


@pytest.mark.parametrize(
    ("flags", "kinds"),
    [
        (set(), []),
        ({"avx2"}, ["avx2"]),
        ({"avx2", "avx512f", "avx512bw", "avx512vl", "avx512dq"}, ["avx512", "avx2"]),
    ],
)
def test_the_kind_of_cpu_is_told_by_its_flags(
    monkeypatch: pytest.MonkeyPatch, flags: set[str], kinds: list[str]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(snapshot, "_linux_flags", lambda: flags)
    assert snapshot.cpu_kinds() == kinds
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert snapshot.cpu_kinds() == ["arm64"]


def test_a_vocabulary_of_another_kind_is_refused() -> None:
    pieces, scores = [b"<unk>", b"<s>", b"</s>", b"a"], [0.0, 0.0, 0.0, -1.0]
    charsmap = vocabulary.xlmr_charsmap()
    whole = vocabulary.Vocabulary(pieces, scores, charsmap).sentencepiece()
    for damaged in (
        vocabulary.Vocabulary([b"a", *pieces[1:]], scores, charsmap).sentencepiece(),
        vocabulary.Vocabulary(pieces, scores, b"").sentencepiece(),
    ):
        with pytest.raises(ConfigError, match="not XLM-R's unigram"):
            vocabulary._from_model(damaged)
    assert vocabulary._from_model(whole).pieces == pieces


def test_a_tokenizer_that_does_not_fit_the_model_is_refused_at_its_preparation() -> None:
    class Bulk:
        def question_ids(self, text: str) -> list[int]:
            return [0, 5, 2]

        def run(self, ids: list[int]) -> np.ndarray:
            return np.array([0.6, 0.8], np.float32)

    plan = SimpleNamespace(onnx="model.onnx")
    prepare._same_both_ways(plan, Bulk(), "text", np.array([0.6, 0.8]))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="does not fit"):
        prepare._same_both_ways(plan, Bulk(), "text", np.array([1.0, 0.0]))  # type: ignore[arg-type]


# --- limits of what is believed ------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [("dimension", 383), ("max_tokens", 15), ("max_tokens", 8_193), ("pooling", "most")],
)
def test_a_description_of_a_model_that_cannot_be_used_is_refused(
    own: tuple[Path, Settings], key: str, value: object
) -> None:
    path = own[0] / model.DESCRIPTION
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(ConfigError, match=str(value)):
        model.read_description(own[0])


def test_what_is_larger_than_a_model_is_not_read(
    own: tuple[Path, Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(model, "MODEL_NOTE_BYTES", 10)
        with pytest.raises(ConfigError, match="too large for a description"):
            model.read_description(own[0])
    monkeypatch.setattr(model, "MODEL_FILE_BYTES", 10)
    with pytest.raises(ConfigError, match="> 10 bytes"):
        model.sha256(own[0] / model.DESCRIPTION)
    monkeypatch.setattr(snapshot, "MODEL_NOTE_BYTES", 10)
    with pytest.raises(ConfigError, match="larger than 10 bytes"):
        snapshot._json(own[0] / model.DESCRIPTION)


def test_the_oldest_version_named_is_new_enough(
    tiny_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = {name: ".".join(map(str, numbers)) for name, numbers in model.PACKAGES.items()}
    monkeypatch.setattr(packages, "version", lambda name: oldest[name])
    assert client.status(tiny_settings).ready


def test_a_questions_prefix_is_part_of_the_fingerprint(own: tuple[Path, Settings]) -> None:
    described = model.read_description(own[0])
    other = dataclasses.replace(described, query_prefix="ask: ")
    assert model.fingerprint(other, "1.20") != model.fingerprint(described, "1.20")


def test_of_many_hashes_the_newest_are_kept(own: tuple[Path, Settings]) -> None:
    model._remember(own[1], {f"file {number}": "hash" for number in range(40)})
    assert list(model._known_hashes(own[1])) == [f"file {number}" for number in range(8, 40)]


def test_a_file_written_anew_with_its_size_or_put_in_its_place_has_another_stamp(
    tmp_path: Path,
) -> None:
    path, twin = tmp_path / "a", tmp_path / "b"
    for each in (path, twin):
        each.write_bytes(b"same")
        os.utime(each, ns=(1_000, 1_000))
    first = stamp_of(path)
    os.utime(path, ns=(2_000, 2_000))
    assert stamp_of(path) != first
    os.replace(twin, path)
    assert stamp_of(path) != first and stamp_of(path)[:2] == first[:2]


def test_a_text_is_no_longer_than_the_exports_positions(tmp_path: Path, packed: bytes) -> None:
    folder = tiny.export(tmp_path / "mine", packed)
    (folder / "config.json").write_text('{"max_position_embeddings": 64}')
    assert snapshot.read(folder).max_tokens == 64
    (folder / "config.json").write_text('{"max_position_embeddings": 100000}')
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 9000}')
    assert snapshot.read(folder).max_tokens == snapshot.MAX_TOKENS


def test_a_passages_own_prompt_goes_before_a_documents(tmp_path: Path, packed: bytes) -> None:
    folder = tiny.export(tmp_path / "mine", packed)
    prompts = {"prompts": {"passage": "passage: ", "document": "doc: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    assert snapshot.read(folder).passage_prefix == "passage: "


def test_a_reference_that_leads_out_of_the_snapshots_is_not_followed(
    make_settings: Make, packed: bytes
) -> None:
    settings = make_settings()
    into = cached(settings, packed)
    (into.parents[1] / "refs" / "main").write_text("../blobs")
    assert client.status(settings).source == into


def test_an_export_that_is_not_ready_in_time_is_a_reason(
    make_settings: Make, tmp_path: Path, packed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SEMANTIC_PREPARE_S", 0.05)
    folder = tiny.export(tmp_path / "mine", packed)
    found = client.ensure(make_settings(semantic_model_dir=folder))
    assert not found.ready and "could not be prepared" in found.reason
    assert "timed out" in found.reason and found.remedy


@pytest.mark.parametrize(("cosine", "weight"), [(0.7335, 0.1), (0.0, 0.3752), (0.99, 0.05)])
def test_the_further_apart_unrelated_texts_lie_the_more_words_count(
    monkeypatch: pytest.MonkeyPatch, cosine: float, weight: float
) -> None:
    question = np.array([1.0, 0.0], np.float32)
    passage = np.array([cosine, (1 - cosine**2) ** 0.5], np.float32)
    compared: list[str] = []
    ask = SimpleNamespace(embed=lambda text: question)
    bulk = SimpleNamespace(embed=lambda chunks: [passage[None]] * len(chunks))
    monkeypatch.setattr(prepare, "QueryEncoder", lambda plan: ask)
    monkeypatch.setattr(prepare, "BulkEncoder", lambda plan, threads: bulk)
    monkeypatch.setattr(prepare, "_same_both_ways", lambda *given: compared.append(given[2]))
    found = prepare.calibrate(SimpleNamespace())  # type: ignore[arg-type]
    assert abs(found["fusion_weight"] - weight) < 1e-3
    assert abs(found["background_mean"] - cosine) < 1e-3
    assert len(compared) == 1
