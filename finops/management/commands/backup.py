"""`./manage.py backup DIR [--json]`: database and lake into a new folder, also while Offpeak runs."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import connection
from django.utils.translation import gettext as _

from apps.ingest.locks import import_lock
from finops.backup import BackupRefusedError, backup_write
from finops.verbs import JsonCommand, error_document

REFUSED = 3


class Command(JsonCommand):
    """Waits for a running import, then copies."""

    help = "Write a backup of the database and the lake into a new folder."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the folder and the switch for JSON."""
        parser.add_argument("folder", type=Path)
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the backup; exit code 3 when the folder is refused."""
        folder: Path = options["folder"].expanduser().absolute()
        try:
            with import_lock():
                facts = backup_write(
                    folder=folder,
                    database=connection.settings_dict,
                    lake=Path(settings.LAKE_WAREHOUSE),
                    version=settings.OFFPEAK_VERSION,
                    now=datetime.now(UTC),
                )
        except BackupRefusedError as error:
            if options["json"]:
                self.document(error_document(str(error), "folder"))
            self.stderr.write(str(error))
            sys.exit(REFUSED)
        if options["json"]:
            self.stdout.write(json.dumps({"folder": str(folder), **facts}))
        else:
            self.stdout.write(_("Backup written to %(folder)s.") % {"folder": folder})
