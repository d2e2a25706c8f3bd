"""Large bodies are refused before a byte of them is read: who sends them and where to decides.

It must stand before the CSRF check, which reads forms and would store an upload of any size first. REST
endpoints look at size, key and role themselves before they read (apps/api/endpoint.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import Resolver404, resolve

from apps.accounts.access import View, refusal
from apps.accounts.middleware import ORGANISATION_KEY, MembershipMiddleware
from apps.accounts.models import User
from apps.accounts.roles import allowed
from apps.accounts.selectors import membership_of

# A sign-in form has a few hundred bytes; what is larger comes from nobody we know.
ANONYMOUS_BODY_BYTES = 64 * 1024
# The largest form of a page is a table of 5 MiB; a view that takes more says so.
PAGE_BODY_BYTES = 8 * 1024 * 1024
FORM_BYTES = 64 * 1024  # the form around a file
API = "/api/"


def takes_uploads(view: View) -> View:
    """Mark a page that takes a file of UPLOAD_MAX_BYTES."""
    view.takes_uploads = True  # type: ignore[attr-defined]
    return view


class BodyMiddleware:
    """Answers 413 to a body that is too large for its sender or its page, 403 to one of a role that may not
    send it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The refusal, or the answer."""
        announced = request.META.get("CONTENT_LENGTH") or "0"
        size = int(announced) if announced.isdecimal() else 0
        if size <= ANONYMOUS_BODY_BYTES or request.path.startswith(API):
            return self.get_response(request)
        user = get_user(request) if SESSION_KEY in request.session else None
        if user is None or not user.is_authenticated:
            return render(request, "413.html", status=413)
        return _refused(request, user, size) or self.get_response(request)


def _refused(request: HttpRequest, user: User, size: int) -> HttpResponseBase | None:
    """The page that tells a signed-in person why not; None when the body may come."""
    try:
        view: Any = resolve(request.path_info).func
    except Resolver404:
        view = None
    membership = membership_of(user, organisation_id=request.session.get(ORGANISATION_KEY))
    action = getattr(view, "required_action", None)
    most = settings.UPLOAD_MAX_BYTES if getattr(view, "takes_uploads", False) else PAGE_BODY_BYTES
    if action is not None and not allowed(membership, action):
        words = {"exception": refusal(action, membership.organisation if membership else None)}
        return _page(request, user, lambda asked: render(asked, "403.html", words, status=403))
    if size > most + FORM_BYTES:
        words = {"limit_mib": str(most >> 20)}
        return _page(request, user, lambda asked: render(asked, "413.html", words, status=413))
    return None


def _page(request: HttpRequest, user: User, make: Callable[[HttpRequest], HttpResponse]) -> HttpResponseBase:
    """The page in the person's language and time zone."""
    request.user = user
    return MembershipMiddleware(make)(request)
