"""What is on screen in states that are hard to bring about: the server's answers are changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

from tests.browser.conftest import BROWSERS, until
from tests.ui.running import Console

JOB: dict[str, Any] = {
    "job_id": "20300101T000000000Z-abcdef",
    "kb_id": "default",
    "status": "running",
    "phase": "files",
    "progress_percent": 41,
    "current_file": "sub/บันทึก.docx",
    "completed_files": 1234,
    "total_files": 3000,
    "semantic_done": 7,
    "semantic_total": 9,
    "eta_s": 130,
    **dict.fromkeys(("added", "updated", "unchanged", "deleted", "failed", "skipped"), 0),
    "failures": [],
    "cancel_requested": False,
    "error": None,
    "started_at": "2030-01-01T00:00:00Z",
    "updated_at": "2030-01-01T00:01:00Z",
    "finished_at": None,
    "poll_after_s": 1,
}


def changed(page: Any, name: str, change: Callable[[Any], Any]) -> None:
    """Let the page see /api/`name` as `change` makes it of the server's answer."""

    def answer(route: Any) -> None:
        route.fulfill(json=change(route.fetch().json()))

    page.route(f"**/api/{name}?*", answer)


def partly_embedded(answer: Any) -> Any:
    answer["legs"]["semantic"] = {"ran": True, "hits": 1, "ms": 3.2}
    answer["index"]["embedded_fraction"] = 0.419
    return answer


def test_an_index_that_is_embedded_in_part_is_said(page: Any, console: Console) -> None:
    changed(page, "search", partly_embedded)
    page.goto(f"{console.address}/?q=leave")
    page.wait_for_selector(".hit")
    assert "41 % of the passages can be found by meaning" in page.text_content("#results")
    assert "did not run" not in page.text_content("#results")


def test_a_leg_that_was_not_wanted_is_no_warning(page: Any, console: Console) -> None:
    def unwanted(answer: Any) -> Any:
        answer["legs"]["semantic"] = {"ran": False, "hits": 0, "ms": 0, "reason": "not asked"}
        return answer

    changed(page, "search", unwanted)
    page.goto(f"{console.address}/?q=leave&mode=lexical")
    page.wait_for_selector(".hit")
    assert page.locator(".note.warn").count() == 0
    page.goto(f"{console.address}/?q=leave")
    page.wait_for_selector(".note.warn")
    assert "not asked" in page.text_content(".note.warn")


def test_a_first_page_is_asked_from_its_start_and_a_third_from_its_own(
    page: Any, console: Console
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{console.address}/?q=the&page=3")
    page.wait_for_selector("#results > *")
    until(page, "!document.querySelector('#results.busy')")
    assert [url for url in asked if "/api/search" in url and "offset=20" in url]


def test_while_a_first_sync_runs_the_search_says_what_is_ready(page: Any, console: Console) -> None:
    changed(page, "status", lambda base: {**base, "status": "syncing", "documents": 3})
    page.goto(console.address)
    page.wait_for_selector("#results p")
    assert "A sync is running" in page.text_content("#results")


def test_a_sync_that_runs_is_said_on_every_view_with_a_way_to_it(
    page: Any, console: Console
) -> None:
    changed(page, "status", lambda base: {**base, "job": JOB})
    page.goto(f"{console.address}/files")
    page.wait_for_selector("#banner a")
    assert page.text_content("#banner") == "A sync is running: 41 %"
    page.click("#banner a")
    page.wait_for_selector("#now")
    assert page.text_content("#banner") == ""


def test_a_running_sync_tells_progress_time_left_and_the_file_at_hand(
    page: Any, console: Console
) -> None:
    changed(page, "job", lambda _: JOB)
    page.goto(f"{console.address}/sync")
    page.wait_for_selector("#now progress")
    line = page.text_content("#now-line")
    for expected in ("41 %", "reading files", "1,234 of 3,000 files", "about 2 min left"):
        assert expected in line
    assert page.text_content("#now-file") == "sub/บันทึก.docx"
    assert page.evaluate("document.querySelector('#now progress').value") == 41


def test_meanings_that_are_learnt_are_counted_and_a_cancel_under_way_is_said(
    page: Any, console: Console
) -> None:
    changed(page, "job", lambda _: {**JOB, "phase": "semantic", "cancel_requested": True})
    page.goto(f"{console.address}/sync")
    page.wait_for_selector("#now progress")
    assert "7 of 9 passages" in page.text_content("#now-line")
    assert page.text_content("#cancel") == "Cancelling …"


def test_a_sync_that_failed_says_why(page: Any, console: Console) -> None:
    changed(page, "job", lambda _: {**JOB, "status": "failed", "error": "the disk is full"})
    page.goto(f"{console.address}/sync")
    page.wait_for_selector("#start")
    assert page.text_content("#now-file") == "the disk is full"
    assert page.text_content("#now-state") == "failed"


def test_health_tells_everything_it_is_told(page: Any, console: Console) -> None:
    def troubled(health: Any) -> Any:
        health["semantic"] |= {"fingerprint": "f00d", "reason": "No model is installed"}
        health["ocr"] = {
            **{"engine": "tesseract 5.3", "languages": ["tha", "kor"], "vision_model": "gemma"},
            **{"reason": "one language is missing", "sound": "whisper tiny"},
        }
        waiting = {"job_id": "later-1", "kb_id": "default", "position": 1, "deferred": True}
        health["queue"] = [{**waiting, "last_error": "it was locked"}]
        health["problems"] = [{"code": "disk_full", "what": "No room", "remedy": "Make some"}]
        health["unread_total"] = 900
        health["formats"]["pdf"] = "missing: pip install pypdf"
        return health

    changed(page, "health", troubled)
    page.goto(f"{console.address}/health")
    page.wait_for_selector("h2")
    told = page.text_content("main")
    for expected in (
        *("f00d", "No model is installed", "tesseract 5.3, for: tha, kor", "Corrected by gemma"),
        *("one language is missing", "transcribed by whisper tiny", "later-1 is put off"),
        *("it was locked", "No room. Make some", "and 898 more", "pdf: missing: pip install pypdf"),
        *("Knowledge base default", "900 files without usable text", str(console.state)),
    ):
        assert expected in told, expected


def test_a_link_opened_elsewhere_leaves_the_page_as_it_is(page: Any, console: Console) -> None:
    page.goto(f"{console.address}/?q=leave")
    page.wait_for_selector(".hit")
    with page.context.expect_page() as other:
        page.click('nav a[data-view="files"]', modifiers=["Control"])
    assert other.value.url.endswith("/files")
    assert "q=leave" in page.url


def test_a_pdf_is_shown_by_the_browsers_own_viewer(browser: Any, console: Console) -> None:
    """The policy of originals forbids nothing that the viewer needs, which only the full browser
    has."""
    whole = browser.browser_type.launch(
        executable_path=next(filter(None, map(shutil.which, BROWSERS))),
        headless=False,
        args=["--no-sandbox", "--headless=new"],
    )
    try:
        page = whole.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        number = console.json("/api/files?type=pdf")["documents"][0]["id"]
        page.goto(f"{console.address}/original?document={number}#page=2")
        until(page, "document.contentType === 'application/pdf'")
        page.wait_for_timeout(500)
        assert [text for text in said if "Refused" in text] == []
        assert page.url.endswith("#page=2")
    finally:
        whole.close()
