"""Prometheus' HTTP API: range queries as samples by label.

Quirks: values come as texts, "NaN" where a query divides by nothing; at most 11,000 points a series, so long
spans are asked in pieces; an error answers 4xx or 5xx with {"status": "error", "error": …}.
https://prometheus.io/docs/prometheus/latest/querying/api/
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from finops.providers.base import PermanentError, TransientError

STEP = 300
MOST_POINTS = 11_000
SECONDS = 60
MAX_BYTES = 64 * 2**20


class _NoRedirect(HTTPRedirectHandler):
    """A redirect could lead to any machine of the network: the server itself has to answer."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Never followed."""
        return


_OPENER = build_opener(_NoRedirect)
Series = dict[tuple[str, ...], list[tuple[datetime, float]]]


def range_query(
    url: str, query: str, start: datetime, end: datetime, labels: tuple[str, ...], *, token: str = ""
) -> Series:
    """Samples of each set of `labels` over [start, end). Raises TransientError or PermanentError."""
    found: Series = {}
    piece = timedelta(seconds=STEP * (MOST_POINTS - 1))
    begin = start
    while begin < end:
        until = min(begin + piece, end)
        given = {
            "query": query, "start": f"{begin.timestamp():.0f}", "end": f"{until.timestamp() - 1:.0f}",
            "step": str(STEP),
        }  # fmt: skip
        for one in _ask(url, given, token):
            names = one.get("metric") or {}
            key = tuple(str(names.get(label, "")) for label in labels)
            held = found.setdefault(key, [])
            for at, value in one.get("values") or ():
                number = float(value)
                if math.isfinite(number):
                    held.append((datetime.fromtimestamp(float(at), UTC), max(number, 0.0)))
        begin = until
    return {key: samples for key, samples in found.items() if samples and any(key)}


def _ask(url: str, given: Mapping[str, str], token: str) -> list[dict[str, Any]]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PermanentError(f"{url} is no address of a Prometheus server.")
    address = f"{url.rstrip('/')}/api/v1/query_range?{urlencode(given)}"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with _OPENER.open(Request(address, headers=headers), timeout=SECONDS) as answer:  # noqa: S310 - http(s)
            content = answer.read(MAX_BYTES + 1)
    except HTTPError as error:
        told = error.read(2000).decode("utf-8", "replace")
        kind = TransientError if error.code >= 500 or error.code == 429 else PermanentError
        raise kind(f"Prometheus answered {error.code}: {told[:300]}") from error
    except (URLError, TimeoutError, OSError) as error:
        raise TransientError(f"Prometheus at {parts.hostname} does not answer: {error}") from error
    if len(content) > MAX_BYTES:
        raise PermanentError("The answer of Prometheus is too large: narrow the query.")
    try:
        document = json.loads(content)
    except ValueError as error:
        raise TransientError("Prometheus answered no JSON.") from error
    if document.get("status") != "success" or document.get("data", {}).get("resultType") != "matrix":
        raise PermanentError(f"Prometheus refused: {str(document.get('error'))[:300]}")
    rows: list[dict[str, Any]] = document["data"]["result"]
    return rows
