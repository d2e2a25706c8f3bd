"""Pages computed ahead of their readers once new prices are in: Market, Run, and the saved workloads.

Whoever comes first would otherwise wait for the claim of a whole region and a back-test. The pages are asked
for as a reader would ask, so what is kept is what is shown. A repeat finds everything kept; two at once do
the work twice and keep the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.db.models import Count, Min
from django.http import HttpResponseBase
from django.test import RequestFactory
from django.utils import timezone, translation

from apps.accounts.models import Membership
from apps.dashboard.forms import run_fields_of
from apps.dashboard.saved import PAGE_PROVIDER
from apps.dashboard.views.market import market_page
from apps.dashboard.views.run import run_page
from apps.ingest.models import IngestRun, RunKind, RunState, RunSubject
from apps.workloads.selectors import workload_list, workload_question

log = structlog.get_logger(__name__)

# Pages differ by language and time zone: the commonest ones of each organisation.
READERS = 3
ORGANISATIONS = 5
WORKLOADS = 10
Page = Callable[..., HttpResponseBase]


def warm_up(*, run_id: int, clock: Callable[[], float] = time.monotonic) -> int:
    """Compute the pages after this run, for WARM_UP_SECONDS at most; returns how many.

    None when a newer run has finished, which has its own turn.
    """
    run = IngestRun.objects.filter(pk=run_id).first()
    newest = (
        IngestRun.objects.filter(state=RunState.FINISHED, subject=RunSubject.PRICES)
        .exclude(snapshots={})
        .order_by("-finished_at", "-pk")
        .first()
    )
    if settings.WARM_UP_SECONDS <= 0 or run is None or newest is None or newest.pk != run.pk:
        return 0
    end, made = clock() + settings.WARM_UP_SECONDS, 0
    for page, address, reader in _pages(advice=run.kind != RunKind.LIVE):
        if clock() >= end:
            log.info("warm_up_cut", run=run_id, pages=made)
            break
        made += _computed(page, address, reader)
    return made


def _readers() -> list[Membership]:
    """One member for each of the commonest (organisation, language, time zone)."""
    active = Membership.objects.filter(user__is_active=True)
    groups = (
        active.values("organisation", "user__language", "user__time_zone")
        .annotate(people=Count("pk"), one=Min("pk"))
        .order_by("organisation", "-people", "one")
    )
    chosen: dict[int, list[int]] = {}
    for group in groups:
        mine = chosen.setdefault(group["organisation"], [])
        if len(mine) < READERS:
            mine.append(group["one"])
    ids = [pk for mine in list(chosen.values())[:ORGANISATIONS] for pk in mine]
    return list(Membership.objects.filter(pk__in=ids).select_related("user", "organisation").order_by("pk"))


def _pages(*, advice: bool) -> Iterator[tuple[Page, str, Membership]]:
    """What to compute, the most asked for first. Advice is kept as evidence, so not every minute."""
    readers = _readers()
    for reader in readers:
        yield market_page, "/market/", reader
    for reader in readers if advice else ():
        yield run_page, "/run/", reader
    for reader in readers if advice else ():
        zone = ZoneInfo(reader.user.time_zone)
        mine = workload_list(reader.organisation).filter(provider=PAGE_PROVIDER)
        for workload in mine.order_by("-updated_at", "pk")[:WORKLOADS]:
            fields: dict[str, Any] = dict(run_fields_of(workload_question(workload), zone))
            query = urlencode({**fields, "workload": workload.pk}, doseq=True)
            yield run_page, f"/run/?{query}", reader


def _computed(page: Page, address: str, reader: Membership) -> bool:
    """Ask for a page as this reader; what fails is logged and shown to the reader who comes."""
    request = cast(Any, RequestFactory().get(address))
    request.user, request.membership, request.organisation = reader.user, reader, reader.organisation
    request.session, request.htmx = {}, False
    language = reader.user.language or settings.LANGUAGE_CODE
    with translation.override(language), timezone.override(ZoneInfo(reader.user.time_zone)):
        request.LANGUAGE_CODE = translation.get_language()
        try:
            return page(request).status_code == 200
        except Exception:
            log.exception("warm_up_failed", address=address)
            return False
