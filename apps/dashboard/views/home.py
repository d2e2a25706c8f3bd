"""The first page and what the top bar's menus change."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from apps.accounts.middleware import SignedInRequest
from apps.accounts.services.members import user_preferences_update
from apps.dashboard.context import THEME_COOKIE, THEMES

YEAR = 365 * 24 * 3600


def home(request: HttpRequest) -> HttpResponse:
    """Overview is the start page: what the month costs, or what to do before there is a bill."""
    return redirect("dashboard:overview")


def safe_next(request: HttpRequest, default: str) -> str:
    """Where a form came from, if that is a page of ours."""
    asked = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(asked, {request.get_host()}, require_https=request.is_secure()):
        return asked
    return default


@require_POST
def appearance(request: HttpRequest) -> HttpResponse:
    """Theme or language from the menus: kept in the profile and in this browser's cookies."""
    values: dict[str, Any] = {}
    theme, language = request.POST.get("theme", ""), request.POST.get("language", "")
    if theme in THEMES:
        values["theme"] = theme
    if language in dict(settings.LANGUAGES):
        values["language"] = language
    if values:
        user_preferences_update(user=cast(SignedInRequest, request).user, **values)
    response = HttpResponseRedirect(safe_next(request, reverse("dashboard:home")))
    if "theme" in values:
        response.set_cookie(
            THEME_COOKIE, values["theme"], max_age=YEAR, samesite="Lax", secure=request.is_secure()
        )
    if "language" in values:
        response.set_cookie(settings.LANGUAGE_COOKIE_NAME, language, max_age=YEAR, samesite="Lax")
    return response
