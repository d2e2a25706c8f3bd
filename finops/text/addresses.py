"""Addresses of resources, as they may be shown and kept: a key inside one is masked."""

from __future__ import annotations

import re
from functools import lru_cache

from finops.redact import redact

# Every pattern of `redact` needs a sign that is not among these, or one of the words below.
_PLAIN = re.compile(r"[A-Za-z0-9_.\[\]\"/-]+")
_WORDS = (
    *(
        "opk_",
        "AKIA",
        "ASIA",
        "LTAI",
        "AKID",
        "gho_",
        "ghp_",
        "ghs_",
        "ghu_",
        "ghr_",
        "github_pat_",
        "glpat-",
    ),
    *("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "/reset/", "/confirm-email/", "/unsubscribe/"),
)


@lru_cache(maxsize=20_000)
def masked(address: str) -> str:
    """The address without secrets; plain ones take a thirtieth of the time of `redact`.

    >>> masked('aws_instance.a["b"]'), masked('x["https://h/?key=1&page=2"]')
    ('aws_instance.a["b"]', 'x["https://h/?key=[redacted]&page=2"]')
    """
    if _PLAIN.fullmatch(address) and not any(word in address for word in _WORDS):
        return address
    return redact(address)
