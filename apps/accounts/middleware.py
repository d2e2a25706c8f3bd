"""Sign-in for every page, and the organisation, language and time zone of who signed in."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from typing import Any, cast

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import resolve_url
from django.utils import timezone, translation

from apps.accounts.models import Membership, Organisation, User
from apps.accounts.selectors import membership_of

ORGANISATION_KEY = "organisation"


class SignedInRequest(HttpRequest):
    """What a view gets behind these middlewares: for type hints of views."""

    user: User
    membership: Membership | None
    organisation: Organisation | None
    htmx: Any


class SignInMiddleware(LoginRequiredMiddleware):
    """Sends an anonymous visitor to the sign-in page; a region asked for by htmx makes the whole page go
    there.
    """

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase]
    ) -> HttpResponseBase:
        """The redirect, as a header where a redirect would put the sign-in page into a region."""
        response = super().handle_no_permission(request, view_func)
        if request.headers.get("HX-Request") != "true":
            return response
        answer = HttpResponse(status=401)
        answer["HX-Redirect"] = resolve_url(self.get_login_url(view_func))
        return answer


class MembershipMiddleware:
    """Sets `request.membership` and `request.organisation` (None without one) and the person's preferences.

    The session may name another of the person's organisations (`services.organisation_choose`).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request with the person's organisation, language and time zone in force."""
        asked = cast(SignedInRequest, request)
        asked.membership = asked.organisation = None
        if not request.user.is_authenticated:
            return self.get_response(request)
        user = request.user
        asked.membership = membership_of(user, organisation_id=request.session.get(ORGANISATION_KEY))
        asked.organisation = asked.membership.organisation if asked.membership else None
        if user.language:
            translation.activate(user.language)
            request.LANGUAGE_CODE = translation.get_language() or user.language
        with timezone.override(zoneinfo.ZoneInfo(user.time_zone)):
            return self.get_response(request)
