"""`./manage.py restore DIR [--json]`: a backup into an empty installation, also at another path."""

import json
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import connection
from django.utils.translation import gettext as _

from apps.ingest.selectors import database_url
from finops.backup import BackupRefusedError, backup_restore
from finops.verbs import JsonCommand, error_document

REFUSED = 3


class Command(JsonCommand):
    """Refuses everything that would overwrite data."""

    help = "Restore a backup into an empty installation."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the folder and the switch for JSON."""
        parser.add_argument("folder", type=Path)
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore; exit code 3 when the backup or this installation is refused."""
        folder: Path = options["folder"].expanduser().absolute()
        try:
            facts = backup_restore(
                folder=folder,
                database=connection.settings_dict,
                database_url=database_url(),
                lake=Path(settings.LAKE_WAREHOUSE),
                empty=not connection.introspection.table_names(),
                version=settings.OFFPEAK_VERSION,
            )
        except BackupRefusedError as error:
            if options["json"]:
                self.document(error_document(str(error), "folder"))
            self.stderr.write(str(error))
            sys.exit(REFUSED)
        if options["json"]:
            self.stdout.write(json.dumps({"folder": str(folder), **facts}))
        else:
            self.stdout.write(_("Restored the backup of %(at)s.") % {"at": facts["at"]})
