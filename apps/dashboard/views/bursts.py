"""Help for long queues: the rules that buy it, how each queue stands, what its help waits for."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.dashboard.forms_bursts import BurstForm, burst_initial
from apps.dashboard.tabs import LAUNCHES_TABS
from apps.dashboard.views.spend import organisation_of
from apps.launches.models import PlanState
from apps.launches.selectors.bursts import burst_document, burst_find, burst_list
from apps.launches.selectors.pools import pool_list
from apps.launches.services.bursts import burst_save, burst_switch
from apps.launches.services.wishes import target_named


@access(Action.VIEW)
def bursts_page(request: HttpRequest) -> HttpResponse:
    """All of them; `change=ID` has that rule in its form."""
    return _page(request)


@require_POST
@access(Action.LAUNCH)
def burst_keep(request: HttpRequest) -> HttpResponse:
    """Name a rule or change it."""
    organisation = organisation_of(request)
    form = BurstForm(request.POST, organisation=organisation)
    if form.is_valid():
        given = form.values()
        slug = given.pop("team")
        try:
            burst_save(
                organisation=organisation, actor=_actor(request),
                pool=pool_list(organisation).get(name=given.pop("pool")),
                target=target_named(organisation, given.pop("target")),
                team=team_list(organisation).get(slug=slug) if slug else None, **given,
            )  # fmt: skip
        except ValidationError as error:
            for field, texts in error.message_dict.items():
                name = field.removeprefix("job.")
                form.add_error(name if name in form.fields else None, texts)
        else:
            messages.success(request, _("The rule is kept; what it buys needs its approval as any plan."))
            return redirect("dashboard:launch-bursts")
    return _page(request, status=422, form=form)


@require_POST
@access(Action.LAUNCH)
def burst_turn(request: HttpRequest, burst_id: int) -> HttpResponse:
    """Switch a rule off or on."""
    row = burst_find(organisation_of(request), burst_id)
    if row is None:
        raise Http404
    active = request.POST.get("active") == "yes"
    burst_switch(burst=row, actor=_actor(request), active=active)
    told = (
        _("The rule buys help again.")
        if active
        else _("The rule is switched off; help that is there ends once it is idle.")
    )
    messages.success(request, told)
    return redirect("dashboard:launch-bursts")


def _page(request: HttpRequest, status: int = 200, form: BurstForm | None = None) -> HttpResponse:
    organisation, now = organisation_of(request), datetime.now(UTC)
    rows = [_row(burst_document(one, now)) for one in burst_list(organisation)]
    changing = _changing(request)
    form = form or BurstForm(
        organisation=organisation, initial=burst_initial(changing) if changing else {"product": "Linux/UNIX"}
    )
    context = {
        "page": "launches", "tab": "launch-bursts", "tabs": LAUNCHES_TABS, "rows": rows, "form": form,
        "heading": _heading(rows), "changing": changing is not None,
        "may_change": allowed(cast(SignedInRequest, request).membership, Action.LAUNCH),
        "has_pools": bool(form.fields["pool"].choices),  # type: ignore[attr-defined]
        "has_targets": bool(form.fields["target"].choices),  # type: ignore[attr-defined]
    }  # fmt: skip
    return render(request, "dashboard/launch_bursts.html", context, status=status)


def _changing(request: HttpRequest) -> Any:
    wanted = request.GET.get("change", "")
    if not (wanted.isascii() and wanted.isdigit() and len(wanted) < 18):
        return None
    return burst_find(organisation_of(request), int(wanted))


def _row(one: dict[str, Any]) -> dict[str, Any]:
    """A rule with its verdict and its plan in words."""
    kind, word = ("pass", _("No help needed"))
    if not one["active"]:
        kind, word = "plain", _("Switched off")
    elif one["judged_at"] is None:
        kind, word = "unknown", _("Not looked at yet")
    elif one["waits_for"]:
        kind, word = "warn", _("Help waits")
    elif one["machines"]:
        kind, word = "pass", _("Helped")
    elif one["bursting"]:
        kind, word = "warn", _("Needs help")
    plan = one["plan"]
    if plan is not None:
        high = plan["cost_high"]
        plan = {
            **plan,
            "word": PlanState(plan["state"]).label,
            "high": None if high is None else Decimal(high),
        }
    return {**one, "kind": kind, "word": word, "plan": plan}


def _heading(rows: list[dict[str, Any]]) -> str:
    people = sum(one["plan"] is not None and one["plan"]["state"] == PlanState.REQUESTED for one in rows)
    if people:
        return ngettext(
            "Help for [[%(n)d]] queue waits for a person",
            "Help for [[%(n)d]] queues waits for a person",
            people,
        ) % {"n": people}
    running = sum(one["running"] for one in rows)
    if running:
        return ngettext("[[%(n)d]] machine helps", "[[%(n)d]] machines help", running) % {"n": running}
    if any(one["active"] for one in rows):
        return _("No queue has help now")
    return _("No rule buys help for a queue")


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)
