"""Pools and devices: what an hour of work costs where, which pool work takes, and machines that are idle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django import forms
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
from apps.catalog.models import Pool, PoolUse
from apps.dashboard.forms_pools import DeviceForm, PoolForm, WorkForm
from apps.dashboard.tabs import LAUNCHES_TABS
from apps.dashboard.views.spend import organisation_of
from apps.launches.models import WorkState
from apps.launches.selectors.pools import THERE, device_find, device_list, pool_list, work_list
from apps.launches.services.pools import device_create, device_revoke, pool_choices, pool_save
from apps.launches.wording_pools import why_pool
from finops.engine.launches.pool import PoolChoice, PoolWork, Why

A_LIST = 50
STATES = {
    WorkState.QUEUED: "warn",
    WorkState.LEASED: "pass",
    WorkState.DONE: "pass",
    WorkState.FAILED: "deny",
    WorkState.CANCELLED: "plain",
}


@access(Action.VIEW)
def pools_page(request: HttpRequest) -> HttpResponse:
    """All pools, the comparison for the work in the address, devices and their work."""
    return _page(request)


@require_POST
@access(Action.LAUNCH)
def pool_keep(request: HttpRequest) -> HttpResponse:
    """Name a pool or change it."""
    form = PoolForm(request.POST)
    if form.is_valid():
        try:
            pool_save(
                organisation=organisation_of(request), actor=_actor(request),
                name=form.cleaned_data["name"], values=form.values(),
            )  # fmt: skip
        except ValidationError as error:
            _add_errors(form, error)
        else:
            messages.success(request, _("The pool is kept."))
            return redirect("dashboard:pools")
    return _page(request, status=422, pool_form=form)


@require_POST
@access(Action.LAUNCH)
def device_keep(request: HttpRequest) -> HttpResponse:
    """Register a device; the page shows its key, this once."""
    organisation = organisation_of(request)
    form = DeviceForm(request.POST, pools=_device_pools(organisation))
    if form.is_valid():
        given = dict(form.cleaned_data)
        pool = Pool.objects.get(organisation=organisation, pk=int(given.pop("pool")))
        try:
            row, key = device_create(pool=pool, actor=_actor(request), name=given.pop("name"), values=given)
        except ValidationError as error:
            _add_errors(form, error)
        else:
            return _page(request, made=row, key=key)
    return _page(request, status=422, device_form=form)


@require_POST
@access(Action.LAUNCH)
def device_drop(request: HttpRequest, device_id: int) -> HttpResponse:
    """Revoke a device."""
    row = device_find(organisation_of(request), device_id)
    if row is None:
        raise Http404
    device_revoke(device=row, actor=_actor(request), now=datetime.now(UTC))
    messages.success(request, _("The device's key opens nothing any more."))
    return redirect("dashboard:pools")


def _page(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    organisation, now = organisation_of(request), datetime.now(UTC)
    membership = cast(SignedInRequest, request).membership
    pools = list(pool_list(organisation))
    form, choices, refused = _choices(request, pools, now)
    device_pools = _device_pools(organisation)
    context = {
        "page": "launches",
        "tab": "pools",
        "tabs": LAUNCHES_TABS,
        "heading": _heading(pools, choices),
        "rows": [_row(one) for one in pools],
        "work_form": form,
        "choices": [_choice(one) for one in choices],
        "refused": refused,
        "devices": [_device(one, now) for one in device_list(organisation)[:A_LIST]],
        "work": [
            {"it": one, "kind": STATES[WorkState(one.state)], "word": one.get_state_display()}
            for one in work_list(organisation)[:A_LIST]
        ],
        "pool_form": PoolForm(),
        "device_form": DeviceForm(pools=device_pools),
        "has_device_pools": bool(device_pools),
        "may_change": allowed(membership, Action.LAUNCH),
        "server": request.build_absolute_uri("/").rstrip("/"),
        **more,
    }
    answer = render(request, "dashboard/pools.html", context, status=status)
    if "key" in more:
        answer["Cache-Control"] = "no-store"
    return answer


def _choices(
    request: HttpRequest, pools: list[Pool], now: datetime
) -> tuple[WorkForm, list[PoolChoice], str]:
    """The form of the work, every pool for it, and why there is no comparison."""
    if "hours" not in request.GET:
        return WorkForm(initial={"hours": 8, "units": 1, "checkpoint_minutes": 2}), [], ""
    form = WorkForm(request.GET)
    if not form.is_valid() or not pools:
        return form, [], ""
    given = form.cleaned_data
    hours, minutes = given["deadline_hours"], given["checkpoint_minutes"]
    work = PoolWork(
        hours=given["hours"],
        units=given["units"],
        deadline=None if hours is None else now + timedelta(hours=hours),
        checkpoint_hours=None if minutes is None else minutes / 60,
    )
    try:
        return form, pool_choices(organisation=organisation_of(request), work=work, now=now), ""
    except ValidationError as error:
        return form, [], " ".join(error.messages)


def _heading(pools: list[Pool], choices: list[PoolChoice]) -> str:
    taken = next((one for one in choices if one.why is Why.TAKEN), None)
    if taken is not None and taken.cost_per_work is not None:
        return _("%(pool)s takes it: [[%(cost)s]] %(currency)s an hour of work") % {
            "pool": taken.offer.name, "cost": f"{taken.cost_per_work:.4f}", "currency": taken.offer.currency,
        }  # fmt: skip
    if choices:
        return _("No pool meets every condition of this work")
    priced = [one for one in pools if one.active and one.hourly is not None]
    if not priced:
        return _("No pool is named yet") if not pools else _("No pool has a price")
    if len({one.currency for one in priced}) > 1:
        return ngettext("[[%(n)d]] pool to run work in", "[[%(n)d]] pools to run work in", len(priced)) % {
            "n": len(priced)
        }
    best = min(priced, key=_per_work)
    return _("Work is cheapest in %(pool)s: [[%(cost)s]] %(currency)s an hour") % {
        "pool": best.name, "cost": f"{_per_work(best):.4f}", "currency": best.currency,
    }  # fmt: skip


def _per_work(pool: Pool) -> float:
    return float(pool.hourly or 0) / pool.speed


def _row(one: Pool) -> dict[str, Any]:
    window = " ".join(part for part in (one.window, one.zone, one.days) if part)
    return {"it": one, "per_work": None if one.hourly is None else _per_work(one), "window": window}


def _choice(one: PoolChoice) -> dict[str, Any]:
    kind = "pass" if one.why is Why.TAKEN else "plain" if one.why is Why.DEARER else "deny"
    word = (
        _("Taken") if one.why is Why.TAKEN else _("Would do") if one.why is Why.DEARER else _("Not possible")
    )
    return {"it": one, "kind": kind, "word": word, "reason": why_pool(one)}


def _device(one: Any, now: datetime) -> dict[str, Any]:
    there = one.seen_at is not None and now - one.seen_at <= THERE
    idle = one.idle_seconds is not None and one.idle_seconds >= one.idle_minutes * 60
    if one.seen_at is None:
        kind, word = "unknown", _("Never asked")
    elif not there:
        kind, word = "warn", _("Silent")
    else:
        kind, word = ("pass", _("Idle")) if idle else ("plain", _("In use"))
    window = " ".join(part for part in (one.window, one.zone, one.days) if part)
    return {"it": one, "kind": kind, "word": word, "window": window}


def _device_pools(organisation: Any) -> list[tuple[str, str]]:
    rows = Pool.objects.filter(organisation=organisation, kind=PoolUse.DEVICE)
    return [(str(one.pk), one.name) for one in rows]


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)


def _add_errors(form: forms.Form, error: ValidationError) -> None:
    for name, texts in error.message_dict.items():
        form.add_error(name if name in form.fields else None, texts)
