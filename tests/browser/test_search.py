"""Searching in a browser: three languages, filters, keys, originals, hostile text."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.conftest import HOSTILE, until
from tests.ui.running import Console

DELAYED_MS = 400  # by which one answer is held back so that a later question overtakes it


def search(page: Any, console: Console, words: str) -> None:
    page.goto(console.address)
    page.fill("#q", words)
    page.press("#q", "Enter")
    page.wait_for_selector(".hit")


@pytest.mark.parametrize(
    ("words", "path", "language"),
    [
        ("paid leave of a new employee", "employee-handbook.docx", "en"),
        ("출장비 정산", "출장비 규정.pdf", "ko"),
        ("ลาป่วย", "", "th"),
    ],
)
def test_a_question_in_each_language_brings_marked_passages(
    page: Any, console: Console, words: str, path: str, language: str
) -> None:
    search(page, console, words)
    first = page.locator(".hit").first
    assert first.locator("mark").count() > 0
    assert (first.locator(".passage").first.get_attribute("lang") or "") == language
    assert path in first.locator(".path").first.text_content()
    assert first.locator(".chip.place").text_content()
    assert "words" in first.text_content()
    assert parse_qs(urlsplit(page.url).query)["q"] == [words]


def test_a_search_is_kept_in_its_address(page: Any, console: Console) -> None:
    page.goto(f"{console.address}/?q=budget&type=md")
    page.wait_for_selector(".hit")
    assert page.input_value("#q") == "budget"
    page.fill("#q", "leave")
    page.press("#q", "Enter")
    until(page, "!document.querySelector('#results.busy')")
    page.go_back()
    page.wait_for_selector(".hit")
    assert page.input_value("#q") == "budget"


def test_filters_narrow_by_type_folder_and_date(page: Any, console: Console) -> None:
    search(page, console, "budget")
    until(page, "document.querySelectorAll('#type option').length > 1")
    page.select_option("#folder", "sub [1]")
    until(page, "document.querySelectorAll('.hit').length === 1")
    assert "sub [1]/budget.md" in page.locator(".hit .path").first.text_content()
    page.select_option("#folder", "")
    page.select_option("#type", "docx")
    until(
        page,
        "!document.querySelector('#results.busy') && ![...document.querySelectorAll('.hit .path')]"
        ".some((path) => !path.textContent.endsWith('.docx'))",
    )
    page.fill("#after", "2099-01-01")
    page.wait_for_selector(".empty")
    assert "filters" in page.text_content(".empty")
    assert "after=2099-01-01" in page.url


def test_the_way_of_finding_can_be_chosen_and_its_absence_is_said(
    page: Any, console: Console
) -> None:
    search(page, console, "budget")
    assert page.locator(".note.warn", has_text="search by meaning did not run").count() == 1
    page.select_option("#mode", "lexical")
    until(page, "!document.querySelector('.note.warn')")
    page.select_option("#mode", "semantic")
    page.wait_for_selector(".note.bad")
    assert "semantic" in page.text_content(".note.bad")


def test_everything_can_be_done_from_the_keyboard(page: Any, console: Console) -> None:
    page.goto(f"{console.address}/?q=leave")
    page.wait_for_selector(".hit")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.locator('.hit[aria-current="true"]').get_attribute("data-index") == "0"
    page.keyboard.press("j")
    assert page.locator('.hit[aria-current="true"]').get_attribute("data-index") == "1"
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector(".around.asked")
    assert page.locator(".around").count() >= 2
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.around').offsetParent === null")
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('#keys[open]')")
    with page.context.expect_event("request", lambda one: "/original?chunk=" in one.url):
        page.keyboard.press("o")
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_selector("#list table")


def test_no_key_acts_while_an_input_method_is_composing(page: Any, console: Console) -> None:
    page.goto(f"{console.address}/?q=leave")
    page.wait_for_selector(".hit")
    page.evaluate("document.activeElement.blur()")
    for key in ("j", "?", "/"):
        page.evaluate(
            "(key) => dispatchEvent(new KeyboardEvent('keydown', {key, isComposing: true}))", key
        )
    assert page.locator('.hit[aria-current="true"]').count() == 0
    assert page.locator("#keys[open]").count() == 0
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate(
        """() => {
          const field = document.getElementById('q');
          field.value = 'ㅎ';
          field.dispatchEvent(new InputEvent('input', {isComposing: true, bubbles: true}));
        }"""
    )
    page.wait_for_timeout(600)  # longer than the pause after which typing asks
    assert not [url for url in asked if "/api/search" in url]


def test_the_later_question_wins_whatever_answer_comes_first(page: Any, console: Console) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        if "q=budget" in route.request.url:
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/search?*", hold)
    page.goto(f"{console.address}/?q=budget")
    until(page, "document.querySelector('#results[aria-busy]')")
    page.fill("#q", "leave")
    page.press("#q", "Enter")
    page.wait_for_selector(".hit")
    for route in held:
        route.abort()
    page.wait_for_timeout(100)
    assert "q=leave" in page.url
    assert page.locator(".hit mark", has_text=re.compile("leave", re.I)).count() > 0
    assert page.locator(".note.bad").count() == 0


def test_a_pdf_opens_at_its_page(page: Any, console: Console) -> None:
    search(page, console, "출장비 정산 기한")
    link = page.locator('.hit:has(.path:text(".pdf")) a.open').first
    address = link.get_attribute("href")
    assert re.fullmatch(r"/original\?chunk=[a-z2-7]{16}#page=\d+", address)
    reply = page.request.get(console.address + address.partition("#")[0])
    assert reply.headers["content-type"] == "application/pdf"
    assert reply.headers["content-disposition"].startswith("inline")
    with page.context.expect_page() as opening:
        link.click()
    assert opening.value.url in (console.address + address, "about:blank")


def test_hostile_names_and_bodies_stay_text(page: Any, console: Console) -> None:
    spoken: list[Any] = []
    page.on("dialog", lambda dialog: spoken.append(dialog.message) or dialog.dismiss())  # type: ignore[func-returns-value]
    search(page, console, "hostile budget")
    hit = page.locator(".hit", has_text=HOSTILE)
    assert hit.count() == 1
    shown = hit.locator(".passage").first
    assert "<script>window.pwned=1</script>" in shown.text_content()
    assert shown.locator("script, b").count() == 0
    assert [text for text in hit.locator(".control").all_text_contents() if text] == [
        "U+202E",
        "U+202C",
        "U+0007",
    ]
    for view in ("/files", "/health", "/sync"):
        page.goto(console.address + view)
        page.wait_for_load_state("networkidle")
    assert (page.evaluate("window.pwned"), spoken) == (None, [])


def test_paging_goes_on_where_the_page_before_ended(page: Any, console: Console) -> None:
    search(page, console, "the")
    first = page.locator(".hit .path").first.text_content()
    if page.locator("nav button", has_text="Next").count():
        page.click("nav button:has-text('Next')")
        until(page, "location.search.includes('page=2')")
        page.wait_for_selector("ol[start='11'] .hit")
        assert page.locator(".hit .path").first.text_content() != "" != first


def test_details_tell_score_and_place_on_this_machine(page: Any, console: Console) -> None:
    search(page, console, "paid leave")
    hit = page.locator(".hit").first
    assert not hit.get_by_text(str(console.docs)).is_visible()
    hit.get_by_role("button", name="Details").click()
    assert hit.get_by_text(str(console.docs)).is_visible()
    assert "Score: 0." in hit.text_content() or "Score: " in hit.text_content()


def test_a_citation_is_copied_with_its_place(browser: Any, console: Console) -> None:
    context = browser.new_context(locale="en-US", permissions=["clipboard-read", "clipboard-write"])
    try:
        page = context.new_page()
        search(page, console, "paid leave of a new employee")
        page.locator(".hit").first.get_by_role("button", name="Copy citation").click()
        page.wait_for_selector("button:has-text('Copied')")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert "Paid leave" in copied
        assert "(employee-handbook.docx)" in copied
    finally:
        context.close()


def test_a_card_shows_the_passage_from_shortly_before_the_first_mark(
    page: Any, console: Console
) -> None:
    page.goto(console.address)
    page.wait_for_selector("nav a[aria-current]")
    told = page.evaluate(
        """() => {
          const text = 'x'.repeat(50) + '\\n\\n' + 'lines of no interest. '.repeat(30) + '𝄞 here';
          const at = Array.from(text).length - 4;
          return h('p', {}, excerpt(text, [[at, at + 4]])).innerHTML;
        }"""
    )
    assert told.startswith("… ")
    assert told.endswith("𝄞 <mark>here</mark>")
    assert len(told) < 250
    short = page.evaluate("h('p', {}, excerpt('a\\n\\n\\nb here', [[6, 10]])).innerHTML")
    assert short == "a\nb <mark>here</mark>"
