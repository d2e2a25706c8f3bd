"""The moment that a page answers for, and how old its prices are.

History that ended long ago (the demo data) must not be answered as if it were today: then the moment is the
newest known instant, and every page says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Max
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from apps.dashboard import format as fmt
from apps.dashboard.catalogue import Choices, choices
from apps.ingest.models import IngestRun, RunState, RunSubject
from apps.ingest.selectors import current_snapshots
from finops.engine.workload import FIRST, LAST

FRESH = timedelta(hours=1)  # a live feed is polled more often than that
LIVE = timedelta(hours=24)  # later than this after the newest price, "now" means nothing


@dataclass(frozen=True)
class Moment:
    """`at`: what the page answers for, at most the last instant known everywhere; `newest`: the end of
    the known prices; `past`: not the present.
    """

    at: datetime
    newest: datetime
    oldest: datetime
    now: datetime
    asked: bool

    @property
    def past(self) -> bool:
        """Whether the page has to say that it does not answer for the present."""
        return self.asked or self.now - self.newest > LIVE


@dataclass(frozen=True)
class DataAge:
    """What the top bar shows: state is the class of the dot (fresh, late, none)."""

    state: str
    text: str


def choices_of(request: HttpRequest) -> Choices:
    """What is loaded, looked up once a request."""
    if not hasattr(request, "_choices"):
        request._choices = choices(snapshots_of(request))  # type: ignore[attr-defined]
    found: Choices = request._choices  # type: ignore[attr-defined]
    return found


def snapshots_of(request: HttpRequest) -> dict[str, int]:
    """The snapshots that this whole request reads: looked up once, so that a page is of one state."""
    if not hasattr(request, "_snapshots"):
        request._snapshots = current_snapshots()  # type: ignore[attr-defined]
    found: dict[str, int] = request._snapshots  # type: ignore[attr-defined]
    return found


def state_of(request: HttpRequest) -> str:
    """Changes with every finished run, also those that load list prices or facts: for cache keys."""
    if not hasattr(request, "_data_state"):
        newest = IngestRun.objects.filter(state=RunState.FINISHED).aggregate(at=Max("finished_at"))["at"]
        request._data_state = newest.isoformat() if newest else ""  # type: ignore[attr-defined]
    found: str = request._data_state  # type: ignore[attr-defined]
    return found


def price_state_of(request: HttpRequest) -> str:
    """As `state_of`, for pages of prices: a bill that was loaded changes nothing on them."""
    if not hasattr(request, "_price_state"):
        runs = IngestRun.objects.filter(state=RunState.FINISHED).exclude(subject=RunSubject.BILLS)
        newest = runs.aggregate(at=Max("finished_at"))["at"]
        request._price_state = newest.isoformat() if newest else ""  # type: ignore[attr-defined]
    found: str = request._price_state  # type: ignore[attr-defined]
    return found


def parse_at(text: str) -> datetime | None:
    """An instant from the address, UTC where it names no offset; None when it is none that prices have."""
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return found.astimezone(UTC) if FIRST <= found <= LAST else None


def moment_of(request: HttpRequest, now: datetime | None = None) -> Moment | None:
    """The moment of this page; None when no prices are loaded."""
    known = choices_of(request).known
    if known is None:
        return None
    oldest, newest, common = known
    present = now or datetime.now(UTC)
    asked = parse_at(request.GET.get("at", ""))
    if asked is not None:
        return Moment(min(asked, present), newest, oldest, present, True)
    return Moment(min(common, present), newest, oldest, present, False)


def data_age(request: HttpRequest) -> DataAge:
    """Age of the prices for the top bar."""
    known = choices_of(request).known
    if known is None:
        return DataAge("none", _("No prices yet"))
    newest, now, lang = known[1], datetime.now(UTC), get_language() or "en"
    if now - newest > LIVE:
        day = fmt.day(newest, timezone.get_current_timezone(), lang, year=True)
        return DataAge("late", _("Prices end %(day)s") % {"day": day})
    text = _("Prices %(age)s") % {"age": fmt.age(newest, now, lang)}
    return DataAge("" if now - newest <= FRESH else "late", text)
