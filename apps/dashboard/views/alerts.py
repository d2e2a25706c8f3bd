"""Alerts: what was raised, where it went, who wants quiet; channels by mail, Slack and signed webhook."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Organisation
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.dashboard.forms_reports import AlertSnoozeForm, ChannelForm
from apps.dashboard.presenters.reports import sending_line
from apps.dashboard.spend import bill_age
from apps.dashboard.tabs import REPORTS_TABS
from apps.dashboard.views.reports import actor_of
from apps.dashboard.views.spend import organisation_of
from apps.reports.causes import causes, told
from apps.reports.models import Channel, SendState
from apps.reports.selectors.alerts import (
    alert_list,
    cause_title,
    channel_list,
    clock_text,
    snoozes_of,
)
from apps.reports.services.alerts import alert_snooze, alert_wake, channel_test, deliveries_again
from apps.reports.services.channels import channel_remove, channel_save, host_of

MAX_ID_DIGITS, ROWS = 18, 25
FIELDS = ("name", "kind", "causes", "language", "time_zone", "active")


@access(Action.VIEW)
def alerts_page(request: HttpRequest) -> HttpResponse:
    """The page; `change=ID` has that channel in the form, `cause=` filters."""
    organisation = organisation_of(request)
    channel = _named(organisation, request.GET.get("change", ""))
    form = ChannelForm(teams=_teams(organisation), initial=_initial(channel, request))
    return _page(request, form, channel)


def _named(organisation: Organisation, text: str) -> Channel | None:
    if not text.isdecimal() or len(text) > MAX_ID_DIGITS:
        return None
    return channel_list(organisation).filter(pk=int(text)).first()


def _teams(organisation: Organisation) -> list[tuple[str, str]]:
    return [(team.slug, team.name) for team in team_list(organisation)]


def _initial(channel: Channel | None, request: HttpRequest) -> dict[str, Any]:
    if channel is None:
        user = cast(SignedInRequest, request).user
        return {
            "kind": "mail", "emails": user.email, "language": user.language or "en",
            "time_zone": user.time_zone, "active": True,
        }  # fmt: skip
    values: dict[str, Any] = {name: getattr(channel, name) for name in FIELDS}
    values["team"] = channel.team.slug if channel.team else ""
    values["emails"] = "\n".join(channel.emails)
    values["quiet_from"] = clock_text(channel.quiet_from) or ""
    values["quiet_to"] = clock_text(channel.quiet_to) or ""
    return values


def _page(
    request: HttpRequest, form: ChannelForm, channel: Channel | None, status: int = 200, **more: Any
) -> HttpResponse:
    organisation, now = organisation_of(request), datetime.now(UTC)
    names = [one.name for one in causes()]
    cause = request.GET.get("cause", "")
    found = alert_list(organisation, cause=cause if cause in names else "")
    pages = Paginator(found, ROWS).get_page(request.GET.get("p"))
    snoozes = snoozes_of(organisation, now)
    lines = [_line(row, snoozes) for row in pages]
    open_count = alert_list(organisation).filter(over_at__isnull=True).count()
    context: dict[str, Any] = {
        "page": "reports",
        "tab": "alerts",
        "tabs": REPORTS_TABS,
        "data_age": bill_age(organisation, now),
        "heading": _heading(open_count, channel_list(organisation).filter(active=True).count()),
        "rows": lines,
        "pages": pages,
        "cause": cause if cause in names else "",
        "causes": [(one.name, one.title) for one in causes()],
        "channels": [_channel_line(one) for one in channel_list(organisation)],
        "may": allowed(cast(SignedInRequest, request).membership, Action.MANAGE_REPORTS),
        "form": form,
        "channel": channel,
        "snooze_form": AlertSnoozeForm(),
        **more,
    }
    return render(request, "dashboard/alerts.html", context, status=status)


def _heading(open_count: int, channels: int) -> str:
    if not channels:
        return _("Alerts go nowhere yet: no channel is set up.")
    if not open_count:
        return _("Nothing is wrong that an alert is for.")
    text = ngettext(
        "[[%(n)s]] alert still holds.",
        "[[%(n)s]] alerts still hold.",
        open_count,
    )
    return text % {"n": open_count}


def _line(row: Any, snoozes: Any) -> dict[str, Any]:
    words = told(row.cause, row.facts)
    sent = [sending_line(one) for one in row.deliveries.all()]
    return {
        "row": row,
        "cause": cause_title(row.cause),
        "title": words.title,
        "text": words.text,
        "link": words.link,
        "snooze": snoozes.get((row.cause, row.key)),
        "sent": sent,
        "again": any(one.again for one in sent),
    }


def _channel_line(row: Channel) -> dict[str, Any]:
    quiet = ""
    if row.quiet_from is not None:
        quiet = _("quiet %(start)s to %(end)s %(zone)s") % {
            "start": clock_text(row.quiet_from), "end": clock_text(row.quiet_to), "zone": row.time_zone,
        }  # fmt: skip
    return {
        "row": row,
        "where": ", ".join(row.emails) if row.emails else host_of(row),
        "causes": ", ".join(cause_title(one) for one in row.causes) or _("all causes"),
        "quiet": quiet,
    }


@require_POST
@access(Action.MANAGE_REPORTS)
def channel_keep(request: HttpRequest) -> HttpResponse:
    """Make a channel, or replace the one that `channel` names; a new webhook's secret is shown once."""
    organisation = organisation_of(request)
    pk = request.POST.get("channel", "")
    channel = _named(organisation, pk)
    if pk and channel is None:
        raise Http404
    form = ChannelForm(request.POST, teams=_teams(organisation))
    if not form.is_valid():
        return _page(request, form, channel, 422)
    given = dict(form.cleaned_data)
    slug = given.pop("team")
    given["team"] = team_list(organisation).filter(slug=slug).first() if slug else None
    try:
        saved, secret = channel_save(
            organisation=organisation,
            actor=actor_of(request),
            fields=given,
            now=datetime.now(UTC),
            channel=channel,
        )
    except ValidationError as error:
        for name, found in error.error_dict.items():
            form.add_error(name if name in form.fields else None, found)
        return _page(request, form, channel, 422)
    if secret:
        fresh = ChannelForm(teams=_teams(organisation), initial=_initial(None, request))
        response = _page(request, fresh, None, secret=secret, secret_of=saved.name)
        response["Cache-Control"] = "no-store"
        return response
    messages.success(request, _("The channel %(name)s is kept.") % {"name": saved.name})
    return redirect("dashboard:alerts")


