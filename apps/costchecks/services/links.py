"""Addresses of the pages that show what a check says."""

from __future__ import annotations

from django.urls import reverse
from django.utils.http import urlencode


def page_link(page: str, query: tuple[tuple[str, str], ...]) -> str:
    """The path of a page; a pair without a name is a part of the path."""
    path = reverse(f"dashboard:{page}", args=[value for name, value in query if not name])
    text = urlencode([pair for pair in query if pair[0]])
    return f"{path}?{text}" if text else path
