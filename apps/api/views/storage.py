"""Storage: advice, checkpoints, the owner's words, changes of lifecycle rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, Refused
from apps.api.strict import PageQuery, StrictQuery, StrictSerializer, UtcDateTimeField
from apps.recommendations.models import ChangeState, LifecycleChange
from apps.recommendations.selectors.inbox import recommendation_find
from apps.recommendations.selectors.storage import (
    change_find,
    change_list,
    mark_list,
    storage_account_list,
)
from apps.recommendations.services import storage_changes as changes
from apps.recommendations.services.storage_advice import advise_storage
from apps.recommendations.services.storage_applying import change_trial
from apps.recommendations.services.storage_checkpoints import CLAIMED_PCT, checkpoint_cost
from apps.recommendations.services.storage_words import (
    account_document,
    change_detail,
    change_document,
    mark_delete,
    mark_document,
    mark_save,
    storage_account_save,
)
from apps.recommendations.tasks import recommendations_lifecycle_hand_out
from finops.engine.workload import WorkloadError
from finops.frames.storage import CURRENT, NONCURRENT


def _refused(error: WorkloadError) -> Exception:
    return serializers.ValidationError({error.field: [error.message]})


class AdviceQuery(StrictQuery):
    """Which bucket, and when."""

    bucket = serializers.CharField(required=False, max_length=255, help_text="One bucket; default: all.")
    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")


class StorageAdvice(ApiView):
    """Where bytes should lie."""

    tag = "storage"
    endpoints = {
        "GET": Endpoint(
            summary="Storage advice: each group's policy, cash curve, break-even and lifecycle rule",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=AdviceQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `advise_storage`. `verdict` is move, do not move or blocked; "
            "`policies` has every policy of the prefix, refused ones with `refused`; without a read log "
            "`reads` is null and amounts are without reads.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        try:
            answer = advise_storage(organisation=self.organisation, **self.query)
        except WorkloadError as error:
            raise _refused(error) from error
        return self.answer(answer)


class CheckpointQuery(StrictQuery):
    """A checkpoint, how long it is kept, and the run that writes it."""

    gib = serializers.FloatField(help_text="Size of a checkpoint, GiB.")
    objects = serializers.IntegerField(required=False, default=1, min_value=1, max_value=10**9)
    keep_months = serializers.FloatField(help_text="Months of 365.25 / 12 days.")
    reads_a_month = serializers.FloatField(required=False, default=0.0, help_text="Whole reads.")
    every_hours = serializers.FloatField(required=False, default=1.0)
    run_hours = serializers.FloatField(required=False, default=240.0)
    keep_last = serializers.IntegerField(required=False, default=3, min_value=1, max_value=100_000)
    claimed_pct = serializers.FloatField(required=False, default=CLAIMED_PCT)
    region = serializers.CharField(required=False, default="us-east-1", max_length=40)
    at = UtcDateTimeField(required=False)


class CheckpointCost(ApiView):
    """Checkpoints by class and keep time."""

    tag = "storage"
    endpoints = {
        "GET": Endpoint(
            summary="What checkpoints cost by class and keep time, and whether a claimed saving holds",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=CheckpointQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `checkpoint_cost`.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        given = dict(self.query)
        at = given.pop("at", None) or timezone.now().replace(microsecond=0)
        try:
            answer = checkpoint_cost(at=at, organisation=self.organisation, **given)
        except WorkloadError as error:
            raise _refused(error) from error
        return self.answer(answer)


class MarkBody(StrictSerializer):
    """What the owner of a prefix says."""

    bucket = serializers.CharField(max_length=255)
    prefix = serializers.CharField(required=False, default="", allow_blank=True, max_length=1024)
    state = serializers.ChoiceField(choices=[CURRENT, NONCURRENT], required=False, default=CURRENT)
    checkpoints = serializers.BooleanField(required=False, default=False)
    workload = serializers.CharField(required=False, default="", allow_blank=True, max_length=100)
    life_days = serializers.IntegerField(
        required=False, default=None, allow_null=True, help_text="Its writer deletes it after so many days."
    )
    delete_after = serializers.IntegerField(
        required=False, default=None, allow_null=True, help_text="A rule may delete it after so many days."
    )
    keep_versions = serializers.IntegerField(required=False, default=None, allow_null=True)
    may_wait = serializers.BooleanField(
        required=False, default=False, help_text="A read may wait for a restore."
    )
    one_zone = serializers.BooleanField(required=False, default=False)


class MarksQuery(PageQuery):
    """Which bucket."""

    bucket = serializers.CharField(required=False, default="", max_length=255)


class StorageMarks(ApiView):
    """What owners said about their prefixes."""

    tag = "storage"
    endpoints = {
        "GET": Endpoint(
            summary="What owners said about prefixes",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=MarksQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Say what a prefix holds, how long it lives and whether a rule may delete it",
            action=Action.DECIDE_WORK,
            scope=Scope.WRITE_RECOMMENDATIONS,
            body=MarkBody,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([mark_document(row) for row in mark_list(self.organisation, self.query["bucket"])])

    def post(self, request: Request) -> Response:
        """What is said now."""
        row = mark_save(organisation=self.organisation, actor=self.actor, now=timezone.now(), **self.body)
        return self.answer(mark_document(row))


class StorageMarkView(ApiView):
    """One word of an owner."""

    tag = "storage"
    endpoints = {
        "DELETE": Endpoint(
            summary="Take back what an owner said",
            action=Action.DECIDE_WORK,
            scope=Scope.WRITE_RECOMMENDATIONS,
            answer=None,
            status=204,
        )
    }

    def delete(self, request: Request, mark_id: int) -> Response:
        """Nothing is said any more."""
        row = mark_list(self.organisation).filter(pk=mark_id).first()
        if row is None:
            raise NotFound(_("There is nothing at this address."))
        mark_delete(mark=row, actor=self.actor)
        return self.answer(None)


class ChangesQuery(PageQuery):
    """Which changes."""

    state = serializers.ChoiceField(choices=ChangeState.values, required=False)
    bucket = serializers.CharField(required=False, default="", max_length=255)


class ChangeBody(StrictSerializer):
    """Rules to add to a bucket's own."""

    account = serializers.CharField(max_length=12, help_text="An account whose rules may be written.")
    bucket = serializers.CharField(max_length=255)
    rules = serializers.ListField(
        child=serializers.DictField(),
        max_length=changes.MAX_RULES,
        help_text="As `PutBucketLifecycleConfiguration` takes them, each with an ID.",
    )
    recommendation = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=500)


