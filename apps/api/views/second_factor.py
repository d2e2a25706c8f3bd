"""Who must sign in with a second factor, and taking one away where the device is lost."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Organisation
from apps.accounts.roles import Action
from apps.accounts.selectors import member_list
from apps.accounts.services import member_second_factor_reset, second_factor_require
from apps.api.endpoint import ApiView, Endpoint, found_or_404
from apps.api.strict import StrictSerializer
from apps.api.views.members import MemberAnswer


class SecondFactorAnswer(serializers.Serializer[Any]):
    """What the organisation asks for."""

    required = serializers.BooleanField(  # type: ignore[assignment]
        help_text="True: whoever signs in with a password needs one."
    )
    members = serializers.IntegerField(help_text="Members in all.")
    enrolled = serializers.IntegerField(help_text="Members who have one.")


class SecondFactorBody(StrictSerializer):
    """What to ask for."""

    required = serializers.BooleanField(  # type: ignore[assignment]
        help_text="True: whoever signs in with a password needs one."
    )


def _state(organisation: Organisation) -> dict[str, Any]:
    members = member_list(organisation)
    return {
        "required": organisation.second_factor_required,
        "members": members.count(),
        "enrolled": members.filter(user__second_factor__isnull=False).count(),
    }


class OrganisationSecondFactor(ApiView):
    """The organisation's rule about second factors."""

    tag = "accounts"
    endpoints = {
        "GET": Endpoint(
            summary="Whether members need a second factor, and how many have one",
            action=Action.MANAGE_MEMBERS,
            scope=None,
            answer=SecondFactorAnswer,
        ),
        "PUT": Endpoint(
            summary="Ask every member who signs in with a password for a second factor, or no longer",
            description="Pages and session requests of a member without one are refused until it is set up. "
            "Keys, and people who come by the company's sign-in service, are not asked.",
            action=Action.MANAGE_MEMBERS,
            scope=None,
            body=SecondFactorBody,
            answer=SecondFactorAnswer,
        ),
    }

    def get(self, request: Request) -> Response:
        """The rule."""
        return self.answer(_state(self.organisation))

    def put(self, request: Request) -> Response:
        """The rule as it is now; the same again changes nothing."""
        organisation = second_factor_require(
            organisation=self.organisation, required=self.body["required"], actor=self.actor
        )
        return self.answer(_state(organisation))


class MemberSecondFactor(ApiView):
    """A lost device."""

    tag = "accounts"
    endpoints = {
        "POST": Endpoint(
            summary="Take a member's second factor away; they sign in with the password alone",
            description="For a lost device. Refused for somebody of another organisation too.",
            action=Action.MANAGE_MEMBERS,
            scope=None,
            answer=MemberAnswer,
        )
    }

    def post(self, request: Request, member_id: int) -> Response:
        """The member without it; where there was none nothing is changed."""
        member = found_or_404(member_list(self.organisation), pk=member_id)
        member_second_factor_reset(membership=member, actor=self.actor)
        return self.answer(found_or_404(member_list(self.organisation), pk=member_id))
