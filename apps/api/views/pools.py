"""Pools, their devices and work, which pool a piece of work takes; stop schedules; plans taken elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint
from apps.api.strict import CommaListField, DecimalTextField, PageQuery, StrictQuery, StrictSerializer
from apps.catalog.models import PoolUse
from apps.launches.exports import plan_exports
from apps.launches.models import WorkState
from apps.launches.selectors.plans import plan_find
from apps.launches.selectors.pools import (
    choice_document,
    device_document,
    device_find,
    device_list,
    pool_document,
    pool_find,
    pool_list,
    work_document,
    work_list,
)
from apps.launches.services.pools import device_create, device_revoke, pool_choices, pool_save
from finops.engine.launches.pool import PoolWork
from finops.frames.pools import PoolKind


class PoolBody(StrictSerializer):
    """A pool; what is left out stays as it is."""

    name = serializers.CharField(max_length=60)
    kind = serializers.ChoiceField(choices=PoolUse.values, required=False)
    provider = serializers.CharField(max_length=20, required=False, allow_blank=True)
    region = serializers.CharField(max_length=40, required=False, allow_blank=True)
    unit = serializers.CharField(max_length=30, required=False)
    units = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False, allow_null=True)
    largest = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False, allow_null=True)
    machine = serializers.IntegerField(min_value=1, max_value=1_000_000, required=False)
    power = DecimalTextField(required=False, help_text="Power of a unit an hour.")
    wear = DecimalTextField(required=False, help_text="Wear of a unit an hour.")
    price = DecimalTextField(required=False, help_text="Price of a unit an hour, of a market.")
    currency = serializers.CharField(max_length=3, required=False)
    speed = serializers.FloatField(min_value=1e-6, max_value=1e6, required=False)
    speed_source = serializers.CharField(max_length=200, required=False, allow_blank=True)
    interruptions_per_hour = serializers.FloatField(min_value=0, max_value=1000, required=False)
    start_minutes = serializers.FloatField(min_value=0, max_value=1440, required=False)
    window = serializers.CharField(max_length=11, required=False, allow_blank=True, help_text="20:00-08:00")
    zone = serializers.CharField(max_length=60, required=False, allow_blank=True, help_text="Asia/Shanghai")
    days = serializers.CharField(max_length=40, required=False, allow_blank=True, help_text="mon-fri")
    queue = serializers.CharField(max_length=60, required=False, allow_blank=True)
    active = serializers.BooleanField(required=False)


class DeviceBody(StrictSerializer):
    """A device."""

    name = serializers.CharField(max_length=100)
    window = serializers.CharField(max_length=11, required=False, allow_blank=True)
    zone = serializers.CharField(max_length=60, required=False, allow_blank=True)
    days = serializers.CharField(max_length=40, required=False, allow_blank=True)
    idle_minutes = serializers.IntegerField(min_value=0, max_value=1440, required=False)


class ChoiceQuery(StrictQuery):
    """A piece of work."""

    hours = serializers.FloatField(min_value=1e-6, max_value=100_000)
    units = serializers.IntegerField(min_value=1, max_value=1_000_000, default=1)
    deadline_hours = serializers.FloatField(min_value=0, max_value=100_000, required=False)
    checkpoint_minutes = serializers.FloatField(min_value=1e-6, max_value=1440, required=False)
    restart_minutes = serializers.FloatField(min_value=0, max_value=1440, default=0.0)
    kinds = CommaListField(child=serializers.ChoiceField(choices=PoolUse.values), required=False)
    regions = CommaListField(child=serializers.CharField(max_length=40), required=False)
    most_cost = serializers.FloatField(min_value=0, required=False)
    currency = serializers.CharField(max_length=3, required=False)


class WorkQuery(PageQuery):
    """Which work."""

    state = serializers.ChoiceField(choices=WorkState.values, required=False)


class _View(ApiView):
    tag = "pools"

    def one(self, find: Callable[[Any, int], Any], number: int) -> Any:
        """The organisation's own; 404 for any other."""
        found = find(self.organisation, number)
        if found is None:
            raise NotFound(_("There is nothing at this address."))
        return found


class Pools(_View):
    """The organisation's pools."""

    endpoints = {
        "GET": Endpoint(
            summary="Pools with what an hour and an hour of work cost there",
            action=Action.VIEW, scope=Scope.READ_LAUNCHES, query=PageQuery, answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Name a pool, or change it",
            action=Action.LAUNCH, scope=Scope.WRITE_LAUNCHES, body=PoolBody, answer=OpenApiTypes.OBJECT,
        ),
    }  # fmt: skip

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([pool_document(row) for row in pool_list(self.organisation)])

    def post(self, request: Request) -> Response:
        """The pool."""
        values = dict(self.body)
        name = values.pop("name")
        row = pool_save(organisation=self.organisation, actor=self.actor, name=name, values=values)
        return self.answer(pool_document(self.one(pool_find, row.pk)))


