"""Alerts about launches: those that failed or were missed, and storms of interruptions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import Organisation
from apps.launches.models import Attempt, Launch, LaunchState
from apps.launches.wording import why_text
from apps.reports import wording as w
from apps.reports.causes import Cause, Facts, Found, Told, register
from apps.reports.models import Alert
from finops.text import display as fmt

RECENT = timedelta(days=7)
# Three machines of a region within an hour: by chance rare, together a sign that the region empties.
STORM, STORM_WITHIN = 3, timedelta(hours=1)


def register_all() -> None:
    """Failed launches and storms."""
    register(Cause("launch", gettext_lazy("Launch failed"), _failed, _failed_told))
    register(Cause("storm", gettext_lazy("Interruption storm"), _storms, _storm_told))


def _failed(organisation: Organisation, now: datetime) -> Iterable[Found]:
    rows = Launch.objects.filter(
        organisation=organisation,
        state__in=[LaunchState.FAILED, LaunchState.MISSED],
        ended_at__gt=now - RECENT,
    )
    for row in rows.select_related("plan").order_by("ended_at", "pk"):
        yield Found(
            key=str(row.pk),
            period=row.due_at.isoformat()[:16],
            team=row.plan.team_id,
            facts={
                "launch": row.pk,
                "name": row.plan.name,
                "state": row.state,
                "due_at": row.due_at.isoformat(),
                "why": row.why,
                "why_values": row.why_values,
            },
        )


def _failed_told(facts: Facts) -> Told:
    values = {
        "name": w.clean(facts["name"]),
        "at": fmt.moment(datetime.fromisoformat(facts["due_at"]), lang=w.lang()),
    }
    if facts["state"] == LaunchState.MISSED:
        title = _("The launch %(name)s of %(at)s was missed") % values
    else:
        title = _("The launch %(name)s of %(at)s failed") % values
    return Told(
        title, w.clean(why_text(facts["why"], facts["why_values"])), w.link("launch", facts["launch"])
    )


def _storms(organisation: Organisation, now: datetime) -> Iterable[Found]:
    """One a region and hour: machines that an alert of the last hour was about raise no other one."""
    since = now - STORM_WITHIN
    told = Alert.objects.filter(organisation=organisation, cause="storm", raised_at__gt=since)
    periods = dict(told.order_by("raised_at").values_list("key", "period"))
    rows = Attempt.objects.filter(
        Q(noticed_at__gt=since) | Q(ending="interrupted", ended_at__gt=since),
        launch__organisation=organisation,
    )
    regions: dict[str, set[str]] = defaultdict(set)
    for region, machine, pk in rows.values_list("region", "machine", "pk"):
        regions[region].add(machine or str(pk))
    for region, machines in sorted(regions.items()):
        if len(machines) >= STORM:
            yield Found(
                key=region[:200],
                period=periods.get(region[:200]) or now.isoformat()[:13],
                facts={"region": region, "machines": len(machines), "at": now.isoformat()},
            )


def _storm_told(facts: Facts) -> Told:
    count = int(facts["machines"])
    values = {"n": count, "region": w.clean(facts["region"]) or _("one region")}
    title = ngettext(
        "%(n)d machine in %(region)s was taken back within an hour",
        "%(n)d machines in %(region)s were taken back within an hour",
        count,
    )
    text = _("Work goes on elsewhere from its last checkpoint. Think about another region or on demand.")
    return Told(title % values, text, w.link("launches"))
