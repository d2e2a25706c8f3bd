"""`./manage.py health [--json]`: the state of each part; exit code 1 when one has failed."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from apps.api.health import report
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """Checks database, cache, broker, lake, worker, beat, feeds and disk."""

    help = "State of database, cache, broker, lake, worker, beat, feeds and disk."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Options."""
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the report; exit 1 when a part has failed, 0 when all work or are only late."""
        found = report(timezone.now())
        if options["json"]:
            self.stdout.write(json.dumps(found, ensure_ascii=False))
        else:
            for check in found["checks"]:
                self.stdout.write(f"{check['state']:<7} {check['name']:<9} {check['detail']}")
        if found["state"] == "failed":
            sys.exit(1)
