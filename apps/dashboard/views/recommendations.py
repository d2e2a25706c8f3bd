"""Recommendations: the inbox, one in full, decisions one at a time and for many."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import NotAllowed, access, check
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Organisation
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import member_list, team_list
from apps.dashboard import inbox
from apps.dashboard.presenters import recommendations as words
from apps.dashboard.spend import bill_age
from apps.dashboard.views.spend import organisation_of
from apps.recommendations.kinds import kind_for, kinds
from apps.recommendations.models import Effort, Recommendation, RecommendationState
from apps.recommendations.selectors.inbox import NOBODY, InboxFilter, recommendation_find, recommendation_list
from apps.recommendations.selectors.inbox_document import card_of
from apps.recommendations.selectors.standing import monthly, standing
from apps.recommendations.services import decisions

A_PAGE = 25
SNOOZE_DAYS = 14
ZERO = Decimal(0)
NAMES = ("kind", "state", "team", "owner", "effort")
Change = Callable[..., Recommendation]
CHANGES: dict[str, tuple[Change, Any, Any]] = {
    "accept": (
        decisions.recommendation_accept,
        gettext_lazy("One recommendation is accepted."),
        gettext_lazy("%(n)s recommendations are accepted."),
    ),
    "done": (
        decisions.recommendation_done,
        gettext_lazy("One recommendation is carried out."),
        gettext_lazy("%(n)s recommendations are carried out."),
    ),
    "dismiss": (
        decisions.recommendation_dismiss,
        gettext_lazy("One recommendation is dismissed."),
        gettext_lazy("%(n)s recommendations are dismissed."),
    ),
    "snooze": (
        decisions.recommendation_snooze,
        gettext_lazy("One recommendation is snoozed."),
        gettext_lazy("%(n)s recommendations are snoozed."),
    ),
    "reopen": (
        decisions.recommendation_reopen,
        gettext_lazy("One recommendation is open again."),
        gettext_lazy("%(n)s recommendations are open again."),
    ),
}


class DecisionForm(forms.Form):
    """Which ones, and what to do with each."""

    decision = forms.ChoiceField(choices=[(name, name) for name in CHANGES])
    ids = forms.TypedMultipleChoiceField(coerce=int)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=500, required=False)
    until = forms.DateField(label=gettext_lazy("Until"), required=False)

    def __init__(self, *args: Any, organisation: Organisation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = recommendation_list(organisation).order_by("pk").values_list("pk", flat=True)
        self.fields["ids"].choices = [(pk, pk) for pk in rows]  # type: ignore[attr-defined]
        self.fields["ids"].error_messages["required"] = _("Choose at least one recommendation.")

    def clean(self) -> dict[str, Any]:
        """A snooze has a day."""
        found = super().clean() or {}
        if found.get("decision") == "snooze" and not found.get("until"):
            raise ValidationError({"until": _("Choose a day after today and within a year.")})
        return found


def filter_of(request: HttpRequest, organisation: Organisation) -> tuple[InboxFilter, dict[str, str]]:
    """The filter of the address; what it does not know is left out. Without a state: the open ones."""
    known = {
        "kind": {kind.name for kind in kinds()},
        "state": {*RecommendationState.values, inbox.ALL},
        "effort": set(Effort.values),
        "team": {team.slug for team in team_list(organisation)} | {NOBODY},
        "owner": {one.user.email for one in member_list(organisation)} | {NOBODY},
    }
    given = {name: request.GET.get(name, "").replace("\x00", "")[:254] for name in NAMES}
    given = {name: value if value in known.get(name, {value}) else "" for name, value in given.items()}
    given["state"] = given["state"] or RecommendationState.OPEN
    asked = {**given, "state": "" if given["state"] == inbox.ALL else given["state"]}
    return InboxFilter(**asked), given


@access(Action.VIEW)
def inbox_page(request: HttpRequest) -> HttpResponse:
    """The inbox; filters live in the address."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    chosen, given = filter_of(request, organisation)
    rows = recommendation_list(organisation, chosen)
    narrowed = any(given[name] for name in NAMES if name != "state")
    ids = set(rows.values_list("pk", flat=True)) if narrowed else None
    found = standing(organisation, ids)
    page = Paginator(rows, A_PAGE).get_page(request.GET.get("p"))
    waiting = sum(ids is None or row.pk in ids for row in found.rows)
    ever = bool(found.rows) or recommendation_list(organisation).exists()
    bills_end = inbox.bills_end(organisation, now)
    membership = cast(SignedInRequest, request).membership
    context: dict[str, Any] = {
        "page": "recommendations",
        "data_age": bill_age(organisation, now),
        "heading": words.heading(found, waiting, ever, bills_end),
        "lead": words.lead(found),
        "method": words.method_note(found.totals),
        "kpis": inbox.figures(organisation, found, now),
        "cards": words.cards(
            [card_of(row, found) for row in page], inbox.titles_of(organisation, page, found)
        ),
        "pages": page,
        "given": given,
        "choices": inbox.choices(organisation, given),
        "ever": ever,
        "looks": inbox.looks(organisation, now),
        "bills_end": bills_end,
        "mixed": len(found.mixed),
        "may": allowed(membership, Action.DECIDE),
        "until": (now.date() + timedelta(days=SNOOZE_DAYS)).isoformat(),
        "here": request.get_full_path(),
    }
    return render(request, "dashboard/recommendations.html", context)


