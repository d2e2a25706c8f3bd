"""What every page's frame needs: navigation, theme, who is reading, age of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from apps.dashboard.freshness import DataAge, data_age
from apps.dashboard.listing_age import listing_age
from apps.dashboard.spend import bill_age
from apps.launches.selectors.asks import asks_count
from apps.recommendations.selectors.inbox import waiting_count

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
        NavItem("overview", "overview", _("Overview")),
        NavItem("recommendations", "recommendations", _("Recommendations")),
        NavItem("spend", "spend", _("Spend")),
        NavItem("waste", "waste", _("Waste")),
        NavItem("market", "market", _("Market")),
        NavItem("run", "run", _("Run")),
        NavItem("deals", "deals", _("Deals")),
        NavItem("storage", "storage", _("Storage")),
        NavItem("launches", "launches", _("Launches")),
    ),
    (
        NavItem("checks", "check", _("Checks")),
        NavItem("reports", "reports", _("Reports")),
        NavItem("data", "data", _("Data")),
    ),
    (NavItem("settings", "settings", _("Settings")),),
)


@dataclass(frozen=True)
class Viewer:
    """The reader as the frame shows them."""

    name: str = ""
    initials: str = ""
    role_name: Any = ""
    organisation_name: str = ""
    zone: str = "UTC"


def viewer_of(request: HttpRequest) -> Viewer:
    """Name, role and organisation; costs no query behind the accounts middleware."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return Viewer(zone=timezone.get_current_timezone_name())
    name = user.get_full_name()
    words = [w for w in name.replace("@", " ").replace(".", " ").split() if w]
    membership = getattr(request, "membership", None)
    organisation = getattr(request, "organisation", None)
    return Viewer(
        name=name,
        initials="".join(w[0] for w in words[:2]).upper(),
        role_name=membership.get_role_display() if membership else "",
        organisation_name=organisation.name if organisation else "",
        zone=timezone.get_current_timezone_name(),
    )


def theme_of(request: HttpRequest) -> str:
    """The reader's theme: the cookie of this browser, else the profile, else as the device."""
    choice = request.COOKIES.get(THEME_COOKIE, "")
    if choice in THEMES:
        return choice
    user = getattr(request, "user", None)
    saved = getattr(user, "theme", "auto") if user is not None and user.is_authenticated else "auto"
    return saved if saved in THEMES else "auto"


def waiting_of(request: HttpRequest) -> dict[str, int]:
    """What waits for a person, by entry of the navigation."""
    organisation = getattr(request, "organisation", None)
    if organisation is None:
        return {}
    return {
        "recommendations": waiting_count(organisation),
        "launches": asks_count(organisation, timezone.now()),
    }


def age_of(request: HttpRequest) -> DataAge:
    """Age of what the page rests on, where its view does not say: bills under Deals and Waste, listings under
    Storage,
    else prices.
    """
    match = request.resolver_match
    if match is not None and match.route.startswith(("deals/", "waste/")):
        return bill_age(getattr(request, "organisation", None), timezone.now())
    if match is not None and match.route.startswith("storage/"):
        return listing_age(getattr(request, "organisation", None), timezone.now())
    return data_age(request)


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor of the page frame; what costs a query is lazy."""
    return {
        "nav": NAV,
        "waiting": SimpleLazyObject(lambda: waiting_of(request)),
        "theme": theme_of(request),
        "viewer": viewer_of(request),
        "data_age": SimpleLazyObject(lambda: age_of(request)),
        "offpeak_version": settings.OFFPEAK_VERSION,
    }
