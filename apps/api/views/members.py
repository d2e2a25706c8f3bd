"""People in the organisation: invitations, roles, one-time links, and the end of a membership."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Membership
from apps.accounts.roles import Action, Role
from apps.accounts.selectors import member_list
from apps.accounts.services import member_invite, member_link, member_remove, member_role_change
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import PageQuery, StrictSerializer, UtcDateTimeField


class MemberAnswer(serializers.Serializer[Any]):
    """One person's membership."""

    id = serializers.IntegerField(help_text="Of the membership.")
    email = serializers.EmailField(source="user.email")
    name = serializers.CharField(source="user.name", help_text="Empty where none was given.")
    role = serializers.ChoiceField(choices=Role.choices)
    active = serializers.BooleanField(source="user.is_active", help_text="False: the account is disabled.")
    password_set = serializers.SerializerMethodField(
        help_text="False: the link was not used yet, or the person comes by SSO."
    )
    second_factor = serializers.SerializerMethodField(help_text="True: sign-in asks for a code too.")
    teams = serializers.SerializerMethodField(help_text="Slugs.")
    created_at = UtcDateTimeField(help_text="When the membership began.")

    @extend_schema_field(serializers.BooleanField())
    def get_password_set(self, member: Membership) -> bool:
        """Whether the person can sign in with a password."""
        return member.user.has_usable_password()

    @extend_schema_field(serializers.BooleanField())
    def get_second_factor(self, member: Membership) -> bool:
        """Whether the person has set one up."""
        return getattr(member.user, "second_factor", None) is not None

    @extend_schema_field(serializers.ListField(child=serializers.SlugField()))
    def get_teams(self, member: Membership) -> list[str]:
        """From the rows that the list has fetched already."""
        return sorted(team.slug for team in member.teams.all())


class LinkAnswer(serializers.Serializer[Any]):
    """A link by which a person sets a password: shown this once, works once."""

    member = MemberAnswer()
    link = serializers.URLField(
        allow_null=True, help_text="Null where the person has a password already and needs none."
    )
    valid_hours = serializers.IntegerField(allow_null=True)


class InvitationBody(StrictSerializer):
    """Whom and as what."""

    email = serializers.EmailField(max_length=254)
    role = serializers.ChoiceField(choices=Role.choices)
    name = serializers.CharField(required=False, max_length=150, default="", allow_blank=True)


class RoleBody(StrictSerializer):
    """The new role."""

    role = serializers.ChoiceField(choices=Role.choices)


def _with_link(view: ApiView, member: Membership, path: str | None) -> Response:
    """The member with the absolute address of the link; no cache may keep it."""
    found = {
        "member": member,
        "link": view.request.build_absolute_uri(path) if path else None,
        "valid_hours": settings.PASSWORD_RESET_TIMEOUT // 3600 if path else None,
    }
    response = view.answer(found)
    response["Cache-Control"] = "no-store"
    return response


class Members(ApiView):
    """The organisation's people."""

    tag = "accounts"
    endpoints = {
        "GET": Endpoint(
            summary="List members by address",
            action=Action.MANAGE_MEMBERS,
            scope=None,
            query=PageQuery,
            answer=page_of(MemberAnswer),
        ),
        "POST": Endpoint(
            summary="Invite a person; a new account's link to set a password is shown once",
            secret=True,
            action=Action.MANAGE_MEMBERS,
            scope=None,
            body=InvitationBody,
            answer=LinkAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page of members."""
        return self.page(member_list(self.organisation))

    def post(self, request: Request) -> Response:
        """The member with the link."""
        made = member_invite(organisation=self.organisation, actor=self.actor, **self.body)
        return _with_link(self, made.membership, made.path)


class OneMember(ApiView):
    """One membership."""

    tag = "accounts"
    endpoints = {
        "GET": Endpoint(
            summary="Read a member",
            action=Action.MANAGE_MEMBERS,
            scope=None,
            answer=MemberAnswer,
        ),
        "PATCH": Endpoint(
            summary="Give a member another role",
            description="Refused for the last admin.",
            action=Action.MANAGE_MEMBERS,
            scope=None,
            body=RoleBody,
            answer=MemberAnswer,
        ),
        "DELETE": Endpoint(
            summary="End a membership",
            description="Refused for the last admin. An account without any other membership is disabled.",
            action=Action.MANAGE_MEMBERS,
            scope=None,
            answer=None,
            status=204,
        ),
    }

    def get(self, request: Request, member_id: int) -> Response:
        """The member."""
        return self.answer(found_or_404(member_list(self.organisation), pk=member_id))

    def patch(self, request: Request, member_id: int) -> Response:
        """The member in the new role; the same role again changes nothing."""
        member = found_or_404(member_list(self.organisation), pk=member_id)
        return self.answer(member_role_change(membership=member, role=self.body["role"], actor=self.actor))

    def delete(self, request: Request, member_id: int) -> Response:
        """Nothing."""
        member = found_or_404(member_list(self.organisation), pk=member_id)
        member_remove(membership=member, actor=self.actor)
        return self.answer(None)


class MemberLink(ApiView):
    """A lost invitation, a forgotten password."""

    tag = "accounts"
    endpoints = {
        "POST": Endpoint(
            summary="Make a new link to set a password; links made before stop working",
            secret=True,
            action=Action.MANAGE_MEMBERS,
            scope=None,
            answer=LinkAnswer,
            status=201,
        )
    }

    def post(self, request: Request, member_id: int) -> Response:
        """The member with the link."""
        member = found_or_404(member_list(self.organisation), pk=member_id)
        return _with_link(self, member, member_link(membership=member, actor=self.actor))
