"""Rules that buy help for queues of own machines."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import team_list
from apps.api.endpoint import ApiView, Endpoint
from apps.api.strict import StrictSerializer
from apps.launches.models import LaunchBurst
from apps.launches.selectors.bursts import burst_document, burst_find, burst_list
from apps.launches.selectors.pools import pool_list
from apps.launches.services.bursts import MOST, burst_save, burst_switch
from apps.launches.services.wishes import target_named


class BurstBody(StrictSerializer):
    """A rule; a name that is there already is changed."""

    name = serializers.CharField(max_length=80)
    pool = serializers.CharField(max_length=60, help_text="A pool of own servers or idle devices.")
    target = serializers.CharField(max_length=60, help_text="Where help is bought, on demand.")
    team = serializers.SlugField(required=False, max_length=50)
    start = serializers.FloatField(min_value=0, max_value=10_000, help_text="Hours of backlog: help above.")
    stop = serializers.FloatField(min_value=0, max_value=10_000, help_text="Help ends at or below.")
    most = serializers.IntegerField(min_value=1, max_value=MOST, help_text="Machines at once.")
    hours = serializers.FloatField(
        min_value=0.01, max_value=720, help_text="A machine lives so long at most."
    )
    job = serializers.DictField(help_text="types, regions, product, user_data, image, command.")
    active = serializers.BooleanField(default=True)


class _View(ApiView):
    tag = "launches"

    def find(self, burst_id: int) -> LaunchBurst:
        """The organisation's own; 404 for any other."""
        found = burst_find(self.organisation, burst_id)
        if found is None:
            raise NotFound(_("There is nothing at this address."))
        return found

    def shown(self, row: LaunchBurst) -> Response:
        """A rule as it is now."""
        return self.answer(burst_document(row, timezone.now()))


class Bursts(_View):
    """The organisation's rules."""

    endpoints = {
        "GET": Endpoint(
            summary="Rules that buy help for queues, with the backlog of each and its machines",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Name a rule or change it; what it buys needs its approval as any plan",
            action=Action.LAUNCH,
            scope=Scope.WRITE_LAUNCHES,
            body=BurstBody,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """`{"bursts"}`."""
        return self.answer(
            {"bursts": [burst_document(one, timezone.now()) for one in burst_list(self.organisation)]}
        )

    def post(self, request: Request) -> Response:
        """The rule."""
        given = dict(self.body)
        slug, name = given.pop("team", None), given.pop("pool")
        team = team_list(self.organisation).filter(slug=slug).first() if slug else None
        if slug and team is None:
            raise serializers.ValidationError({"team": [_("There is no such team in this organisation.")]})
        pool = pool_list(self.organisation).filter(name=name).first()
        if pool is None:
            raise serializers.ValidationError({"pool": [_("There is no such pool.")]})
        target = target_named(self.organisation, given.pop("target"))
        row = burst_save(
            organisation=self.organisation, actor=self.actor, team=team, pool=pool, target=target, **given
        )
        return self.shown(row)


class OneBurst(_View):
    """One rule."""

    endpoints = {
        "GET": Endpoint(
            summary="A rule that buys help, with its backlog, machines, plan and what it waits for",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, burst_id: int) -> Response:
        """The rule."""
        return self.shown(self.find(burst_id))


class BurstOff(_View):
    """Switch one off."""

    endpoints = {
        "POST": Endpoint(
            summary="Switch a rule off: it buys no help; what is there ends once it is idle",
            action=Action.LAUNCH,
            scope=Scope.WRITE_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def post(self, request: Request, burst_id: int) -> Response:
        """The rule."""
        return self.shown(burst_switch(burst=self.find(burst_id), actor=self.actor, active=False))