class ReasonBody(StrictSerializer):
    """Why."""

    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=500)


class _Changes(ApiView):
    tag = "storage"

    def find(self, change_id: int) -> LifecycleChange:
        """The organisation's own; 404 for any other."""
        found = change_find(self.organisation, change_id)
        if found is None:
            raise NotFound(_("There is nothing at this address."))
        return found

    def change(self, change_id: int, act: Callable[..., Any], **given: Any) -> LifecycleChange:
        """Do something about one. 409 where its state forbids it."""
        try:
            row: LifecycleChange = act(change=self.find(change_id), now=timezone.now(), **given)
        except ValidationError as error:
            if "state" not in error.message_dict:
                raise
            raise Refused(error.message_dict["state"][0], code="wrong_state", status=409) from error
        return row


class LifecycleChanges(_Changes):
    """Changes of lifecycle rules."""

    endpoints = {
        "GET": Endpoint(
            summary="Changes of lifecycle rules, newest first",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=ChangesQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Ask for a change: merged with the bucket's rules as they are now, it waits for approval",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            body=ChangeBody,
            status=201,
            answer=OpenApiTypes.OBJECT,
            description="`diff` and `rollback` are part of the answer; a rule that deletes has no rollback "
            "and takes two people and a delay.",
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        rows = change_list(self.organisation, self.query.get("state", ""), self.query["bucket"])
        return self.page([change_document(row) for row in rows])

    def post(self, request: Request) -> Response:
        """The change as it was asked for."""
        given = dict(self.body)
        advice = given.pop("recommendation", None)
        row = None if advice is None else recommendation_find(self.organisation, advice)
        if advice is not None and row is None:
            raise serializers.ValidationError({"recommendation": [_("There is no such recommendation.")]})
        account = storage_account_list(self.organisation).filter(account=given.pop("account")).first()
        made = changes.change_request(
            organisation=self.organisation, actor=self.actor, account=account, now=timezone.now(),
            recommendation=row, **given,
        )  # fmt: skip
        return self.answer(change_detail(self.find(made.pk)))


class LifecycleChangeView(_Changes):
    """A change."""

    endpoints = {
        "GET": Endpoint(
            summary="One change with its configurations, diff, way back and approvals",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, change_id: int) -> Response:
        """The change."""
        return self.answer(change_detail(self.find(change_id)))


class ApproveChange(_Changes):
    """Say yes to one."""

    endpoints = {
        "POST": Endpoint(
            summary="Approve a change: with the last approval that is needed it is written",
            action=Action.DECIDE,
            scope=None,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
            description="Only a person approves; the same person again changes nothing.",
        )
    }

    def post(self, request: Request, change_id: int) -> Response:
        """The change."""
        row = self.change(change_id, changes.change_approve, membership=self.membership)
        if row.state == ChangeState.APPROVED and not row.deletes:
            transaction.on_commit(lambda: recommendations_lifecycle_hand_out(change_id))
        return self.answer(change_detail(self.find(change_id)))


class TryChange(_Changes):
    """Try one without writing."""

    endpoints = {
        "POST": Endpoint(
            summary="Dry run: whether the rules are still those of the diff, and what would be written",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def post(self, request: Request, change_id: int) -> Response:
        """The change."""
        self.change(change_id, change_trial, actor=self.actor)
        return self.answer(change_detail(self.find(change_id)))


class CancelChange(_Changes):
    """Call one off."""

    endpoints = {
        "POST": Endpoint(
            summary="Cancel a change that no worker has yet",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            body=ReasonBody,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, change_id: int) -> Response:
        """The change."""
        self.change(change_id, changes.change_cancel, actor=self.actor, **self.body)
        return self.answer(change_detail(self.find(change_id)))


class RevertChange(_Changes):
    """Take one back."""

    endpoints = {
        "POST": Endpoint(
            summary="Ask for the rules as they were before a change",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            body=ReasonBody,
            status=201,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, change_id: int) -> Response:
        """The change that takes it back."""
        row = self.change(change_id, changes.change_revert, actor=self.actor, **self.body)
        return self.answer(change_detail(self.find(row.pk)))


class StorageAccountBody(StrictSerializer):
    """An account and the role that writes rules in it."""

    account = serializers.CharField(max_length=12)
    role = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    external_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=1224)
    active = serializers.BooleanField(required=False, default=True, help_text="False: the freeze switch.")


class StorageAccounts(ApiView):
    """The accounts whose lifecycle rules may be written."""

    tag = "storage"
    endpoints = {
        "GET": Endpoint(
            summary="Accounts whose lifecycle rules may be written",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=PageQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Name an account whose rules may be written, or change its role or freeze switch",
            action=Action.MANAGE_ORGANISATION,
            scope=None,
            body=StorageAccountBody,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([account_document(row) for row in storage_account_list(self.organisation)])

    def post(self, request: Request) -> Response:
        """The account."""
        row = storage_account_save(organisation=self.organisation, actor=self.actor, **self.body)
        return self.answer(account_document(row))
