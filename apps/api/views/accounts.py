"""Who am I, API keys, audit trail."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.audit_chain import BATCH, chain_rows, chain_state
from apps.accounts.models import ActorKind, ApiKey
from apps.accounts.roles import ROLE_ACTIONS, Action, Role, Scope
from apps.accounts.selectors import api_key_list, audit_list, team_list
from apps.accounts.services import api_key_create, api_key_revoke
from apps.accounts.services.keys import DEFAULT_LIFE_DAYS, MAX_LIFE_DAYS
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import PageQuery, StrictQuery, StrictSerializer, UtcDateTimeField


class MeAnswer(serializers.Serializer[Any]):
    """Who calls and what they may do."""

    kind = serializers.ChoiceField(choices=["user", "key"])
    label = serializers.CharField(  # type: ignore[assignment]
        help_text="Address of a person, name and prefix of a key."
    )
    organisation = serializers.CharField(help_text="Slug.")
    role = serializers.ChoiceField(choices=Role.choices, allow_null=True)
    actions = serializers.ListField(child=serializers.CharField(), help_text="What the role may do.")
    scopes = serializers.ListField(child=serializers.CharField(), help_text="What the key may do.")
    expires_at = UtcDateTimeField(allow_null=True, help_text="End of the key.")


class Me(ApiView):
    """The caller."""

    tag = "accounts"
    endpoints = {
        "GET": Endpoint(
            summary="Who calls and what they may do",
            action=Action.VIEW,
            scope="any",
            answer=MeAnswer,
        )
    }

    def get(self, request: Request) -> Response:
        """The person's role or the key's scopes."""
        role = Role(self.membership.role) if self.membership else None
        return self.answer(
            {
                "kind": self.actor.kind,
                "label": self.actor.label,
                "organisation": self.organisation.slug,
                "role": role,
                "actions": sorted(ROLE_ACTIONS[role]) if role else [],
                "scopes": self.key.scopes if self.key else [],
                "expires_at": self.key.expires_at if self.key else None,
            }
        )


class KeyAnswer(serializers.Serializer[Any]):
    """A key without its secret."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    prefix = serializers.CharField(help_text="The part of the token that may be shown.")
    team = serializers.SlugField(source="team.slug", allow_null=True, default=None)
    scopes = serializers.ListField(child=serializers.CharField())
    state = serializers.SerializerMethodField()
    created_at = UtcDateTimeField()
    created_by = serializers.EmailField(source="created_by.email", allow_null=True, default=None)
    expires_at = UtcDateTimeField()
    last_used_at = UtcDateTimeField(allow_null=True, help_text="To the minute.")
    revoked_at = UtcDateTimeField(allow_null=True)

    @extend_schema_field(serializers.ChoiceField(choices=["active", "expired", "revoked"]))
    def get_state(self, key: ApiKey) -> str:
        """State at this moment."""
        return key.state(timezone.now())


class NewKeyAnswer(KeyAnswer):
    """A key just made: the only time that its token is shown."""

    token = serializers.CharField(help_text="opk_<prefix>_<secret>; it is not kept and not shown again.")


class NewKeyBody(StrictSerializer):
    """What a new key may do and for how long."""

    name = serializers.CharField(max_length=100, help_text="What uses it: `nightly training, CI`.")
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=[scope.value for scope in Scope]), allow_empty=False
    )
    expires_days = serializers.IntegerField(
        min_value=1, max_value=MAX_LIFE_DAYS, default=DEFAULT_LIFE_DAYS, help_text="Days from now."
    )
    team = serializers.SlugField(required=False, max_length=50, help_text="Slug of the team it belongs to.")