class PoolChoices(_View):
    """Which pool a piece of work takes."""

    endpoints = {
        "GET": Endpoint(
            summary="Every pool for a piece of work, the one to take first, and why the others lost",
            action=Action.VIEW, scope=Scope.READ_LAUNCHES, query=ChoiceQuery, answer=OpenApiTypes.OBJECT,
        )
    }  # fmt: skip

    def get(self, request: Request) -> Response:
        """`{"choices"}`."""
        now = timezone.now()
        return self.answer(choices_document(self.organisation, dict(self.query), now))


def choices_document(organisation: Any, given: dict[str, Any], now: Any) -> dict[str, Any]:
    """The document of which pool work takes."""
    deadline, minutes = given.get("deadline_hours"), given.get("checkpoint_minutes")
    kinds, regions = given.get("kinds"), given.get("regions")
    work = PoolWork(
        hours=given["hours"],
        units=given.get("units", 1),
        deadline=None if deadline is None else now + timedelta(hours=deadline),
        checkpoint_hours=None if minutes is None else minutes / 60,
        restart_hours=given.get("restart_minutes", 0.0) / 60,
        kinds=frozenset(PoolKind(one) for one in kinds) if kinds else None,
        regions=frozenset(regions) if regions else None,
        most_cost=given.get("most_cost"),
        currency=given.get("currency"),
    )
    rows = pool_choices(organisation=organisation, work=work, now=now)
    return {"choices": [choice_document(one) for one in rows]}


class Devices(_View):
    """The devices of a pool."""

    endpoints = {
        "POST": Endpoint(
            summary="Register a device: its key is shown once, here",
            action=Action.LAUNCH, scope=None, body=DeviceBody, status=201, answer=OpenApiTypes.OBJECT,
        )
    }  # fmt: skip

    def post(self, request: Request, pool_id: int) -> Response:
        """`{"device", "key"}`."""
        values = dict(self.body)
        name = values.pop("name")
        row, key = device_create(
            pool=self.one(pool_find, pool_id), actor=self.actor, name=name, values=values
        )
        return self.answer({"device": device_document(row, timezone.now()), "key": key})


class AllDevices(_View):
    """The organisation's devices."""

    endpoints = {
        "GET": Endpoint(
            summary="Devices that are not revoked, and when they last asked",
            action=Action.VIEW, scope=Scope.READ_LAUNCHES, query=PageQuery, answer=OpenApiTypes.OBJECT,
        )
    }  # fmt: skip

    def get(self, request: Request) -> Response:
        """A page of them."""
        now = timezone.now()
        return self.page([device_document(row, now) for row in device_list(self.organisation)])


class RevokeDevice(_View):
    """End a device's key."""

    endpoints = {
        "POST": Endpoint(
            summary="Revoke a device: its key opens nothing any more",
            action=Action.LAUNCH, scope=None, answer=OpenApiTypes.OBJECT,
        )
    }  # fmt: skip

    def post(self, request: Request, device_id: int) -> Response:
        """The device."""
        now = timezone.now()
        row = device_revoke(device=self.one(device_find, device_id), actor=self.actor, now=now)
        return self.answer(device_document(row, now))


class AllWork(_View):
    """Work of own machines."""

    endpoints = {
        "GET": Endpoint(
            summary="Work of own servers and devices, newest first",
            action=Action.VIEW, scope=Scope.READ_LAUNCHES, query=WorkQuery, answer=OpenApiTypes.OBJECT,
        )
    }  # fmt: skip

    def get(self, request: Request) -> Response:
        """A page of it."""
        rows = work_list(self.organisation)
        if state := self.query.get("state"):
            rows = rows.filter(state=state)
        return self.page([work_document(row) for row in rows])


class PlanExports(_View):
    """A plan taken elsewhere."""

    endpoints = {
        "GET": Endpoint(
            summary="A plan as AWS CLI, Terraform, Karpenter, Kubernetes Job and SkyPilot task",
            action=Action.VIEW, scope=Scope.READ_LAUNCHES, answer=OpenApiTypes.OBJECT,
        )
    }  # fmt: skip

    def get(self, request: Request, plan_id: int) -> Response:
        """`{"exports": [{"name", "title", "filename", "text", "reason"}]}`; text null with its reason."""
        rows = plan_exports(self.one(plan_find, plan_id))
        return self.answer({
            "exports": [
                {"name": one.name, "title": one.title, "filename": one.filename or None,
                 "text": one.text or None, "reason": one.reason or None}
                for one in rows
            ]
        })  # fmt: skip


__all__ = [
    "AllDevices", "AllWork", "Devices", "PlanExports", "PoolChoices", "Pools", "RevokeDevice",
    "choices_document",
]  # fmt: skip
