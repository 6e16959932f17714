"""Make docs/screenshots/: the four views over the example documents, in a headless Chromium.

    python -m tests.browser.screenshots

Needs Chromium and the packages of tests/requirements.txt; by meaning too where a model is
installed.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.browser.conftest import BROWSERS
from tests.ui.running import ROOT, running, sync

PICTURES = ROOT / "docs" / "screenshots"
SHOTS = (
    ("search", "/?q=출장비+정산+기한", "ko-KR", "light"),
    ("files", "/files?unread=first", "en-US", "light"),
    ("sync", "/sync", "th-TH", "light"),
    ("health", "/health", "en-US", "dark"),
)
SIZE = {"width": 1100, "height": 820}


def main() -> int:
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)))
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        docs, state = Path(folder) / "Documents", Path(folder) / "state"
        shutil.copytree(ROOT / "docs" / "examples", docs)
        (docs / "scan-of-a-contract.docx").write_bytes(b"PK\x03\x04 cut off")
        sync(docs, state)
        with running(docs, state) as console, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
            for name, path, locale, theme in SHOTS:
                _shoot(browser, console.address + path, PICTURES / f"{name}.png", locale, theme)
            browser.close()
    return 0


def _shoot(browser: Any, address: str, target: Path, locale: str, theme: str) -> None:
    context = browser.new_context(viewport=SIZE, locale=locale, color_scheme=theme)
    page = context.new_page()
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=target)
    context.close()


if __name__ == "__main__":
    raise SystemExit(main())
