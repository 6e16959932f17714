"""A console and a real headless Chromium in front of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.running import ROOT, Console, running, sync

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
HOSTILE = "<img src=x onerror=window.pwned=1>.md"
BODY = "hostile \u202etxet\u202c <script>window.pwned=1</script> <b onclick=x>budget</b> \x07 end"


@pytest.fixture(scope="package")  # no longer: it idles at a tenth of a core
def browser() -> Iterator[Any]:
    """Chromium, headless. Skips, saying so, where there is none or Playwright is missing."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium is installed (Debian: chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console over the example documents, hostile names and bodies, and broken files."""
    folder = tmp_path_factory.mktemp("browser")
    docs = folder / "docs"
    shutil.copytree(ROOT / "docs" / "examples", docs)
    (docs / "sub [1]").mkdir()
    (docs / "sub [1]" / "budget.md").write_text("# Sub\n\nthe budget of the folder\n")
    (docs / HOSTILE).write_text(BODY)
    (docs / "broken.docx").write_bytes(b"PK\x03\x04 cut off")
    (docs / "empty.md").touch()
    sync(docs, folder / "state")
    with running(docs, folder / "state") as started:
        yield started


@pytest.fixture
def page(browser: Any, console: Console) -> Iterator[Any]:
    """A new page of an English browser; an error in the page's script fails the test."""
    with opened(browser, locale="en-US") as found:
        yield found


class opened:
    """A page in a context of its own; leaving it fails where its script had an error."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self._context = browser.new_context(**options)
        self.errors: list[str] = []

    def __enter__(self) -> Any:
        page = self._context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        return page

    def __exit__(self, kind: Any, *_: object) -> None:
        self._context.close()
        if kind is None:
            assert self.errors == []


def until(page: Any, expression: str, seconds: float = 15) -> None:
    """Wait until a JavaScript expression holds. Playwright's own way evaluates it as a string
    inside the page, which the page's policy forbids, as it should."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never: {expression}"
        page.wait_for_timeout(20)


def axe() -> str:
    """The script of axe-core that the tests' requirements bring."""
    found = pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python")
    return (Path(found.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
