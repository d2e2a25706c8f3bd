"""Own commitments and demand: the documents of `commitments` and `demand`, and the door for their files."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.accounts.services import audit_record
from apps.api.endpoint import ApiView, Endpoint, Refused, UploadView
from apps.api.strict import StrictQuery, StrictSerializer, UtcDateTimeField
from apps.ingest.models import RunState
from apps.ingest.owned import commitments_load
from apps.ingest.reports import run_report
from apps.recommendations.services.commitments_demand import (
    LONGEST_LOOKBACK,
    LONGEST_TERM,
    LOOKBACK_DAYS,
    TERM_HOURS,
    demand,
)
from apps.recommendations.services.commitments_hours import commitment_series
from apps.recommendations.services.commitments_owned import commitments
from finops.engine.workload import WorkloadError

# An answer of ten thousand reservations has 8 MB.
MAX_FILE_BYTES = 32 * 1024 * 1024


def _refused(error: WorkloadError) -> Exception:
    return serializers.ValidationError({error.field: [error.message]})


class CommitmentsQuery(StrictQuery):
    """The decision time and the billing month."""

    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")
    billing_period = serializers.RegexField(
        r"^[1-9][0-9]{3}-(0[1-9]|1[0-2])$",
        required=False,
        help_text="2018-10; default: the month of `at`, else the newest one before it that has a bill.",
    )


class Commitments(ApiView):
    """What is owned."""

    tag = "commitments"
    endpoints = {
        "GET": Endpoint(
            summary="Own reservations and savings plans: use, idle hours and cost, ends, other prices",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=CommitmentsQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `commitments`. Null has its reason in `reasons`; `sources` names "
            "who said a field (bill, api), `contradictions` where the two differ.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        query = dict(self.query)
        text = query.pop("billing_period", None)
        try:
            answer = commitments(
                organisation=self.organisation,
                at=query.get("at"),
                billing_period=date.fromisoformat(f"{text}-01") if text else None,
            )
        except WorkloadError as error:
            raise _refused(error) from error
        return self.answer(answer)


class HoursQuery(StrictQuery):
    """A range and the commitments wanted."""

    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")
    to = UtcDateTimeField(required=False, help_text="Excluded; default: the end of the billing month.")
    id = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        default=list,
        max_length=200,
        help_text="Id of a commitment, may be given again; none: all.",
    )

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's own."""
        return {
            "from": UtcDateTimeField(
                required=False, help_text="Whole hour of UTC; default: the start of the billing month."
            ),
            **super().get_fields(),
        }


class CommitmentHours(ApiView):
    """What is owned, hour by hour."""

    tag = "commitments"
    endpoints = {
        "GET": Endpoint(
            summary="Hours of own commitments: bought, used, idle and what idle hours cost",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=HoursQuery,
            answer=OpenApiTypes.OBJECT,
            description="In every hour used + idle = bought + over; null is an hour that no bill reaches. "
            "`coverage`: instance-hours by how they were paid. At most three years of hours.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        query = self.query
        try:
            answer = commitment_series(
                organisation=self.organisation,
                at=query.get("at"),
                start=query.get("from"),
                end=query.get("to"),
                ids=query["id"],
            )
        except WorkloadError as error:
            raise _refused(error) from error
        return self.answer(answer)


class DemandQuery(StrictQuery):
    """Look-back and term."""

    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")
    lookback_days = serializers.IntegerField(min_value=2, max_value=LONGEST_LOOKBACK, default=LOOKBACK_DAYS)
    term_hours = serializers.IntegerField(
        min_value=1, max_value=LONGEST_TERM, default=TERM_HOURS, help_text="Hours that scenarios look ahead."
    )
    hours = serializers.BooleanField(default=False, help_text="The hours of each family too.")


class Demand(ApiView):
    """What is used after all that is committed."""

    tag = "commitments"
    endpoints = {
        "GET": Endpoint(
            summary="Hourly demand after existing commitments, by family, with its shape and scenarios",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=DemandQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `demand`.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        query = dict(self.query)
        with_hours = query.pop("hours")
        try:
            answer = demand(organisation=self.organisation, with_hours=with_hours, **query)
        except WorkloadError as error:
            raise _refused(error) from error
        return self.answer(answer)


class CommitmentsBody(StrictSerializer):
    """A file, and what its answers do not say."""

    file = serializers.FileField(
        help_text="JSON of describe-reserved-instances or describe-savings-plans, at most 32 MiB."
    )
    region = serializers.CharField(required=False, default="", max_length=40, allow_blank=True)
    account = serializers.RegexField(r"^([0-9]{12})?$", required=False, default="", allow_blank=True)
    seen_at = UtcDateTimeField(required=False, help_text="When the answers were given; default: now.")

    def validate_file(self, value: Any) -> Any:
        """Not larger than any such answer."""
        if value.size > MAX_FILE_BYTES:
            raise serializers.ValidationError(
                _("This is larger than the %(limit)s MiB that are taken here")
                % {"limit": MAX_FILE_BYTES >> 20}
            )
        return value


class ImportCommitments(UploadView):
    """The door for files of own commitments."""

    tag = "commitments"
    endpoints = {
        "POST": Endpoint(
            summary="Load own commitments from an answer of the provider's interface",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            body=CommitmentsBody,
            answer=OpenApiTypes.OBJECT,
            description="The run with its counts and rejected rows; a file of which nothing can be used is "
            "refused (400, `input_refused`).",
        )
    }

    def post(self, request: Request) -> Response:
        """The run."""
        file = self.body["file"]
        run = commitments_load(
            name=file.name,
            data=file.read(),
            seen_at=(self.body.get("seen_at") or timezone.now()).replace(microsecond=0),
            region=self.body["region"],
            account=self.body["account"],
            organisation=self.organisation,
            user=self.membership.user if self.membership else None,
        )
        audit_record(
            organisation=self.organisation,
            actor=self.actor,
            action="commitments.load",
            target=run,
            after={"source": run.source, "stored": run.stored, "rejected": run.rejected},
        )
        if run.state == RunState.REFUSED:
            raise Refused(run.error, code="input_refused")
        return self.answer(run_report(run))