@access(Action.VIEW)
def one_page(request: HttpRequest, recommendation_id: int) -> HttpResponse:
    """One with its evidence, alternatives, history and what bills say."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    row = recommendation_find(organisation, recommendation_id)
    if row is None:
        raise Http404
    found = standing(organisation)
    card = card_of(row, found)
    amount = monthly(row)
    scale = (min(amount.low, ZERO), max(amount.high, ZERO))
    membership = cast(SignedInRequest, request).membership
    kind = kind_for(row.kind)
    months = list(row.realised.all())
    context: dict[str, Any] = {
        "page": "recommendations",
        "data_age": bill_age(organisation, now),
        "row": row,
        "card": words.view(card, inbox.titles_of(organisation, [row], found), scale),
        "kind_title": str(kind.title),
        "lines": card.sentence.lines,
        "months": words.months(months),
        "closed": inbox.closed_months(months),
        "history": words.history(list(row.events.all())),
        "members": member_list(organisation),
        "may": allowed(membership, kind.decide),
        "roles": inbox.roles_word(kind.decide),
        "can": inbox.possible(row, now),
        "until": (now.date() + timedelta(days=SNOOZE_DAYS)).isoformat(),
    }
    return render(request, "dashboard/recommendation.html", context)


@require_POST
@access(Action.DECIDE)
def decide(request: HttpRequest) -> HttpResponse:
    """Decide on one or many, each by itself; what is refused is said and stays as it was."""
    organisation = organisation_of(request)
    form = DecisionForm(request.POST, organisation=organisation)
    back = redirect(_next(request))
    if not form.is_valid():
        messages.error(request, " ".join(str(one) for found in form.errors.values() for one in found))
        return back
    change, single, plural = CHANGES[form.cleaned_data["decision"]]
    actor = Actor.of_user(cast(SignedInRequest, request).user)
    given: dict[str, Any] = {"actor": actor, "now": datetime.now(UTC), "reason": form.cleaned_data["reason"]}
    if form.cleaned_data["decision"] == "snooze":
        given["until"] = form.cleaned_data["until"]
    done, refused = 0, []
    for row in recommendation_list(organisation).filter(pk__in=form.cleaned_data["ids"]).order_by("pk"):
        try:
            check(cast(SignedInRequest, request).membership, kind_for(row.kind).decide)
            change(recommendation=row, **given)
            done += 1
        except NotAllowed as error:
            refused.append(str(error))
        except ValidationError as error:
            refused.append(" ".join(error.messages))
    if done:
        messages.success(request, ngettext(str(single), str(plural), done) % {"n": done})
    for text in dict.fromkeys(refused):
        messages.error(request, text)
    return back


@require_POST
@access(Action.DECIDE)
def owner(request: HttpRequest, recommendation_id: int) -> HttpResponse:
    """Give it to a member, or to nobody."""
    organisation = organisation_of(request)
    row = recommendation_find(organisation, recommendation_id)
    if row is None:
        raise Http404
    check(cast(SignedInRequest, request).membership, kind_for(row.kind).decide)
    text = request.POST.get("owner", "")
    try:
        decisions.recommendation_assign(
            recommendation=row,
            actor=Actor.of_user(cast(SignedInRequest, request).user),
            now=datetime.now(UTC),
            owner_id=int(text) if text.isdecimal() and len(text) < 19 else None,
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("The owner is changed."))
    return redirect("dashboard:recommendation", row.pk)


def _next(request: HttpRequest) -> str:
    """Where the form was, as long as it is a page of ours."""
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        return wanted
    return reverse("dashboard:recommendations")
