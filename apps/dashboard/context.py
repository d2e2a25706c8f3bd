"""What every page's frame needs: navigation, theme, zone, organisation, age of the data."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "offpeak_theme"


class NavItem(NamedTuple):
    """One entry of the navigation: address name, icon, word."""

    page: str
    icon: str
    label: Any


# Only pages that exist; a later page adds its line.
NAV: tuple[tuple[NavItem, ...], ...] = (
    (
        NavItem("market", "market", _("Market")),
        NavItem("run", "run", _("Run")),
    ),
    (NavItem("data", "data", _("Data")),),
    (NavItem("settings", "settings", _("Settings")),),
)


def theme_of(request: HttpRequest) -> str:
    """The reader's theme: the cookie of this browser, else the profile, else as the device."""
    choice = request.COOKIES.get(THEME_COOKIE, "")
    if choice in THEMES:
        return choice
    user = getattr(request, "user", None)
    saved = getattr(user, "theme", "auto") if user is not None and user.is_authenticated else "auto"
    return saved if saved in THEMES else "auto"


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor of the page frame; what costs a query is lazy."""
    from apps.dashboard.freshness import data_age

    return {
        "nav": NAV,
        "theme": theme_of(request),
        "data_age": SimpleLazyObject(lambda: data_age(request)),
        "offpeak_version": settings.OFFPEAK_VERSION,
    }
