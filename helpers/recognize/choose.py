"""Which engine reads what in this installation, as the launch settings want it.

Promises: the one place that decides; asking costs a few stats where nothing changed.
Does not: recognise anything.
"""

from __future__ import annotations

import os
from typing import Any

from helpers.config import Settings
from helpers.errors import Unread
from helpers.recognition import FAMILIES
from helpers.recognize import installed
from helpers.recognize.engine import Engine
from helpers.recognize.recogniser import Recogniser
from helpers.recognize.tesseract import Tesseract, install

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
        return {"engine": None, "languages": [], "vision_model": None, "reason": "off"}, []
    refusal = engine.refusal
    value: dict[str, Any] = {
        "engine": engine.name if refusal is None else None,
        "languages": list(engine.languages),
        "vision_model": None,
    }
    problems = []
    if engine.found is not None and refusal is not None:
        problems.append({"code": "ocr_broken", "what": refusal.reason, "remedy": refusal.remedy})
    elif refusal is None and engine.wanted and engine.missing:
        what = f"Tesseract has no language data for {', '.join(engine.missing)}"
        remedy = install(engine.missing)
        problems.append({"code": "ocr_language_missing", "what": what, "remedy": remedy})
    return value, problems


class Off:
    """Stands where recognition is switched off."""

    name, fingerprint = "off", "off"

    def __init__(self, what: str) -> None:
        self.refusal = Unread("no_text", f"its text stands in {what} and OCR is switched off", OFF)

    def recognise(self, task: Any) -> Any:
        raise self.refusal


def _engine(settings: Settings, family: str) -> Engine | None:
    return _picture(settings) if family == "picture" else None


def _picture(settings: Settings) -> Tesseract | Off:
    if settings.ocr == "off":
        return Off("an image")
    data_dir = settings.data_dir if settings.data_dir.is_dir() else None
    return Tesseract(installed.tesseract(data_dir), settings.ocr_languages)
