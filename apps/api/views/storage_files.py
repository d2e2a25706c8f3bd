"""Files about storage in, buckets with what is listed and billed out."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint
from apps.api.strict import StrictQuery, UtcDateTimeField
from apps.api.views.ingest import RunAnswer
from apps.api.views.loading import LoadView, SourceBody
from apps.ingest.models import IngestRun
from apps.ingest.storage.run import storage_run_create
from apps.ingest.storage.sources import AUTO, KINDS, PROVIDERS, StorageOptions
from apps.storage.selectors.documents import buckets_document


class LoadStorageBody(SourceBody):
    """An inventory, a log, a report or a table of reads: what the file itself does not say."""

    kind = serializers.ChoiceField(choices=KINDS, default=AUTO)
    provider = serializers.ChoiceField(choices=PROVIDERS, default="aws")
    bucket = serializers.CharField(
        required=False, max_length=255, default="", allow_blank=True, help_text="Of rows that name none."
    )
    region = serializers.CharField(required=False, max_length=40, default="", allow_blank=True)
    account = serializers.CharField(required=False, max_length=64, default="", allow_blank=True)
    listed_at = UtcDateTimeField(
        required=False, help_text="Of a listing without a manifest; default: the time of the file."
    )


class LoadStorage(LoadView):
    """The door for files about storage."""

    tag = "storage"
    audit_action = "storage.load"
    endpoints = {
        "POST": Endpoint(
            summary="Load an inventory, a log, a report or reads from an upload or a path on the server",
            description="Answers at once with the waiting run; its progress is at /ingest/runs/{id}, what "
            "came of it at /storage/buckets. A zip or tar may hold an inventory with its manifest.",
            action=Action.LOAD_DATA,
            scope=Scope.WRITE_INGEST,
            body=LoadStorageBody,
            answer=RunAnswer,
            status=202,
        )
    }

    def run_of(self, *, location: str, **given: object) -> IngestRun:
        """A run of storage files."""
        names = ("kind", "provider", "bucket", "region", "account")
        options = StorageOptions(
            **{name: self.body[name] for name in names}, listed_at=self.body.get("listed_at")
        )
        return storage_run_create(paths=[location], options=options, **given)  # type: ignore[arg-type]


class BucketsQuery(StrictQuery):
    """Which bucket, and when."""

    bucket = serializers.CharField(required=False, max_length=255, help_text="One bucket; default: all.")
    at = UtcDateTimeField(required=False, help_text="Nothing later is looked at.")


class StorageBuckets(ApiView):
    """Buckets, listed and billed."""

    tag = "storage"
    endpoints = {
        "GET": Endpoint(
            summary="Buckets: bytes listed by class and state, bytes billed, the gap and what is missing",
            description="The document of `storage_buckets`. Where `blocked`, no advice is given for the "
            "bucket and `reason` says why.",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=BucketsQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        return self.answer(buckets_document(organisation=self.organisation, now=timezone.now(), **self.query))
