"""Which engine reads what in this installation, as the launch settings want it.

Promises: the one place that decides; asking costs a few stats where nothing changed.
Does not: recognise anything.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from helpers.config import Settings
from helpers.errors import ConfigError, Unread
from helpers.recognition import FAMILIES
from helpers.recognize import apple, installed, render
from helpers.recognize.apple import AppleVision
from helpers.recognize.engine import Engine
from helpers.recognize.recogniser import Recogniser
from helpers.recognize.tesseract import Tesseract, install
from helpers.recognize.whisper import Whisper

if TYPE_CHECKING:
    from helpers.recognize.vision import Server

WORKERS_MAX = 8  # pages that are recognised at the same time, at most
ABSENT = "absent"  # where no engine is for it
OFF = "Sync with --ocr auto to have it recognised."


def recogniser(settings: Settings, keep: bool = True) -> Recogniser:
    """Answers for the readers of a sync; without `keep` nothing is left in the data directory."""
    engines = {
        family: engine for family in set(FAMILIES.values()) if (engine := _engine(settings, family))
    }
    workers = settings.workers or min(os.cpu_count() or 1, WORKERS_MAX)
    return Recogniser(engines, settings.data_dir if keep else None, workers)


def fingerprints(settings: Settings) -> dict[str, str]:
    """Family → what stands in the fingerprint of a document that wanted it."""
    found = {}
    for family in sorted(set(FAMILIES.values())):
        engine = _engine(settings, family)
        found[family] = f"{family}={ABSENT if engine is None else engine.fingerprint}"
    return found


def report(settings: Settings) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The `ocr` part of Health, and the problems found with it."""
    engine = _picture(settings)
    if isinstance(engine, Off):
        return {"engine": None, "languages": [], "vision_model": None}, []
    refusal = engine.refusal
    value: dict[str, Any] = {
        "engine": engine.name if refusal is None else None,
        "languages": list(engine.languages),
        "vision_model": settings.ocr_vlm_model if settings.ocr_vlm_url else None,
    }
    problems = []
    try:
        vision_server(settings)
    except ConfigError as error:
        value["vision_model"] = None
        problems.append({"code": error.code, "what": error.what, "remedy": error.remedy})
    there = isinstance(engine, AppleVision) or engine.found is not None
    if there and refusal is not None:
        problems.append({"code": "ocr_broken", "what": refusal.reason, "remedy": refusal.remedy})
    elif isinstance(engine, Tesseract) and there and engine.wanted and engine.missing:
        what = f"Tesseract has no language data for {', '.join(engine.missing)}"
        remedy = install(engine.missing)
        problems.append({"code": "ocr_language_missing", "what": what, "remedy": remedy})
    if settings.whisper_model_dir is not None:
        sound = Whisper(settings.whisper_model_dir)
        value["sound"] = sound.name if sound.refusal is None else None
        if sound.refusal is not None:
            what, remedy = sound.refusal.reason, sound.refusal.remedy
            problems.append({"code": "whisper_missing", "what": what, "remedy": remedy})
    return value, problems


def unread(settings: Settings) -> dict[str, str]:
    """Format → "unsupported" where nobody wants it read, else "missing: …" where no engine can."""
    picture, sound = _picture(settings), Whisper(settings.whisper_model_dir)
    off = {"image": isinstance(picture, Off), "audio": settings.whisper_model_dir is None}
    found = {}
    for name, refusal in (("image", picture.refusal), ("audio", sound.refusal)):
        if refusal is not None:
            found[name] = "unsupported" if off[name] else f"missing: {refusal.remedy}"
    return found


class Off:
    """Stands where recognition is switched off."""

    name, fingerprint = "off", "off"

    def __init__(self, what: str) -> None:
        self.refusal = Unread("no_text", f"its text stands in {what} and OCR is switched off", OFF)

    def recognise(self, task: Any) -> Any:
        raise self.refusal

    def close(self) -> None:
        """Nothing was started."""


def _engine(settings: Settings, family: str) -> Engine | None:
    if family == "sound":
        return Whisper(settings.whisper_model_dir)
    engine, server = _picture(settings), vision_server(settings)
    if server is None or isinstance(engine, Off):
        return engine
    from helpers.recognize.vision import Corrected

    return Corrected(engine, server, render.drawer)


def vision_server(settings: Settings) -> Server | None:
    """Where recognised text is corrected, None where nobody asked for it. Raises ConfigError."""
    if not settings.ocr_vlm_url:
        return None
    from helpers.recognize.vision import Server
    from helpers.remote import loopback

    if not settings.ocr_vlm_model:
        raise ConfigError(
            f"--ocr-vlm-url is {settings.ocr_vlm_url} and no model is named",
            "Name it by --ocr-vlm-model, as the server does.",
        )
    control = settings.llm_control_url
    return Server(
        loopback.address("--ocr-vlm-url", settings.ocr_vlm_url),
        settings.ocr_vlm_model,
        loopback.address("--llm-control-url", control) if control else None,
        settings.ocr_auto_start,
        settings.ocr_auto_stop,
    )


def _picture(settings: Settings) -> Tesseract | AppleVision | Off:
    if settings.ocr == "off":
        return Off("an image")
    mac = apple.built()
    if mac is not None:
        return AppleVision(mac, settings.ocr_languages, render.drawer())
    data_dir = settings.data_dir if settings.data_dir.is_dir() else None
    return Tesseract(installed.tesseract(data_dir), settings.ocr_languages)
