"""What the import commands of small tables have in common: whole or refused, exit code 3."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from finops.text.small_tables import MAX_BYTES, TableError
from finops.verbs import JsonCommand

EXIT_REFUSED = 3
MISTAKES_PRINTED = 100


class TableCommand(JsonCommand, ABC):
    """Imports one CSV into a table of the default organisation."""

    def add_arguments(self, parser: CommandParser) -> None:
        """The file and the form of the answer."""
        parser.add_argument("path", metavar="PATH", help=_("CSV file"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    @abstractmethod
    def store(
        self, *, organisation: Organisation, actor: Actor, content: bytes, file: str, options: Any
    ) -> Any:
        """Counts as a dataclass. Raises TableError."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and report; a mistake refuses the file and names file, row and field."""
        path = Path(options["path"])
        try:
            if path.stat().st_size > MAX_BYTES:
                raise CommandError(_("The file is larger than %(limit)d MiB.") % {"limit": MAX_BYTES >> 20})
            content = path.read_bytes()
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}", returncode=2) from error
        try:
            counts = asdict(
                self.store(
                    organisation=Organisation.default(),
                    actor=Actor.system(self.__class__.__module__.rpartition(".")[2]),
                    content=content,
                    file=path.name,
                    options=options,
                )
            )
        except TableError as error:
            self._refuse(error, as_json=options["json"])
        if options["json"]:
            self.stdout.write(json.dumps({**counts, "mistakes": []}))
        else:
            self.stdout.write(", ".join(f"{name}: {value}" for name, value in counts.items()))

    def _refuse(self, error: TableError, *, as_json: bool) -> None:
        told = error.mistakes[:MISTAKES_PRINTED]
        if as_json:
            mistakes = [
                {"file": m.file, "row": m.row, "field": m.field or None, "reason": m.reason} for m in told
            ]
            document = {"error": {"field": "path", "message": str(error)}, "mistakes": mistakes}
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        for mistake in told:
            self.stderr.write(str(mistake))
        sys.exit(EXIT_REFUSED)
