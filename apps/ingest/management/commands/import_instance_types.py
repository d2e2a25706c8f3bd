"""`import_instance_types PATH…`: facts from answers of describe-instance-types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apps.ingest.management.reference_command import ReferenceCommand
from apps.ingest.models import IngestRun
from apps.ingest.reference import instance_types_import


class Command(ReferenceCommand):
    """JSON of the API or the command line, one document or several, also in archives."""

    help = "Import instance type facts."

    def runs(self, options: dict[str, Any], progress: Callable[[str], None]) -> list[IngestRun]:
        """One run per path."""
        return [instance_types_import(path=path, progress=progress) for path in options["paths"]]
