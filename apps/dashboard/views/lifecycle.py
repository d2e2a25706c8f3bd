"""Changes of lifecycle rules: what waits, one in full, asking, approving, taking back; accounts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
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
from apps.dashboard.forms_storage import AccountForm, ChangeForm, ReasonForm
from apps.dashboard.tabs import STORAGE_TABS
from apps.dashboard.views.spend import organisation_of
from apps.dashboard.views.storage import add_errors, group_with, rules_of
from apps.recommendations.models import ChangeState, LifecycleChange, Recommendation
from apps.recommendations.selectors.inbox import WAITING
from apps.recommendations.selectors.storage import (
    change_find,
    change_list,
    changes_waiting,
    storage_account_list,
)
from apps.recommendations.services import storage_changes as changes
from apps.recommendations.services.storage_applying import change_trial
from apps.recommendations.services.storage_rows import KIND
from apps.recommendations.services.storage_words import storage_account_save
from apps.recommendations.tasks import recommendations_lifecycle_hand_out
from apps.storage.selectors import buckets_visible
from finops.providers.aws.lifecycle import lifecycle_policy

A_PAGE = 50
State = ChangeState
VERDICTS = {
    State.REQUESTED: "warn",
    State.APPROVED: "pass",
    State.APPLYING: "warn",
    State.APPLIED: "pass",
    State.REFUSED: "deny",
    State.CANCELLED: "plain",
    State.EXPIRED: "plain",
}


@access(Action.VIEW)
def changes_page(request: HttpRequest) -> HttpResponse:
    """All changes, and the accounts whose rules may be written."""
    return _list(request)


@access(Action.VIEW)
def change_page(request: HttpRequest, change_id: int) -> HttpResponse:
    """One change with its diff, approvals and way back."""
    return _one(request, _find(request, change_id))


@require_POST
@access(Action.DECIDE)
def change_ask(request: HttpRequest) -> HttpResponse:
    """Ask for the rule of the advice for a prefix."""
    organisation = organisation_of(request)
    form = ChangeForm(request.POST, organisation=organisation)
    if form.is_valid():
        given = form.cleaned_data
        place = (given["bucket"], given["path"], given["state"])
        row = Recommendation.objects.filter(
            organisation=organisation, kind=KIND, state__in=WAITING,
            subject__endswith=":" + ":".join(place),
        ).first()  # fmt: skip
        try:
            made = changes.change_request(
                organisation=organisation, actor=_actor(request), bucket=place[0], now=datetime.now(UTC),
                account=storage_account_list(organisation).filter(account=given["account"]).first(),
                rules=rules_of(request, *place), recommendation=row, reason=given["reason"],
            )  # fmt: skip
        except ValidationError as error:
            add_errors(form, error)
        else:
            messages.success(request, _("The change waits for approval. Nothing is written yet."))
            return redirect("dashboard:storage-change", made.pk)
    return group_with(request, change_form=form)


@require_POST
@access(Action.DECIDE)
def change_yes(request: HttpRequest, change_id: int) -> HttpResponse:
    """One person's approval."""
    membership = cast(Membership, cast(SignedInRequest, request).membership)  # `access` saw to it

    def approve(**given: Any) -> LifecycleChange:
        row = changes.change_approve(membership=membership, **given)
        if row.state == State.APPROVED and not row.deletes:
            transaction.on_commit(lambda: recommendations_lifecycle_hand_out(row.pk))
        return row

    return _changed(request, change_id, approve, _("Your approval is kept."))


@require_POST
@access(Action.DECIDE)
def change_try(request: HttpRequest, change_id: int) -> HttpResponse:
    """A dry run; writes nothing."""
    told = _("The bucket was asked. Nothing was written.")
    return _changed(request, change_id, change_trial, told, actor=_actor(request))


@require_POST
@access(Action.DECIDE)
def change_off(request: HttpRequest, change_id: int) -> HttpResponse:
    """Cancel it."""
    row, form = _find(request, change_id), ReasonForm(request.POST)
    if not form.is_valid():
        return _one(request, row, status=422, cancel_form=form)
    given = {"actor": _actor(request), "reason": form.cleaned_data["reason"]}
    return _changed(request, change_id, changes.change_cancel, _("The change is cancelled."), **given)


