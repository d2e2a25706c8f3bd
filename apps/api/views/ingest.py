"""Prices in by file: an upload, or a path on the server; runs with their progress and rejected rows."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import PageQuery, UtcDateTimeField
from apps.api.views.loading import LoadView, SourceBody
from apps.ingest.models import IngestRun, RejectionKind, RunKind, RunState
from apps.ingest.selectors import runs_visible
from apps.ingest.services import ImportOptions, ingest_run_create
from finops.providers.files import FORMATS


class RunAnswer(serializers.ModelSerializer[IngestRun]):
    """One delivery: rows_read = stored + duplicates + rejected."""

    kind = serializers.ChoiceField(choices=RunKind.choices)
    state = serializers.ChoiceField(choices=RunState.choices)
    progress = serializers.FloatField(allow_null=True, help_text="Share of the input read, 0-1.")
    queued_at = UtcDateTimeField()
    started_at = UtcDateTimeField(allow_null=True)
    finished_at = UtcDateTimeField(allow_null=True)
    known_from = UtcDateTimeField(allow_null=True, help_text="Start of the range that is known.")
    known_to = UtcDateTimeField(allow_null=True, help_text="End of it, excluded.")
    seconds = serializers.FloatField(allow_null=True, help_text="Time the run took.")
    failure = serializers.CharField(source="error", help_text="Why it failed or was refused, else empty.")
    snapshots = serializers.DictField(
        child=serializers.CharField(), help_text="Snapshot id of each table as this run left it, as text."
    )

    class Meta:
        model = IngestRun
        fields = [
            "id",
            "source",
            "kind",
            "provider",
            "state",
            "phase",
            "progress",
            "queued_at",
            "started_at",
            "finished_at",
            "files_done",
            "files_total",
            "files_rejected",
            "bytes_done",
            "bytes_total",
            "rows_seen",
            "rows_read",
            "stored",
            "duplicates",
            "rejected",
            "replaced",
            "series",
            "new_series",
            "known_from",
            "known_to",
            "seconds",
            "failure",
            "snapshots",
        ]


class LoadBody(SourceBody):
    """Prices: what the file itself does not say."""

    region = serializers.CharField(required=False, max_length=40, default="", allow_blank=True)
    format = serializers.ChoiceField(choices=FORMATS, default="auto")


class LoadPrices(LoadView):
    """The door for files of Spot prices."""

    tag = "ingest"
    audit_action = "ingest.load"
    endpoints = {
        "POST": Endpoint(
            summary="Load Spot prices from an upload or from a path on the server",
            description="Answers at once with the waiting run; its progress is at /ingest/runs/{id}.",
            action=Action.LOAD_DATA,
            scope=Scope.WRITE_INGEST,
            body=LoadBody,
            answer=RunAnswer,
            status=202,
        )
    }

    def run_of(self, **given: Any) -> IngestRun:
        """A run of prices."""
        options = ImportOptions(region=self.body["region"], format=self.body["format"])
        return ingest_run_create(options=options, **given)


class RunQuery(PageQuery):
    """Filters of the list."""

    state = serializers.ChoiceField(choices=RunState.choices, required=False)
    kind = serializers.ChoiceField(choices=RunKind.choices, required=False)


class Runs(ApiView):
    """Every run that the organisation may see."""

    tag = "ingest"
    endpoints = {
        "GET": Endpoint(
            summary="List ingest runs, newest first",
            action=Action.VIEW,
            scope=Scope.READ_INGEST,
            query=RunQuery,
            answer=page_of(RunAnswer),
        )
    }

    def get(self, request: Request) -> Response:
        """One page of runs."""
        rows = runs_visible(organisation=self.organisation).order_by("-pk")
        return self.page(rows.filter(**{k: self.query[k] for k in ("state", "kind") if k in self.query}))


class Run(ApiView):
    """One run while it works and after."""

    tag = "ingest"
    endpoints = {
        "GET": Endpoint(
            summary="Read an ingest run with its progress",
            action=Action.VIEW,
            scope=Scope.READ_INGEST,
            answer=RunAnswer,
        )
    }

    def get(self, request: Request, run_id: int) -> Response:
        """Counts, progress and known range."""
        return self.answer(found_or_404(runs_visible(organisation=self.organisation), pk=run_id))


class RejectionAnswer(serializers.Serializer[Any]):
    """A row or a whole file (row null) that did not become a price."""

    kind = serializers.ChoiceField(choices=RejectionKind.choices)
    file = serializers.CharField()
    row = serializers.IntegerField(allow_null=True, help_text="Data record of the file, from 1.")
    field = serializers.CharField(help_text="Column or JSON key; empty for the whole row.")
    reason = serializers.CharField()


class Rejections(ApiView):
    """What a run could not use."""

    tag = "ingest"
    endpoints = {
        "GET": Endpoint(
            summary="List the rejected rows of an ingest run, in the order they were met",
            action=Action.VIEW,
            scope=Scope.READ_INGEST,
            query=PageQuery,
            answer=page_of(RejectionAnswer),
        )
    }

    def get(self, request: Request, run_id: int) -> Response:
        """One page of rows with their reasons."""
        run = found_or_404(runs_visible(organisation=self.organisation), pk=run_id)
        return self.page(run.rejections.order_by("pk"))
