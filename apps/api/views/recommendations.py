"""Recommendations: the inbox, one with its history, decisions one at a time and for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import NotAllowed, check
from apps.accounts.models import Membership
from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, Refused
from apps.api.strict import PageQuery, StrictSerializer
from apps.recommendations.kinds import kind_for, kinds
from apps.recommendations.models import Effort, Recommendation, RecommendationState
from apps.recommendations.selectors.inbox import (
    InboxFilter,
    check_filter,
    recommendation_find,
    recommendation_list,
)
from apps.recommendations.selectors.inbox_document import detail_document, inbox_document
from apps.recommendations.selectors.standing import standing
from apps.recommendations.services import decisions
from finops.engine.workload import WorkloadError

MAX_AT_ONCE = 100


class InboxQuery(PageQuery):
    """Which recommendations."""

    kind = serializers.CharField(required=False, max_length=40, help_text="launch_window, …")
    state = serializers.ChoiceField(choices=RecommendationState.values, required=False)
    team = serializers.CharField(required=False, max_length=50, help_text="Slug, or none.")
    owner = serializers.CharField(required=False, max_length=254, help_text="E-mail address, or none.")
    effort = serializers.ChoiceField(choices=Effort.values, required=False)

    def validate_kind(self, value: str) -> str:
        """A kind that is known."""
        known = [kind.name for kind in kinds()]
        if value not in known:
            raise serializers.ValidationError(_("Not known. Known: %(known)s.") % {"known": ", ".join(known)})
        return value


class _View(ApiView):
    tag = "recommendations"

    def find(self, recommendation_id: int) -> Recommendation:
        """The organisation's own; 404 for any other."""
        found = recommendation_find(self.organisation, recommendation_id)
        if found is None:
            raise NotFound(_("There is nothing at this address."))
        return found

    def decide(self, row: Recommendation, change: Callable[..., Recommendation], **given: Any) -> None:
        """Check the role for the kind, then change. 409 where the state forbids it."""
        if self.key is None:
            check(self.membership, kind_for(row.kind).decide)
        try:
            change(recommendation=row, actor=self.actor, now=timezone.now(), **given)
        except ValidationError as error:
            if "state" not in error.message_dict:
                raise
            raise Refused(error.message_dict["state"][0], code="wrong_state", status=409) from error

    def told(self, recommendation_id: int) -> Response:
        """The recommendation as it is now."""
        row = self.find(recommendation_id)
        return self.answer(detail_document(row, standing(self.organisation)))


class Inbox(_View):
    """The organisation's recommendations."""

    endpoints = {
        "GET": Endpoint(
            summary="Recommendations, largest monthly saving first, and what the best of them save together",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=InboxQuery,
            answer=OpenApiTypes.OBJECT,
            description=(
                "A page of the document of `recommendations`: its rows are `results`, `count`, `page`, "
                "`page_size` and `next` are as in every list. `totals` are over all rows that the filters "
                "name, not over the page; rows that claim the same are alternatives and counted once."
            ),
        )
    }

    def get(self, request: Request) -> Response:
        """A page of the document."""
        names = ("kind", "state", "team", "owner", "effort")
        given = {name: self.query[name] for name in names if name in self.query}
        chosen = InboxFilter(**given)
        try:
            check_filter(self.organisation, chosen)
        except WorkloadError as error:
            raise serializers.ValidationError({error.field: [error.message]}) from error
        rows = recommendation_list(self.organisation, chosen)
        ids = list(rows.values_list("pk", flat=True))
        number, size = self.query["page"], self.query["page_size"]
        start = (number - 1) * size
        if start >= len(ids) and number > 1:
            raise NotFound(_("There is no page %(number)d.") % {"number": number})
        shown = rows.filter(pk__in=ids[start : start + size])
        among = ids if given else None
        document = inbox_document(self.organisation, shown, now=timezone.now(), among=among)
        more = start + size < len(ids)
        return self.answer(
            {
                "count": len(ids),
                "page": number,
                "page_size": size,
                "next": self._page_address(number + 1) if more else None,
                "results": document.pop("recommendations"),
                **document,
            }
        )


class OneRecommendation(_View):
    """A recommendation."""

    endpoints = {
        "GET": Endpoint(
            summary="One recommendation with evidence, history, alternatives and realised months",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, recommendation_id: int) -> Response:
        """The document of `recommendation`."""
        return self.told(recommendation_id)


class WhyBody(StrictSerializer):
    """A remark for others."""

    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=500)


class DismissBody(StrictSerializer):
    """Why not."""

    reason = serializers.CharField(max_length=500, help_text="Others will read it.")


class LaterBody(WhyBody):
    """Until when."""

    until = serializers.DateField(help_text="The first day on which it is open again.")


class OwnerBody(StrictSerializer):
    """Who is to act."""

    owner = serializers.EmailField(allow_null=True, max_length=254, help_text="A member; null: nobody.")