class Keys(ApiView):
    """The organisation's keys."""

    tag = "accounts"
    endpoints = {
        "GET": Endpoint(
            summary="List API keys",
            action=Action.MANAGE_KEYS,
            scope=None,
            query=PageQuery,
            answer=page_of(KeyAnswer),
        ),
        "POST": Endpoint(
            summary="Make an API key; its token is shown once",
            action=Action.MANAGE_KEYS,
            scope=None,
            body=NewKeyBody,
            answer=NewKeyAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """Newest first, with expired and revoked ones."""
        return self.page(api_key_list(self.organisation))

    def post(self, request: Request) -> Response:
        """The new key with its token."""
        slug = self.body.get("team")
        team = found_or_404(team_list(self.organisation), slug=slug) if slug else None
        key, token = api_key_create(
            organisation=self.organisation,
            actor=self.actor,
            name=self.body["name"],
            scopes=self.body["scopes"],
            expires_days=self.body["expires_days"],
            team=team,
            now=timezone.now(),
        )
        key.token = token  # type: ignore[attr-defined]
        return self.answer(key)


class RevokeKey(ApiView):
    """The end of a key."""

    tag = "accounts"
    endpoints = {
        "POST": Endpoint(
            summary="Revoke an API key, at once and for good",
            action=Action.MANAGE_KEYS,
            scope=None,
            answer=KeyAnswer,
        )
    }

    def post(self, request: Request, key_id: int) -> Response:
        """The revoked key; a repeat changes nothing."""
        key = found_or_404(api_key_list(self.organisation), pk=key_id)
        return self.answer(api_key_revoke(key=key, actor=self.actor, now=timezone.now()))


class AuditQuery(PageQuery):
    """Filters of the trail."""

    action = serializers.CharField(required=False, max_length=60, help_text="`api_key.create`")
    object_type = serializers.CharField(required=False, max_length=60, help_text="`accounts.apikey`")
    object_id = serializers.CharField(required=False, max_length=100)


class AuditAnswer(serializers.Serializer[Any]):
    """Who did what to which object, when."""

    id = serializers.IntegerField()
    at = UtcDateTimeField()
    actor_kind = serializers.ChoiceField(choices=ActorKind.choices)
    actor_id = serializers.IntegerField(allow_null=True)
    actor = serializers.CharField(source="actor_label")
    action = serializers.CharField()
    object_type = serializers.CharField()
    object_id = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    request_id = serializers.CharField()


class Audit(ApiView):
    """The organisation's trail."""

    tag = "accounts"
    endpoints = {
        "GET": Endpoint(
            summary="Read the audit trail, newest first",
            action=Action.VIEW_AUDIT,
            scope=Scope.READ_AUDIT,
            query=AuditQuery,
            answer=page_of(AuditAnswer),
        )
    }

    def get(self, request: Request) -> Response:
        """One page of entries."""
        filters = {name: self.query.get(name, "") for name in ("action", "object_type", "object_id")}
        return self.page(audit_list(self.organisation, **filters))


class ChainAnswer(serializers.Serializer[Any]):
    """Whether the hash chain of the trail holds."""

    entries = serializers.IntegerField()
    sealed = serializers.IntegerField(help_text="Entries in the chain; the rest is being written.")
    valid = serializers.BooleanField()
    broken = serializers.IntegerField(allow_null=True, help_text="The first number that does not hold.")
    head = serializers.CharField(
        allow_null=True, help_text="Names the whole history: write it down elsewhere."
    )
    expected = serializers.BooleanField(allow_null=True, help_text="Whether `expect` is in the chain.")


class ChainQuery(StrictQuery):
    """A head that was written down before."""

    expect = serializers.RegexField(r"^[0-9a-f]{64}$", required=False, help_text="64 hex digits.")


class AuditChain(ApiView):
    """The chain of the trail."""

    tag = "accounts"
    endpoints = {
        "GET": Endpoint(
            summary="Verify the hash chain of the audit trail",
            action=Action.VIEW_AUDIT,
            scope=Scope.READ_AUDIT,
            query=ChainQuery,
            answer=ChainAnswer,
        )
    }

    def get(self, request: Request) -> Response:
        """Its state."""
        return self.answer(chain_state(self.organisation, expect=self.query.get("expect", "")))


class SealedAnswer(serializers.Serializer[Any]):
    """An entry in the chain: `hash` is sha256 of `previous`, a line break and `text`, in hex."""

    number = serializers.IntegerField()
    previous = serializers.CharField()
    hash = serializers.CharField()
    text = serializers.CharField(help_text="The entry as a JSON array, to the letter.")


class SealedPage(serializers.Serializer[Any]):
    """Entries, oldest first."""

    results = SealedAnswer(many=True)
    after = serializers.IntegerField(allow_null=True, help_text="For the next page; null at the end.")


class SealedQuery(StrictQuery):
    """Where to go on."""

    after = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0)


class SealedEntries(ApiView):
    """The trail for whoever checks it elsewhere."""

    tag = "accounts"
    endpoints = {
        "GET": Endpoint(
            summary="Export the audit trail with its hash chain, oldest first, 1,000 entries a page",
            action=Action.VIEW_AUDIT,
            scope=Scope.READ_AUDIT,
            query=SealedQuery,
            answer=SealedPage,
        )
    }

    def get(self, request: Request) -> Response:
        """A page."""
        rows = chain_rows(self.organisation, after=self.query["after"])
        return self.answer({"results": rows, "after": rows[-1]["number"] if len(rows) == BATCH else None})
