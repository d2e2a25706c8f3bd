"""Purchases: what waits for a yes, one in full, asking, approving, and the accounts that may buy."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Membership
from apps.accounts.roles import Action, allowed
from apps.dashboard.forms_purchases import BuyerForm, PurchaseForm, WhyForm, open_offer
from apps.dashboard.tabs import DEALS_TABS
from apps.dashboard.views.spend import organisation_of
from apps.recommendations.models import ENDED, Purchase, PurchaseState
from apps.recommendations.selectors.inbox import recommendation_find
from apps.recommendations.selectors.purchases import (
    buyer_find,
    buyer_list,
    purchase_find,
    purchase_list,
    purchases_waiting,
)
from apps.recommendations.services import purchases
from apps.recommendations.services.buyers import buyer_save
from apps.recommendations.services.purchasing import purchase_trial
from apps.recommendations.tasks import recommendations_purchase_hand_out
from finops.frames.purchases import Fill, once_of
from finops.providers.aws.reserved_purchases import buying_policy

A_PAGE = 50
State = PurchaseState
VERDICTS = {
    State.REQUESTED: "warn",
    State.APPROVED: "pass",
    State.BUYING: "warn",
    State.UNKNOWN: "unknown",
    State.PAYING: "pass",
    State.BOUGHT: "pass",
    State.REFUSED: "deny",
    State.NOT_BOUGHT: "deny",
    State.CANCELLED: "plain",
    State.EXPIRED: "plain",
}


@access(Action.VIEW)
def purchases_page(request: HttpRequest) -> HttpResponse:
    """All purchases, what waits first, and the accounts that may buy."""
    return _list(request)


@access(Action.VIEW)
def purchase_page(request: HttpRequest, purchase_id: int) -> HttpResponse:
    """One purchase with its approvals, its dry run and every order that was sent."""
    return _one(request, _find(request, purchase_id))


@access(Action.DECIDE)
def purchase_ask(request: HttpRequest) -> HttpResponse:
    """Ask for a purchase of the offer in the address."""
    organisation = organisation_of(request)
    if request.method != "POST":
        names = ("region", "offer", "quantity", "recommendation")
        given = {name: request.GET[name].replace("\x00", "")[:100] for name in names if name in request.GET}
        return _ask(request, PurchaseForm(organisation=organisation, initial={"quantity": 1, **given}), given)
    form = PurchaseForm(request.POST, organisation=organisation)
    given = {name: request.POST.get(name, "").replace("\x00", "")[:100] for name in ("region", "offer")}
    if not form.is_valid():
        return _ask(request, form, given, status=422)
    asked = dict(form.cleaned_data)
    advice = asked.pop("recommendation")
    try:
        row = purchases.purchase_request(
            organisation=organisation,
            actor=_actor(request),
            buyer=buyer_find(organisation, asked.pop("account")),
            recommendation=recommendation_find(organisation, advice) if advice else None,
            now=datetime.now(UTC),
            **asked,
        )
    except ValidationError as error:
        _add_errors(form, error)
        return _ask(request, form, given, status=422)
    messages.success(request, _("The purchase waits for approval. Nothing is bought yet."))
    return redirect("dashboard:purchase", row.pk)


@require_POST
@access(Action.APPROVE_SPEND)
def purchase_yes(request: HttpRequest, purchase_id: int) -> HttpResponse:
    """One person's approval."""
    membership = cast(Membership, cast(SignedInRequest, request).membership)  # `access` saw to it

    def approve(**given: Any) -> Purchase:
        row = purchases.purchase_approve(membership=membership, **given)
        if row.state == State.APPROVED:
            transaction.on_commit(lambda: recommendations_purchase_hand_out(row.pk))
        return row

    return _changed(request, purchase_id, approve, _("Your approval is kept."))


@require_POST
@access(Action.DECIDE)
def purchase_try(request: HttpRequest, purchase_id: int) -> HttpResponse:
    """A dry run; buys nothing."""
    told = _("The provider was asked. Nothing was bought.")
    return _changed(request, purchase_id, purchase_trial, told, actor=_actor(request))


@require_POST
@access(Action.DECIDE)
def purchase_off(request: HttpRequest, purchase_id: int) -> HttpResponse:
    """Cancel it."""
    row, form = _find(request, purchase_id), WhyForm(request.POST)
    if not form.is_valid():
        return _one(request, row, status=422, cancel_form=form)
    told = _("The purchase is cancelled.")
    given = {"actor": _actor(request), "reason": form.cleaned_data["reason"]}
    return _changed(request, purchase_id, purchases.purchase_cancel, told, **given)


