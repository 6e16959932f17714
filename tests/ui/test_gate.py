"""Who may ask the console for what: every combination of head fields, by rule."""

from __future__ import annotations

from itertools import product

import pytest

from ui.gate import Asked, hosts, refusal

PORT = 8769
TOKEN = "the-token-of-this-start"
OWN = f"127.0.0.1:{PORT}"
HOSTS = (OWN, f"localhost:{PORT}", "evil.example", f"evil.example:{PORT}", "127.0.0.1", None)
ORIGINS = (f"http://{OWN}", "http://evil.example", "null", f"https://{OWN}", None)
SITES = ("same-origin", "none", "same-site", "cross-site", None)
METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS")
TOKENS = (TOKEN, "of-an-earlier-start", None)
COMBINATIONS = list(product(METHODS, HOSTS, ORIGINS, SITES, TOKENS))


def asked(
    method: str, host: str | None, origin: str | None, site: str | None, token: str | None
) -> Asked:
    return Asked(method, host, origin, site, token, "application/json")


def test_2250_combinations_foreign_hosts_read_nothing_and_only_our_page_changes() -> None:
    assert len(COMBINATIONS) == 2250
    for method, host, origin, site, token in COMBINATIONS:
        let_in = refusal(asked(method, host, origin, site, token), PORT, TOKEN) is None
        own_origin = origin == f"http://{host}"
        if host not in hosts(PORT) or method in ("PUT", "DELETE", "OPTIONS"):
            expected = False
        elif method == "POST":
            expected = own_origin and site in ("same-origin", None) and token == TOKEN
        else:
            expected = (origin is None or own_origin) and site in ("same-origin", "none", None)
        assert let_in == expected, (method, host, origin, site, token)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"method": "PUT"}, 405),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": None}, 403),
        ({"token": "guess"}, 403),
        ({"token": ""}, 403),
        ({"token": "ก"}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": None}, 415),
        ({"fetch_site": "cross-site"}, 403),
    ],
)
def test_a_refusal_has_a_status_and_a_sentence(changed: dict[str, str], status: int) -> None:
    head = {
        "method": "POST",
        "host": OWN,
        "origin": f"http://{OWN}",
        "fetch_site": "same-origin",
        "token": TOKEN,
        "content_type": "application/json; charset=utf-8",
    }
    assert refusal(Asked(**head), PORT, TOKEN) is None  # type: ignore[arg-type]
    found = refusal(Asked(**{**head, **changed}), PORT, TOKEN)  # type: ignore[arg-type]
    assert found is not None
    assert (found.status, found.reason.endswith(".")) == (status, True)


def test_the_page_itself_may_be_reached_by_a_link_from_elsewhere_its_answers_may_not() -> None:
    link = {"method": "GET", "host": OWN, "fetch_site": "cross-site"}
    assert refusal(Asked(**link, is_page=True), PORT, TOKEN) is None  # type: ignore[arg-type]
    assert refusal(Asked(**link), PORT, TOKEN) is not None  # type: ignore[arg-type]
