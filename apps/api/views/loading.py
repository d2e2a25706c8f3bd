"""What the doors for files have in common: an upload or a path on the server becomes a waiting run."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from django.db import transaction
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import check
from apps.accounts.roles import Action
from apps.accounts.services import audit_record
from apps.api.endpoint import Refused, UploadView
from apps.api.strict import StrictSerializer
from apps.ingest.models import IngestRun, RunKind
from apps.ingest.services import PathRefusedError, import_path_resolve, upload_store
from apps.ingest.tasks import ingest_run_hand_out


class SourceBody(StrictSerializer):
    """A file (multipart) or a path on the server (JSON); subclasses add what the file itself does not say."""

    file = serializers.FileField(
        required=False, help_text="Text, CSV, JSON or Parquet as the format has it; plain or packed."
    )
    path = serializers.CharField(
        required=False, max_length=1000, help_text="Below a folder of IMPORT_ROOTS; needs load_path."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Exactly one of file and path."""
        if ("file" in attrs) == ("path" in attrs):
            raise serializers.ValidationError(_("Send either a file or a path."))
        return attrs


class LoadView(UploadView):
    """Answers at once with the waiting run; a worker takes it up."""

    audit_action: ClassVar[str]

    @abstractmethod
    def run_of(self, *, source: str, location: str, kind: RunKind, **owner: Any) -> IngestRun:
        """The waiting run. `owner`: its organisation and user."""

    def post(self, request: Request) -> Response:
        """Make the run, its audit row, and hand it out once both are stored."""
        try:
            source, location, kind = self._source()
        except PathRefusedError as error:
            raise Refused(str(error), code="input_refused") from None
        user = self.membership.user if self.membership else None
        with transaction.atomic():
            run = self.run_of(
                source=source, location=location, kind=kind, organisation=self.organisation, user=user
            )
            audit_record(
                organisation=self.organisation,
                actor=self.actor,
                action=self.audit_action,
                target=run,
                after={"source": source, "kind": kind},
            )
            transaction.on_commit(lambda: ingest_run_hand_out(run.pk))
        return self.answer(run)

    def _source(self) -> tuple[str, str, RunKind]:
        """What to show, what to read, and its kind. Raises PathRefusedError and NotAllowed."""
        if (file := self.body.get("file")) is not None:
            shown, location = upload_store(name=file.name, chunks=file.chunks())
            return shown, location, RunKind.UPLOAD
        # A path of the server is for people who run it; a key has no role that could hold this.
        check(self.membership, Action.LOAD_PATH)
        path = self.body["path"]
        return path, import_path_resolve(path), RunKind.FILES
