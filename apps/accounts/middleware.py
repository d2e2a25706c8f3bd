"""Sign-in for every page, and the organisation, language and time zone of who signed in."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from typing import Any, cast

from allauth.account.authentication import get_authentication_records
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, resolve_url
from django.utils import timezone, translation

from apps.accounts.models import Membership, Organisation, User
from apps.accounts.selectors import has_second_factor, membership_of

ORGANISATION_KEY = "organisation"
# Where somebody sets up a second factor, and what they may open before they have.
SECOND_FACTOR_PAGE = "dashboard:second-factor"
SIGN_IN_PAGES = "/accounts/"


class SignedInRequest(HttpRequest):
    """What a view gets behind these middlewares: for type hints of views."""

    user: User
    membership: Membership | None
    organisation: Organisation | None
    second_factor_missing: bool
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
        asked.second_factor_missing = False
        if not request.user.is_authenticated:
            return self.get_response(request)
        user = request.user
        asked.membership = membership_of(user, organisation_id=request.session.get(ORGANISATION_KEY))
        asked.organisation = asked.membership.organisation if asked.membership else None
        asked.second_factor_missing = second_factor_missing(request, asked.organisation)
        if user.language:
            translation.activate(user.language)
            request.LANGUAGE_CODE = translation.get_language() or user.language
        with timezone.override(zoneinfo.ZoneInfo(user.time_zone)):
            return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        """Pages wait for the second factor that the organisation asks for; REST says so itself."""
        asked = cast(SignedInRequest, request)
        if not asked.second_factor_missing or not getattr(view, "login_required", True):
            return None
        if getattr(view, "before_second_factor", False) or request.path.startswith(SIGN_IN_PAGES):
            return None
        if request.headers.get("HX-Request") != "true":
            return redirect(SECOND_FACTOR_PAGE)
        answer = HttpResponse(status=403)
        answer["HX-Redirect"] = resolve_url(SECOND_FACTOR_PAGE)
        return answer


def second_factor_missing(request: HttpRequest, organisation: Organisation | None) -> bool:
    """Whether the organisation asks for a second factor that this person, signed in by password, lacks.

    Who came by the company's sign-in service was asked there.
    """
    if organisation is None or not organisation.second_factor_required:
        return False
    user = cast(User, request.user)
    return not came_by_sso(request, user) and not has_second_factor(user)


def came_by_sso(request: HttpRequest, user: User) -> bool:
    """Whether this session began at the company's sign-in service."""
    return any(one.get("method") == "socialaccount" for one in get_authentication_records(request, user))