@require_POST
@access(Action.MANAGE_REPORTS)
def channel_drop(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Remove a channel with what waits in it."""
    row = get_object_or_404(channel_list(organisation_of(request)), pk=channel_id)
    channel_remove(channel=row, actor=actor_of(request))
    messages.success(request, _("The channel %(name)s is removed.") % {"name": row.name})
    return redirect("dashboard:alerts")


@require_POST
@access(Action.MANAGE_REPORTS)
def channel_try(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Send a test through a channel and say what came of it."""
    row = get_object_or_404(channel_list(organisation_of(request)), pk=channel_id)
    sent = channel_test(channel=row, now=datetime.now(UTC))
    wrong = next((one for one in sent if one.state != SendState.SENT), None)
    if wrong is None:
        messages.success(request, _("The test of %(name)s was taken.") % {"name": row.name})
    else:
        told_words = _("The test of %(name)s did not arrive: %(state)s. %(why)s")
        values = {"name": row.name, "state": wrong.get_state_display(), "why": wrong.error}
        messages.error(request, told_words % values)
    return redirect("dashboard:alerts")


@require_POST
@access(Action.MANAGE_REPORTS)
def snooze(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Send nothing about this cause for some days."""
    alert = get_object_or_404(alert_list(organisation_of(request)), pk=alert_id)
    now = datetime.now(UTC)
    form = AlertSnoozeForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(text) for found in form.errors.values() for text in found))
        return redirect("dashboard:alerts")
    until = now + timedelta(days=form.cleaned_data["days"])
    try:
        alert_snooze(
            alert=alert, actor=actor_of(request), until=until, reason=form.cleaned_data["reason"], now=now
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("dashboard:alerts")
    messages.success(request, _("Nothing more is sent about this until then."))
    return redirect("dashboard:alerts")


@require_POST
@access(Action.MANAGE_REPORTS)
def wake(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Take a snooze back."""
    alert = get_object_or_404(alert_list(organisation_of(request)), pk=alert_id)
    alert_wake(alert=alert, actor=actor_of(request), now=datetime.now(UTC))
    messages.success(request, _("It is told again."))
    return redirect("dashboard:alerts")


@require_POST
@access(Action.MANAGE_REPORTS)
def again(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Try once more what did not arrive."""
    alert = get_object_or_404(alert_list(organisation_of(request)), pk=alert_id)
    count = deliveries_again(alert.deliveries.all(), now=datetime.now(UTC))
    text = ngettext("%(n)d message is tried again.", "%(n)d messages are tried again.", count)
    messages.success(request, text % {"n": count})
    return redirect("dashboard:alerts")
