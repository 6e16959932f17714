"""What makes it pleasant: own keyboards and languages, places, remedies, ways back."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from typing import Any

import pytest

from tests.browser.conftest import opened, until
from tests.ui.running import ROOT, Console, command, running, sync

KEYS = {  # what these keys type on the layouts of Windows
    "th": {"j": ("่", "KeyJ"), "?": ("ฦ", "Slash"), "/": ("ฝ", "Slash"), "g": ("เ", "KeyG"),
           "f": ("ด", "KeyF")},
    "ko": {"j": ("ㅓ", "KeyJ"), "?": ("?", "Slash"), "/": ("/", "Slash"), "g": ("ㅎ", "KeyG"),
           "f": ("ㄹ", "KeyF")},
}  # fmt: skip


def at(page: Any, address: str, wanted: str) -> None:
    page.goto(address)
    page.wait_for_selector(wanted)


def press(page: Any, layout: str, key: str) -> None:
    typed, code = KEYS[layout][key]
    page.evaluate(
        "([key, code, shiftKey]) => (document.activeElement ?? document.body).dispatchEvent("
        "new KeyboardEvent('keydown', {key, code, shiftKey, bubbles: true, cancelable: true}))",
        [typed, code, key == "?"],
    )


@pytest.mark.parametrize("layout", ["th", "ko"])
def test_keys_work_on_keyboards_that_type_other_letters(
    page: Any, console: Console, layout: str
) -> None:
    at(page, f"{console.address}/?q=leave", ".hit")
    page.evaluate("document.activeElement.blur()")
    press(page, layout, "j")
    assert page.locator('.hit[aria-current="true"]').get_attribute("data-index") == "0"
    press(page, layout, "?")
    page.wait_for_selector("#keys[open]")
    page.keyboard.press("Escape")
    press(page, layout, "/")
    until(page, "document.activeElement.id === 'q'")
    page.evaluate("document.activeElement.blur()")
    press(page, layout, "g")
    press(page, layout, "f")
    page.wait_for_selector("#list table")


def test_a_key_with_control_or_in_a_field_is_the_browsers(page: Any, console: Console) -> None:
    at(page, f"{console.address}/?q=leave", ".hit")
    page.focus("#q")
    page.keyboard.type("?jk")
    assert page.input_value("#q") == "leave?jk"
    assert page.locator("#keys[open]").count() == 0
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Control+j")
    page.keyboard.press("Alt+k")
    assert page.locator('.hit[aria-current="true"]').count() == 0


@pytest.mark.parametrize("view", ["/health", "/sync"])
def test_slash_leads_to_the_search_field_from_every_view(
    page: Any, console: Console, view: str
) -> None:
    at(page, console.address + view, "h1")
    page.keyboard.press("/")
    until(page, "document.activeElement.id === 'q' && location.pathname === '/'")


def test_what_is_read_around_stands_in_place_of_the_passage(page: Any, console: Console) -> None:
    at(page, f"{console.address}/?q=leave", ".hit")
    hit = page.locator(".hit").first
    assert hit.locator(".passage.short").is_visible()
    hit.get_by_role("button", name="Read around").click()
    page.wait_for_selector(".around.asked")
    assert not hit.locator(".passage.short").is_visible()
    hit.get_by_role("button", name="Close").click()
    assert hit.locator(".passage.short").is_visible()


def test_a_button_says_for_a_moment_that_it_copied(browser: Any, console: Console) -> None:
    with opened(browser, locale="en-US", permissions=["clipboard-write"]) as page:
        at(page, f"{console.address}/?q=leave", ".hit")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("j")
        page.keyboard.press("c")
        until(page, "document.querySelector('button.cite').textContent === 'Copied'")
        until(page, "document.querySelector('button.cite').textContent === 'Copy citation'")


def test_the_question_is_the_title_of_its_tab(page: Any, console: Console) -> None:
    at(page, f"{console.address}/?q=paid+leave", ".hit")
    assert page.title() == "paid leave · RagDoc"
    page.click('nav a[data-view="files"]')
    assert page.title() == "Files · RagDoc"


@pytest.mark.parametrize(
    ("locale", "advice"), [("ko-KR", "파일이 손상되었습니다"), ("th-TH", "ไฟล์เสียหาย")]
)
def test_remedies_are_in_the_pages_language_with_the_servers_own_words_beside(
    browser: Any, console: Console, locale: str, advice: str
) -> None:
    with opened(browser, locale=locale) as page:
        for view in ("/files?unread=first", "/health", "/sync"):
            page.goto(console.address + view)
            page.wait_for_selector(f"main :text('{advice}')")
            beside = page.locator(".original", has_text="Damaged Word document")
            assert beside.count() == 1
            assert beside.get_attribute("lang") == "en"
        page.goto(f"{console.address}/?q=leave&mode=semantic")
        page.wait_for_selector(".note.bad strong")
        assert not page.text_content(".note.bad strong").isascii()


@pytest.mark.parametrize(
    ("locale", "label", "told"),
    [
        ("ko-KR", {"kind": "page", "label": "p. 3"}, "3쪽"),
        ("ko-KR", {"kind": "sheet", "label": "rows rows 1–9"}, "rows 1–9행"),
        ("th-TH", {"kind": "slide", "label": "slide 2 notes"}, "สไลด์ 2 (บันทึกย่อ)"),
        ("th-TH", {"kind": "line", "label": "lines 1–14"}, "บรรทัด 1–14"),
        ("ko-KR", {"kind": "part", "label": "attachment a.pdf, p. 2"}, "첨부 a.pdf, 2쪽"),
        ("ko-KR", {"kind": "time", "label": "1:02–1:58"}, "1:02–1:58"),
        ("ko-KR", {"kind": "section", "label": "2. Timeline 3"}, "2. Timeline 3"),
        ("en-US", {"kind": "page", "label": "p. 3"}, "p. 3"),
    ],
)
def test_places_are_told_in_the_pages_language(
    browser: Any, console: Console, locale: str, label: dict[str, Any], told: str
) -> None:
    with opened(browser, locale=locale) as page:
        at(page, console.address, "nav a[aria-current]")
        assert page.evaluate("(location) => placed(location)", label) == told


def test_a_recording_opens_at_its_second_and_a_citation_needs_no_place(
    page: Any, console: Console
) -> None:
    at(page, console.address, "nav a[aria-current]")
    said = {"chunk_id": "a", "path": "talk.mp3", "location": {"kind": "time", "time": 62}}
    address = page.evaluate("(result) => originalOf(result)", said)
    assert address == "/original?chunk=a#t=62"
    assert page.evaluate("(result) => citation(result)", said) == "talk.mp3 (talk.mp3)"


def test_a_passage_has_the_language_it_is_written_in(browser: Any, console: Console) -> None:
    with opened(browser, locale="ko-KR") as page:
        at(page, f"{console.address}/?q=paid+leave+of+a+new+employee", ".hit")
        assert page.locator(".hit .passage").first.get_attribute("lang") == "en"


def test_an_original_that_is_gone_is_said_by_the_page(browser: Any, console: Console) -> None:
    with opened(browser, locale="ko-KR") as page:
        at(page, f"{console.address}/original?document=99999", ".note.bad")
        assert "이 문서는 이제 없습니다" in page.text_content(".note.bad")
        page.click("main a.button")
        until(page, "document.activeElement.id === 'q'")


def test_an_earlier_sync_opens_with_its_failures(page: Any, console: Console) -> None:
    at(page, f"{console.address}/sync", "#history tbody button")
    page.locator("#history tbody button").first.click()
    page.wait_for_selector("#past-job .card")
    assert "broken.docx" in page.text_content("#past-job")
    assert "added" in page.text_content("#past-job")


def test_a_page_of_the_list_that_is_no_more_gives_the_first(page: Any, console: Console) -> None:
    at(page, f"{console.address}/files?offset=5000", "#list tbody tr")
    assert page.text_content("#list p").startswith("1 to ")
    assert "offset" not in page.url


def test_a_problem_is_said_in_sentences_whatever_it_holds(browser: Any, console: Console) -> None:
    """Reasons and remedies may repeat what a document holds."""
    error = {
        "code": "corrupt_index",
        "what": "<b>It\u202e is",
        "remedy": "<script>alert(1)</script>",
    }
    for locale in ("en-US", "th-TH"):
        with opened(browser, locale=locale) as page:
            page.route("**/api/files*", lambda route: route.fulfill(
                status=503, content_type="application/json", body=json.dumps({"error": error})
            ))  # fmt: skip
            at(page, f"{console.address}/files", ".note.bad")
            assert page.locator(".note.bad b, .note.bad script").count() == 0
            assert "<b>ItU+202E is. <script>" in page.text_content(".note.bad")


def test_hostile_facts_of_every_answer_stay_text(page: Any, console: Console) -> None:
    """Types, notices, labels, reasons and names as if a document or a reader had forged them."""
    evil = "\u202e<img src=x onerror=window.pwned=1>"

    def forged(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: forged(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [forged(inner) for inner in value]
        return value + evil if isinstance(value, str) and not value[:4].isdigit() else value

    def forge(route: Any) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, json=forged(reply.json()))

    page.route("**/api/*", forge)
    for view in ("/?q=budget", "/files?unread=first", "/sync", "/health"):
        page.goto(console.address + view)
        page.wait_for_load_state("networkidle")
        assert page.locator("main .control").count() > 0, view
        assert page.locator("main img").count() == 0
    assert page.evaluate("window.pwned") is None


def test_a_sync_that_another_door_started_is_shown_and_can_be_cancelled(
    browser: Any, tmp_path: Any
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(6_000):
        (docs / f"{number:05}.md").write_text("some words here. " * 200)
    with running(docs, tmp_path / "state") as console, opened(browser, locale="en-US") as page:
        at(page, f"{console.address}/sync", "#start")
        words = command(docs, tmp_path / "state", "--quiet")[3:]
        other = subprocess.Popen(
            [sys.executable, str(ROOT / "rag_sync.py"), *words], stderr=subprocess.DEVNULL
        )
        page.wait_for_selector("#cancel", timeout=30_000)
        until(page, r"/\d %/.test(document.querySelector('#now-line').textContent)")
        page.click("#cancel")
        until(page, "!document.querySelector('#now progress')", 30)
        assert page.text_content("#now-state") == "cancelled"
        assert other.wait(timeout=60) != 0


@pytest.mark.parametrize("view", ["/?q=leave", "/files?unread=first", "/sync", "/health"])
def test_thai_has_room_for_its_marks(browser: Any, console: Console, view: str) -> None:
    with opened(browser, locale="th-TH") as page:
        page.goto(console.address + view)
        page.wait_for_load_state("networkidle")
        tight = page.evaluate(
            """() => [...document.querySelectorAll('main *, nav *')]
              .filter((one) => [...one.childNodes].some((node) =>
                node.nodeType === 3 && /[\u0e00-\u0e7f]/.test(node.data)))
              .filter((one) => !one.closest('select, svg') && one.checkVisibility())
              .map((one) => [one, getComputedStyle(one)])
              .filter(([, style]) =>
                parseFloat(style.lineHeight) < 1.6 * parseFloat(style.fontSize))
              .map(([one]) => one.outerHTML.slice(0, 90))"""
        )
        assert tight == []


def test_passages_recognised_in_images_say_so(browser: Any, tmp_path: Any) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "scan.md").write_text("words about budgets")
    sync(docs, tmp_path / "state")
    with sqlite3.connect(tmp_path / "state" / "ragdoc.sqlite3") as db:
        db.execute("UPDATE chunk SET ocr = 1")
    db.close()
    with running(docs, tmp_path / "state") as console, opened(browser, locale="en-US") as page:
        at(page, f"{console.address}/?q=budgets", ".hit")
        assert page.locator(".hit .chip", has_text="read from an image").count() == 1
        page.get_by_role("button", name="Read around").click()
        page.wait_for_selector(".around.asked")
        assert "read from an image" in page.text_content(".around")