@require_POST
@access(Action.APPROVE_SPEND)
def purchase_settle(request: HttpRequest, purchase_id: int) -> HttpResponse:
    """Say what came of an order."""
    row, form = _find(request, purchase_id), WhyForm(request.POST)
    if not form.is_valid():
        return _one(request, row, status=422, settle_form=form)
    told = _("Your word is kept.")
    given = {"actor": _actor(request), "reason": form.cleaned_data["reason"], "reservations": form.ids()}
    return _changed(request, purchase_id, purchases.purchase_resolve, told, **given)


@require_POST
@access(Action.MANAGE_ORGANISATION)
def buyer_keep(request: HttpRequest) -> HttpResponse:
    """Name an account that may buy, or switch it."""
    form = BuyerForm(request.POST)
    if form.is_valid():
        try:
            buyer_save(organisation=organisation_of(request), actor=_actor(request), **form.cleaned_data)
        except ValidationError as error:
            _add_errors(form, error)
        else:
            messages.success(request, _("The account is kept."))
            return redirect("dashboard:purchases")
    return _list(request, status=422, buyer_form=form)


def _list(request: HttpRequest, status: int = 200, **forms: Any) -> HttpResponse:
    organisation = organisation_of(request)
    membership = cast(SignedInRequest, request).membership
    waiting = purchases_waiting(organisation)
    page = Paginator(purchase_list(organisation), A_PAGE).get_page(request.GET.get("p"))
    context = {
        "page": "deals",
        "tab": "purchases",
        "tabs": DEALS_TABS,
        "heading": _heading(waiting, page.paginator.count),
        "pages": page,
        "rows": [_row(row) for row in page],
        "buyers": list(buyer_list(organisation)),
        "buyer_form": BuyerForm(),
        "may_manage": allowed(membership, Action.MANAGE_ORGANISATION),
        "policy": json.dumps(buying_policy(), indent=2),
        "limit": purchases.second_approval_above(),
        **forms,
    }
    return render(request, "dashboard/purchases.html", context, status=status)


def _heading(waiting: int, count: int) -> str:
    if waiting:
        return ngettext(
            "[[%(n)d]] purchase waits for a person", "[[%(n)d]] purchases wait for a person", waiting
        ) % {"n": waiting}
    return _("No purchase waits for anybody") if count else _("Nothing has been bought here yet")


def _row(row: Purchase) -> dict[str, Any]:
    return {
        "it": row,
        "kind": VERDICTS[State(row.state)],
        "word": row.get_state_display(),
    }


def _one(request: HttpRequest, row: Purchase, status: int = 200, **forms: Any) -> HttpResponse:
    membership = cast(SignedInRequest, request).membership
    approvals = list(row.approvals.all())
    mine = membership is not None and any(
        one.user_id == membership.user_id or one.role == membership.role for one in approvals
    )
    context = {
        "page": "deals",
        "row": row,
        "told": _row(row),
        "once": once_of(_fills(row)),
        "fills": _fills(row),
        "approvals": approvals,
        "missing": max(row.approvals_needed - len(approvals), 0),
        "attempts": list(row.attempts.all()),
        "may_approve": allowed(membership, Action.APPROVE_SPEND),
        "may_ask": allowed(membership, Action.DECIDE),
        "mine": mine,
        "can_approve": row.state == State.REQUESTED,
        "can_cancel": row.state in {State.REQUESTED, State.APPROVED},
        "can_settle": row.state == State.UNKNOWN,
        "ended": row.state in ENDED,
        "cancel_form": WhyForm(),
        "settle_form": WhyForm(),
        **forms,
    }
    return render(request, "dashboard/purchase.html", context, status=status)


def _fills(row: Purchase) -> list[Fill]:
    return [Fill(Decimal(one["price"]), one["count"]) for one in row.filled]


def _ask(request: HttpRequest, form: PurchaseForm, given: dict[str, str], status: int = 200) -> HttpResponse:
    listings = open_offer(given.get("region", ""), given.get("offer", ""))
    context = {
        "page": "deals",
        "form": form,
        "listings": listings,
        "first": listings[0] if listings else None,
        "buyers": buyer_list(organisation_of(request)).filter(active=True).exists(),
        "limit": purchases.second_approval_above(),
    }
    return render(request, "dashboard/purchase_ask.html", context, status=status)


def _find(request: HttpRequest, purchase_id: int) -> Purchase:
    row = purchase_find(organisation_of(request), purchase_id)
    if row is None:
        raise Http404
    return row


def _changed(
    request: HttpRequest, purchase_id: int, change: Callable[..., Any], told: str, **given: Any
) -> HttpResponse:
    try:
        change(purchase=_find(request, purchase_id), now=datetime.now(UTC), **given)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, told)
    return redirect("dashboard:purchase", purchase_id)


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)


def _add_errors(form: Any, error: ValidationError) -> None:
    for field, texts in error.message_dict.items():
        form.add_error(field if field in form.fields else None, texts)