def _post(summary: str, body: type[StrictSerializer], description: str = "") -> dict[str, Endpoint]:
    return {
        "POST": Endpoint(
            summary=summary,
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            body=body,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
            description=description or "The same decision again changes nothing and gives the same answer.",
        )
    }


class Accept(_View):
    """Accept one."""

    endpoints = _post("Accept a recommendation: the counterfactual is fixed from now on", WhyBody)

    def post(self, request: Request, recommendation_id: int) -> Response:
        """The recommendation."""
        self.decide(self.find(recommendation_id), decisions.recommendation_accept, **self.body)
        return self.told(recommendation_id)


class Done(_View):
    """Carry one out."""

    endpoints = _post("Say that an accepted recommendation was carried out", WhyBody)

    def post(self, request: Request, recommendation_id: int) -> Response:
        """The recommendation."""
        self.decide(self.find(recommendation_id), decisions.recommendation_done, **self.body)
        return self.told(recommendation_id)


class Dismiss(_View):
    """Dismiss one."""

    endpoints = _post("Dismiss a recommendation, with a reason", DismissBody)

    def post(self, request: Request, recommendation_id: int) -> Response:
        """The recommendation."""
        self.decide(self.find(recommendation_id), decisions.recommendation_dismiss, **self.body)
        return self.told(recommendation_id)


class Snooze(_View):
    """Set one aside."""

    endpoints = _post("Set a recommendation aside until a day", LaterBody)

    def post(self, request: Request, recommendation_id: int) -> Response:
        """The recommendation."""
        self.decide(self.find(recommendation_id), decisions.recommendation_snooze, **self.body)
        return self.told(recommendation_id)


class Reopen(_View):
    """Take a decision back."""

    endpoints = _post("Open a recommendation again: the decision on it is taken back", WhyBody)

    def post(self, request: Request, recommendation_id: int) -> Response:
        """The recommendation."""
        self.decide(self.find(recommendation_id), decisions.recommendation_reopen, **self.body)
        return self.told(recommendation_id)


class Assign(_View):
    """Give one to somebody."""

    endpoints = _post("Say who is to act on a recommendation", OwnerBody)

    def post(self, request: Request, recommendation_id: int) -> Response:
        """The recommendation."""
        row, email = self.find(recommendation_id), self.body["owner"]
        members = Membership.objects.filter(organisation=self.organisation, user__email=(email or "").lower())
        member = members.first()
        if email and member is None:
            raise serializers.ValidationError({"owner": [_("Choose a member of this organisation.")]})
        owner_id = member.user_id if member else None
        self.decide(row, decisions.recommendation_assign, owner_id=owner_id)
        return self.told(recommendation_id)


class ManyBody(LaterBody):
    """Which ones, and what to do with each."""

    ids = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), min_length=1, max_length=MAX_AT_ONCE
    )
    decision = serializers.ChoiceField(choices=["accept", "done", "dismiss", "snooze", "reopen"])
    until = serializers.DateField(required=False, help_text="For snooze.")

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """What the decision needs is there, and nothing that it does not take."""
        decision = values["decision"]
        if decision == "dismiss" and not values["reason"].strip():
            raise serializers.ValidationError({"reason": [_("Say why: others will read it.")]})
        if (decision == "snooze") != ("until" in values):
            raise serializers.ValidationError({"until": [_("A snooze needs a day, and nothing else does.")]})
        return values


_CHANGES: dict[str, Callable[..., Recommendation]] = {
    "accept": decisions.recommendation_accept,
    "done": decisions.recommendation_done,
    "dismiss": decisions.recommendation_dismiss,
    "snooze": decisions.recommendation_snooze,
    "reopen": decisions.recommendation_reopen,
}


class Many(_View):
    """Decide on many at once."""

    endpoints = _post(
        "Decide on several recommendations; each by itself, so some may be refused",
        ManyBody,
        "`results`: for each id, as given, its state now and the error that kept it there, or null.",
    )

    def post(self, request: Request) -> Response:
        """What became of each."""
        given = dict(self.body)
        ids, change = given.pop("ids"), _CHANGES[given.pop("decision")]
        return self.answer({"results": [self._one(pk, change, given) for pk in dict.fromkeys(ids)]})

    def _one(self, pk: int, change: Callable[..., Recommendation], given: dict[str, Any]) -> dict[str, Any]:
        error = None
        try:
            self.decide(self.find(pk), change, **given)
        except ValidationError as wrong:
            field, messages = next(iter(wrong.message_dict.items()))
            error = {"code": "invalid", "field": field, "message": messages[0]}
        except NotAllowed as refused:
            error = {"code": "not_allowed", "field": "", "message": str(refused)}
        except NotFound as missing:
            error = {"code": "not_found", "field": "", "message": str(missing.detail)}
        except Refused as conflict:
            error = {"code": "wrong_state", "field": "state", "message": str(conflict.detail)}
        row = recommendation_find(self.organisation, pk)
        return {"id": pk, "state": row.state if row else None, "error": error}