@require_POST
@access(Action.DECIDE)
def change_back(request: HttpRequest, change_id: int) -> HttpResponse:
    """Ask for the rules as they were before."""
    try:
        made = changes.change_revert(
            change=_find(request, change_id), actor=_actor(request), now=datetime.now(UTC)
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("dashboard:storage-change", change_id)
    messages.success(request, _("The way back waits for approval. Nothing is written yet."))
    return redirect("dashboard:storage-change", made.pk)


@require_POST
@access(Action.MANAGE_ORGANISATION)
def account_keep(request: HttpRequest) -> HttpResponse:
    """Name an account whose rules may be written, or switch it."""
    form = AccountForm(request.POST)
    if form.is_valid():
        try:
            storage_account_save(
                organisation=organisation_of(request), actor=_actor(request), **form.cleaned_data
            )
        except ValidationError as error:
            add_errors(form, error)
        else:
            messages.success(request, _("The account is kept."))
            return redirect("dashboard:storage-changes")
    return _list(request, status=422, account_form=form)


def _list(request: HttpRequest, status: int = 200, **forms: Any) -> HttpResponse:
    organisation = organisation_of(request)
    membership = cast(SignedInRequest, request).membership
    page = Paginator(change_list(organisation), A_PAGE).get_page(request.GET.get("p"))
    names = sorted(buckets_visible(organisation=organisation).values_list("name", flat=True))
    context = {
        "page": "storage",
        "tab": "storage-changes",
        "tabs": STORAGE_TABS,
        "heading": _heading(changes_waiting(organisation), page.paginator.count),
        "pages": page,
        "rows": [_row(row) for row in page],
        "accounts": list(storage_account_list(organisation)),
        "account_form": AccountForm(),
        "may_manage": allowed(membership, Action.MANAGE_ORGANISATION),
        "policy": json.dumps(lifecycle_policy(names[:100] or ["BUCKET"], write=True), indent=2),
        **forms,
    }
    return render(request, "dashboard/storage_changes.html", context, status=status)


def _heading(waiting: int, count: int) -> str:
    if waiting:
        return ngettext(
            "[[%(n)d]] change of lifecycle rules waits for a person",
            "[[%(n)d]] changes of lifecycle rules wait for a person",
            waiting,
        ) % {"n": waiting}
    if count:
        return _("No change of lifecycle rules waits for anybody")
    return _("No rule has been changed here yet")


def _row(row: LifecycleChange) -> dict[str, Any]:
    return {"it": row, "kind": VERDICTS[State(row.state)], "word": row.get_state_display()}


def _one(request: HttpRequest, row: LifecycleChange, status: int = 200, **forms: Any) -> HttpResponse:
    membership = cast(SignedInRequest, request).membership
    approvals = list(row.approvals.all())
    context = {
        "page": "storage",
        "row": row,
        "told": _row(row),
        "rules_before": len(row.before.get("Rules") or []),
        "rules_after": len(row.after.get("Rules") or []),
        "diff": [_diff_line(line) for line in row.diff],
        "rollback": json.dumps(row.rollback, indent=2) if row.rollback is not None else "",
        "after": json.dumps(row.after, indent=2),
        "approvals": approvals,
        "missing": max(row.approvals_needed - len(approvals), 0),
        "mine": membership is not None and any(one.user_id == membership.user_id for one in approvals),
        "may_decide": allowed(membership, Action.DECIDE),
        "can_approve": row.state == State.REQUESTED,
        "can_cancel": row.state in {State.REQUESTED, State.APPROVED},
        "can_go_back": row.state == State.APPLIED and row.rollback is not None,
        "cancel_form": ReasonForm(),
        **forms,
    }
    return render(request, "dashboard/storage_change.html", context, status=status)


def _diff_line(line: str) -> tuple[str, str]:
    """(kind, text) of a line of the diff."""
    if line.startswith(("+++", "---", "@@")):
        return "head", line
    return {"+": "add", "-": "drop"}.get(line[:1], ""), line


def _find(request: HttpRequest, change_id: int) -> LifecycleChange:
    row = change_find(organisation_of(request), change_id)
    if row is None:
        raise Http404
    return row


def _changed(
    request: HttpRequest, change_id: int, change: Callable[..., Any], told: str, **given: Any
) -> HttpResponse:
    try:
        change(change=_find(request, change_id), now=datetime.now(UTC), **given)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, told)
    return redirect("dashboard:storage-change", change_id)


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)
