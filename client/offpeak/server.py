"""Calls of the Offpeak server. The key goes in a header, never along a redirect, and is never printed."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode, urlsplit

from offpeak.errors import FAILED, REFUSED, USAGE, EndError

SECONDS = 120


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another address."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def opener() -> urllib.request.OpenerDirector:
    """Opens addresses and follows no redirect."""
    return urllib.request.build_opener(_NoRedirect)


def settings() -> tuple[str, str]:
    """(address, key) of the environment. Raises EndError, also for a key in the address."""
    url, key = os.environ.get("OFFPEAK_URL", "").rstrip("/"), os.environ.get("OFFPEAK_KEY", "")
    parts = urlsplit(url)
    if parts.scheme not in {"https", "http"} or not parts.netloc:
        raise EndError("set OFFPEAK_URL to the server's address", USAGE)
    if parts.query or parts.username or parts.password:
        raise EndError("OFFPEAK_URL must hold no key or password", USAGE)
    if not key or not key.isascii() or not key.isprintable():
        raise EndError("set OFFPEAK_KEY to an API key with the scope read:advice", USAGE)
    return url, key


def call(path: str, *, data: bytes | None = None, query: dict[str, str] | None = None) -> dict[str, Any]:
    """The server's document: a POST where there is a body. Raises EndError."""
    url, key = settings()
    address = f"{url}/api/v1/{path}" + (f"?{urlencode(query)}" if query else "")
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, data=data, headers=headers)  # noqa: S310 (see settings)
    try:
        with opener().open(request, timeout=SECONDS) as answer:
            found = json.loads(answer.read())
    except urllib.error.HTTPError as error:
        raise _refusal(error) from None
    except (OSError, ValueError) as error:
        raise EndError(f"no answer from the server: {type(error).__name__}", FAILED) from None
    if not isinstance(found, dict):
        raise EndError("the server's answer is no document", FAILED)
    return found


def _refusal(error: urllib.error.HTTPError) -> EndError:
    """What the server said; input that it refused is 3, a wrong setting 2, a failure 1."""
    try:
        told = json.loads(error.read())["error"]
        message, fields = str(told["message"]), [str(one["field"]) for one in told["fields"]]
    except (ValueError, KeyError, TypeError, OSError):
        message, fields = "no reason given", []
    if error.code == 413 or (error.code == 400 and fields == ["input"]):
        return EndError(message, REFUSED)
    code = USAGE if error.code in {400, 401, 403, 404, 409, 415} else FAILED
    return EndError(f"{error.code}: {message}", code)
