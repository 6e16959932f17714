"""The other views, and what holds for all: languages, themes, sizes, accessibility, recovery."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import axe, opened, until
from tests.ui.running import Console, running, start, sync

VIEWS = ("/", "/?q=budget", "/files", "/sync", "/health")
TRIES = 3
MANY_FILES = 5_000  # enough that a sync of them can be seen and cancelled on a busy machine
FEW_FILES = 200  # left for the sync that comes to its end


def rest(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_load_state("networkidle")


# --- sync ------------------------------------------------------------------------------------


@pytest.fixture
def unsynced(tmp_path: Path) -> Iterator[Console]:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(MANY_FILES):
        (docs / f"{number:05}.md").write_text(f"# Note {number}\n\n" + "some words here. " * 200)
    (docs / "broken.docx").write_bytes(b"PK\x03\x04 cut off")
    with running(docs, tmp_path / "state") as console:
        yield console


def test_an_empty_index_leads_to_a_sync_that_can_be_watched_and_cancelled_in_two_tabs(
    browser: Any, unsynced: Console
) -> None:
    with opened(browser, locale="en-US") as page:
        page.goto(unsynced.address)
        page.click(".empty a")
        page.click("#start")
        page.wait_for_selector("#now progress")
        until(page, "document.querySelector('#now-line').textContent.includes('%')")
        other = page.context.new_page()
        other.goto(unsynced.address + "/sync")
        other.wait_for_selector("#cancel")
        page.bring_to_front()  # a tab behind another may draw no frames, and a click awaits two
        page.click("#cancel")
        until(page, "!document.querySelector('#now progress')")
        assert page.text_content("#now-state") == "cancelled"
        until(other, "!document.querySelector('#now progress')")
        assert page.locator("#history tbody tr").count() == 1
        for number in range(FEW_FILES, MANY_FILES):
            (unsynced.docs / f"{number:05}.md").unlink()
        page.click("#start")
        until(page, "document.querySelector('#now-state').textContent === 'done'")
        page.wait_for_selector("#failures li")
        assert "broken.docx" in page.text_content("#failures")
        assert "damaged" in page.text_content("#failures")
        assert page.locator("#history tbody tr").count() == 2


def test_cancelling_what_has_ended_is_said_plainly(page: Any, console: Console) -> None:
    page.goto(console.address + "/sync")
    page.wait_for_selector("#start")
    told = page.evaluate(
        """async () => {
          const job = await ask('job');
          return (await change('cancel', {job_id: job.job_id})).status;
        }"""
    )
    assert told == "not_running"
    assert page.evaluate(f"t('cancel_{told}')") == "It had ended already"


def test_a_dry_run_says_what_would_change(page: Any, console: Console) -> None:
    new = console.docs / "new.md"
    new.write_text("a new file")
    try:
        page.goto(console.address + "/sync")
        page.click("#dry-run")
        page.wait_for_selector("#changes details")
        assert "new.md" in page.text_content("#changes")
    finally:
        new.unlink()


# --- files, health ---------------------------------------------------------------------------


def test_files_are_searched_sorted_and_unread_ones_come_first(page: Any, console: Console) -> None:
    page.goto(console.address + "/files")
    page.wait_for_selector("#list tbody tr")
    page.check("#unread")
    until(page, "document.querySelector('#list tbody tr').textContent.includes('broken.docx')")
    row = page.locator("#list tbody tr").first
    assert str(console.docs / "broken.docx") in row.text_content()
    assert "damaged" in row.text_content()
    page.fill("#q", "handbook")
    until(page, "document.querySelectorAll('#list tbody tr').length === 1")
    page.fill("#q", "")
    page.uncheck("#unread")
    page.click("th button:has-text('Size')")
    page.click("th button:has-text('Size')")
    page.wait_for_selector("th[aria-sort='descending']")
    assert "sort=size" in page.url


def test_health_speaks_in_sentences_with_remedies_and_plots(page: Any, console: Console) -> None:
    rest(page, console.address + "/health")
    told = page.text_content("main")
    for expected in (str(console.docs), "broken.docx", "Documents by type", "Thai", "Read here:"):
        assert expected in told
    assert page.locator(".note.warn", has_text="files without usable text").count() == 1
    assert "All is well" not in told
    assert page.locator("svg.plot").count() == 2
    assert "docx" in page.locator("svg.plot").first.get_attribute("aria-label")


def test_a_list_of_100_000_files_is_painted_within_a_second(browser: Any, tmp_path: Path) -> None:
    import sqlite3

    docs, state = tmp_path / "docs", tmp_path / "state"
    docs.mkdir()
    (docs / "one.md").write_text("words")
    sync(docs, state)
    with sqlite3.connect(state / "ragdoc.sqlite3") as db:
        db.executemany(
            "INSERT INTO document(folder, name, path, type, size, state, chunks)"
            " VALUES(?, ?, ?, 'md', ?, 'ready', 1)",
            (
                (b"f%d" % (n % 500), b"%06d.md" % n, f"f{n % 500}/{n:06}.md", n)
                for n in range(100_000)
            ),
        )
    db.close()
    with running(docs, state) as console, opened(browser, locale="en-US") as page:
        page.add_init_script(
            """new MutationObserver(() => {
              if (!window.painted && document.querySelector('#list tbody tr'))
                requestAnimationFrame(() => setTimeout(() => {
              window.painted ??= performance.now();
            }));
            }).observe(document, {childList: true, subtree: true});"""
        )
        painted = []
        for _ in range(TRIES):  # the machine may be busy with other things
            page.goto(console.address + "/files")
            until(page, "window.painted")
            painted.append(page.evaluate("window.painted"))
        assert min(painted) <= 1000
        assert "100,001" in page.text_content("#list")


# --- languages, themes, sizes, accessibility --------------------------------------------------


@pytest.mark.parametrize(
    ("locale", "word"), [("ko-KR", "검색"), ("th-TH", "ค้นหา"), ("de-DE", "Search")]
)
def test_the_page_speaks_the_browsers_language(
    browser: Any, console: Console, locale: str, word: str
) -> None:
    with opened(browser, locale=locale) as page:
        rest(page, console.address)
        assert page.text_content('nav [data-view="search"]') == word
        assert page.get_attribute("html", "lang") == (locale[:2] if locale[:2] != "de" else "en")


def test_language_and_theme_are_switched_and_remembered(page: Any, console: Console) -> None:
    rest(page, console.address)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.select_option("#language", "th")
    until(page, "document.documentElement.lang === 'th'")
    assert page.evaluate("parseFloat(getComputedStyle(document.body).lineHeight) / 16") >= 1.6
    page.select_option("#theme", "dark")
    page.reload()
    until(page, "document.documentElement.lang === 'th'")
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.select_option("#language", "ko")
    until(page, "document.documentElement.lang === 'ko'")
    assert page.evaluate("getComputedStyle(document.body).wordBreak") == "keep-all" or (
        page.evaluate("getComputedStyle(document.documentElement).wordBreak") == "keep-all"
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(browser: Any, console: Console, view: str, theme: str) -> None:
    script = axe()
    with opened(browser, locale="en-US", color_scheme=theme) as page:
        rest(page, console.address + view)
        page.evaluate(script)
        found = page.evaluate("axe.run()")
        told = [
            (broken["id"], [node["html"][:120] for node in broken["nodes"][:3]])
            for broken in found["violations"]
        ]
        assert told == []
        assert len(found["passes"]) > 10


def test_axe_finds_nothing_in_what_opens(page: Any, console: Console) -> None:
    rest(page, console.address + "/?q=leave")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".around.asked")
    page.locator(".hit").first.get_by_role("button", name="Details").click()
    page.evaluate(axe())
    assert page.evaluate("axe.run().then((found) => found.violations.map((one) => one.id))") == []
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    assert page.evaluate("axe.run().then((found) => found.violations.map((one) => one.id))") == []


@pytest.mark.parametrize(("width", "zoom"), [(360, 1), (640, 2)])
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_cut_off_on_a_phone_or_at_200_percent(
    browser: Any, console: Console, view: str, width: int, zoom: int
) -> None:
    size = {"width": width, "height": 740}
    with opened(browser, locale="ko-KR", viewport=size, device_scale_factor=zoom) as page:
        rest(page, console.address + view)
        assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0


def test_nothing_moves_where_that_is_not_wanted(browser: Any, console: Console) -> None:
    with opened(browser, locale="en-US", reduced_motion="reduce") as page:
        rest(page, console.address)
        moving = page.evaluate(
            "getComputedStyle(document.querySelector('nav a')).transitionDuration"
        )
        assert moving == "0s"


# --- weight and speed ------------------------------------------------------------------------


def test_the_first_paint_costs_at_most_60_kb(page: Any, console: Console) -> None:
    rest(page, console.address)
    transferred = page.evaluate(
        "['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))"
        ".reduce((sum, one) => sum + one.transferSize, 0)"
    )
    assert 5_000 < transferred <= 60_000


def test_an_answer_is_on_screen_within_100_ms_of_its_arrival(page: Any, console: Console) -> None:
    rest(page, console.address)
    page.evaluate(
        """new MutationObserver(() => {
          if (!window.painted && document.querySelector('.hit'))
            requestAnimationFrame(() => setTimeout(() => {
              window.painted ??= performance.now();
            }));
        }).observe(document, {childList: true, subtree: true})"""
    )
    taken = []
    for words in ("budget", "water", "paper")[:TRIES]:  # the machine may be busy
        page.evaluate("document.querySelectorAll('.hit').forEach((hit) => hit.remove())")
        page.evaluate("window.painted = null")
        page.fill("#q", words)
        page.press("#q", "Enter")
        until(page, "window.painted")
        arrived = page.evaluate(
            "performance.getEntriesByType('resource')"
            ".filter((one) => one.name.includes('/api/search')).at(-1).responseEnd"
        )
        taken.append(page.evaluate("window.painted") - arrived)
    assert min(taken) <= 100


# --- strangers, losses, recovery ---------------------------------------------------------------


class _Stranger(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>stranger</title><body></body>")

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def test_a_page_from_elsewhere_can_neither_read_nor_change_nor_frame(
    page: Any, console: Console
) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    jobs = len(console.json("/api/jobs")["jobs"])
    try:
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        for options in ("{}", "{method: 'POST', body: '{}'}", "{method: 'POST', mode: 'no-cors'}"):
            read = page.evaluate(
                f"fetch('{console.address}/api/sync', {options}).then(r => r.text(), () => '')"
            )
            assert read == ""
        read = page.evaluate(
            f"fetch('{console.address}/').then((reply) => reply.text(), () => 'refused')"
        )
        assert read == "refused"
        page.evaluate(
            f"""() => new Promise((done) => {{
              const frame = document.createElement('iframe');
              frame.src = '{console.address}/';
              frame.onload = done;
              document.body.append(frame);
            }})"""
        )
        assert page.frames[-1].evaluate("document.querySelector('#q')") is None
    finally:
        server.shutdown()
        server.server_close()
    assert len(console.json("/api/jobs")["jobs"]) == jobs


def test_a_page_with_a_token_of_an_earlier_start_changes_nothing(
    page: Any, console: Console
) -> None:
    jobs = len(console.json("/api/jobs")["jobs"])
    page.goto(console.address + "/sync")
    page.wait_for_selector("#start")
    page.evaluate("document.querySelector('meta[name=ragdoc-token]').content = 'earlier'")
    page.click("#start")
    page.wait_for_selector("#now .note.bad")
    assert "load it again" in page.text_content("#now .note.bad")
    assert len(console.json("/api/jobs")["jobs"]) == jobs


def test_the_page_says_that_the_server_stopped_and_recovers_with_the_new_token(
    browser: Any, tmp_path: Path
) -> None:
    docs, state = tmp_path / "docs", tmp_path / "state"
    docs.mkdir()
    (docs / "a.md").write_text("words about budgets")
    sync(docs, state)
    console = start(docs, state)
    try:
        with opened(browser, locale="en-US") as page:
            page.goto(console.address + "/?q=budgets")
            page.wait_for_selector(".hit")
            console.stop()
            page.fill("#q", "words")
            page.press("#q", "Enter")
            page.wait_for_selector("#banner .note.bad")
            assert "does not answer" in page.text_content("#banner")
            console = start(docs, state, console.port)
            until(page, "!document.querySelector('#banner .note.bad')")
            page.wait_for_selector(".hit")
            page.click("nav a[data-view=sync]")
            page.click("#start")
            until(page, "document.querySelectorAll('#history tbody tr').length === 2")
    finally:
        console.stop()


def test_a_data_directory_that_is_removed_meanwhile_is_said(browser: Any, tmp_path: Path) -> None:
    docs, state = tmp_path / "docs", tmp_path / "state"
    docs.mkdir()
    (docs / "a.md").write_text("words about budgets")
    sync(docs, state)
    with running(docs, state) as console, opened(browser, locale="en-US") as page:
        page.goto(console.address + "/?q=budgets")
        page.wait_for_selector(".hit")
        shutil.rmtree(state)
        page.fill("#q", "words")
        page.press("#q", "Enter")
        page.wait_for_selector("#results .empty, #results .note.bad")
        page.click("nav a[data-view=health]")
        page.wait_for_selector(".note.bad")
        page.click("nav a[data-view=sync]")
        page.click("#start")
        until(page, "document.querySelector('#now-state').textContent === 'done'")
