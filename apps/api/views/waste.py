"""Waste: findings, the rules, and what an organisation or team says of them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, Refused, UploadView, found_or_404
from apps.api.strict import PageQuery, StrictQuery, StrictSerializer, UtcDateTimeField
from apps.waste.selectors import setting_list
from apps.waste.services.advice import advise_waste
from apps.waste.services.clusters import cluster_document
from apps.waste.services.collecting import CLOUDWATCH, PROMETHEUS, collect_request, metrics_document
from apps.waste.services.loading import MOST_UPLOAD, measures_upload
from apps.waste.services.settings import rules_document, setting_document, setting_remove, setting_save
from apps.waste.tasks import waste_collect
from finops.engine.workload import WorkloadError
from finops.frames.waste import waste_rules
from finops.providers.base import PermanentError


class WasteQuery(StrictQuery):
    """Which rule, and when."""

    rule = serializers.ChoiceField(choices=list(waste_rules()), required=False, help_text="One rule only.")
    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")


class WasteAdvice(ApiView):
    """What could stop, shrink or change type."""

    tag = "waste"
    endpoints = {
        "GET": Endpoint(
            summary="Waste: findings with saving, evidence and commands, and what was not judged",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=WasteQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `advise_waste`. Amounts are of a month of 730 h. Findings on one "
            "resource are alternatives: `counted` is true for the largest, and only those are in `totals`.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        try:
            return self.answer(advise_waste(organisation=self.organisation, **self.query))
        except WorkloadError as error:
            raise serializers.ValidationError({error.field: [error.message]}) from error


class WasteRules(ApiView):
    """The rules."""

    tag = "waste"
    endpoints = {
        "GET": Endpoint(
            summary="Rules of waste with what each needs, their thresholds and who changed them",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=PageQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page(rules_document(self.organisation))


class SettingBody(StrictSerializer):
    """What is wanted of a rule; what was said before is replaced whole."""

    rule = serializers.ChoiceField(choices=list(waste_rules()))
    team = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=100, help_text="Slug; blank: everybody."
    )
    enabled = serializers.BooleanField(required=False, default=True)
    thresholds = serializers.DictField(
        child=serializers.CharField(max_length=300, allow_blank=True), required=False, default=dict,
        help_text="By name, as texts; blank or left out: the table's.",
    )  # fmt: skip
    accounts = serializers.ListField(
        child=serializers.CharField(max_length=40), required=False, default=list, max_length=200,
        help_text="Asked in these accounts only; empty: in all.",
    )  # fmt: skip
    regions = serializers.ListField(
        child=serializers.CharField(max_length=40), required=False, default=list, max_length=200
    )


class WasteSettings(ApiView):
    """What people say of the rules."""

    tag = "waste"
    endpoints = {
        "GET": Endpoint(
            summary="What the organisation and its teams say of the rules of waste",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=PageQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Switch a rule off, limit it to places or give it thresholds, for everybody or a team",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            body=SettingBody,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([setting_document(row) for row in setting_list(self.organisation)])

    def post(self, request: Request) -> Response:
        """What is said now."""
        row = setting_save(organisation=self.organisation, actor=self.actor, now=timezone.now(), **self.body)
        return self.answer(setting_document(row))


class OneWasteSetting(ApiView):
    """One of them."""

    tag = "waste"
    endpoints = {
        "DELETE": Endpoint(
            summary="Take back what was said of a rule: the table's thresholds hold again",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            answer=None,
            status=204,
        )
    }

    def delete(self, request: Request, setting_id: int) -> Response:
        """Nothing is said any more."""
        setting_remove(setting=found_or_404(setting_list(self.organisation), pk=setting_id), actor=self.actor)
        return self.answer(None)


class ClustersQuery(StrictQuery):
    """By what."""

    by = serializers.CharField(
        required=False, max_length=220, help_text="namespace (usual), workload or label:NAME."
    )


class WasteClusters(ApiView):
    """Cost of Kubernetes clusters."""

    tag = "waste"
    endpoints = {
        "GET": Endpoint(
            summary="Cost of Kubernetes clusters by namespace, workload or label, idle and shared shown",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=ClustersQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `cluster_costs`; the groups sum to `totals`.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        try:
            return self.answer(cluster_document(organisation=self.organisation, **self.query))
        except WorkloadError as error:
            raise serializers.ValidationError({error.field: [error.message]}) from error


class MetricsBody(StrictSerializer):
    """A file (multipart)."""

    file = serializers.FileField(
        help_text="CSV or JSON as docs/algorithms/waste.md has it, UTF-8, up to 32 MiB; larger ones by "
        "`import_metrics`."
    )

    def validate_file(self, value: Any) -> Any:
        """What is read at once."""
        if value.size > MOST_UPLOAD:
            raise serializers.ValidationError(
                _("The file is larger than %(limit)d MiB.") % {"limit": MOST_UPLOAD >> 20}
            )
        return value


class WasteMetrics(UploadView):
    """Metrics, lists of resources and use of clusters."""

    tag = "waste"
    endpoints = {
        "GET": Endpoint(
            summary="What is stored of metrics, lists and clusters, and how the last collecting ended",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Load metrics, a list of volumes and snapshots, or use of a cluster from a file",
            action=Action.LOAD_DATA,
            scope=Scope.WRITE_INGEST,
            body=MetricsBody,
            answer=OpenApiTypes.OBJECT,
            description="Answers with the run of `import_metrics`: a bad row is rejected and named by file, "
            "row and field, the others are kept.",
        ),
    }

    def get(self, request: Request) -> Response:
        """The document."""
        return self.answer(metrics_document(self.organisation))

    def post(self, request: Request) -> Response:
        """Read it now."""
        file = self.body["file"]
        try:
            found = measures_upload(
                organisation=self.organisation, actor=self.actor, content=file.read(), name=str(file.name),
                now=timezone.now(),
            )  # fmt: skip
        except PermanentError as error:
            raise Refused(str(error), code="input_refused") from None
        return self.answer(found.document())


class CollectBody(StrictSerializer):
    """Where from; what does not belong to the source is left out."""

    source = serializers.ChoiceField(choices=[CLOUDWATCH, PROMETHEUS])  # type: ignore[assignment]
    days = serializers.IntegerField(required=False, min_value=1, max_value=30)
    region = serializers.CharField(required=False, allow_blank=True, max_length=40)
    role = serializers.CharField(
        required=False, allow_blank=True, max_length=600, help_text="ARN of a role to take."
    )
    url = serializers.CharField(
        required=False, allow_blank=True, max_length=500, help_text="One of `prometheus_urls`."
    )
    label = serializers.CharField(required=False, allow_blank=True, max_length=100)  # type: ignore[assignment]
    cluster = serializers.CharField(required=False, allow_blank=True, max_length=200)
    core_hour = serializers.CharField(required=False, allow_blank=True, max_length=30)
    gib_hour = serializers.CharField(required=False, allow_blank=True, max_length=30)
    currency = serializers.CharField(required=False, allow_blank=True, max_length=3)


class CollectMetrics(ApiView):
    """Ask CloudWatch or Prometheus."""

    tag = "waste"
    endpoints = {
        "POST": Endpoint(
            summary="Collect metrics from CloudWatch, or from a Prometheus server that the operator allows",
            action=Action.MANAGE_FEEDS,
            scope=Scope.WRITE_INGEST,
            body=CollectBody,
            answer=OpenApiTypes.OBJECT,
            status=202,
            description="A worker asks; `GET /api/v1/waste/metrics` tells under `collected` how it ended.",
        )
    }

    def post(self, request: Request) -> Response:
        """Queued."""
        organisation = self.organisation
        with transaction.atomic():
            given = collect_request(
                organisation=organisation, actor=self.actor, given=self.body, now=timezone.now()
            )
            transaction.on_commit(lambda: waste_collect.delay(organisation.pk, given))
        return self.answer({"state": "queued", **given})
