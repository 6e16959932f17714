"""Who may ask the console for what, judged from a request's head alone.

The threat: any page that the user's browser shows can send requests to a server on this
machine. A name that a stranger's DNS points at 127.0.0.1 makes the browser treat the console as
that stranger's own (DNS rebinding); a form or an image elsewhere can address it blindly
(cross-site request forgery); another site can put it in a frame and borrow clicks.

Promises: nothing at all is answered unless the request names this machine as its host; nothing
is changed unless the request comes from the console's own page, which alone can know the token
that is made anew at each start. Pure functions.
Does not: read bodies, or keep out other programs of the same user: they can read the index and
the documents themselves.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

READS = ("GET", "HEAD")
OWN_SITES = ("same-origin", "none")  # Sec-Fetch-Site: the page itself; typed or bookmarked
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Asked:
    """The head of a request, as far as it tells where it comes from; None: not sent."""

    method: str
    host: str | None
    origin: str | None = None
    fetch_site: str | None = None
    token: str | None = None
    content_type: str | None = None
    is_page: bool = False  # whether it asks for the page itself, which holds no document

    @property
    def changes(self) -> bool:
        return self.method not in READS


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status and a sentence that says what was wrong."""

    status: int
    reason: str


def refusal(asked: Asked, port: int, token: str) -> Refusal | None:
    """Why a request is not answered, or None. `port` is the one that is listened on."""
    if asked.host not in hosts(port):
        return Refusal(421, f"This console answers at http://127.0.0.1:{port} alone.")
    if asked.method not in (*READS, "POST"):
        return Refusal(405, "Only GET, HEAD and POST are understood.")
    if asked.origin is not None and asked.origin != f"http://{asked.host}":
        return Refusal(403, "The request comes from another page.")
    foreign = asked.fetch_site is not None and asked.fetch_site not in OWN_SITES
    if foreign and (asked.changes or not asked.is_page):
        return Refusal(403, "The request comes from another site.")
    return _change_refusal(asked, token) if asked.changes else None


def hosts(port: int) -> tuple[str, ...]:
    """The values of the Host header that mean this machine."""
    return (f"127.0.0.1:{port}", f"localhost:{port}")


def _change_refusal(asked: Asked, token: str) -> Refusal | None:
    if asked.origin is None:
        return Refusal(403, "A change needs the Origin header that browsers send.")
    if asked.fetch_site not in (None, "same-origin"):
        return Refusal(403, "A change must come from the console's own page.")
    if not hmac.compare_digest((asked.token or "").encode(), token.encode()):
        return Refusal(403, "The page is from an earlier start of the console: load it again.")
    if (asked.content_type or "").partition(";")[0].strip().lower() != JSON:
        return Refusal(415, f"The body must be {JSON}.")
    return None
