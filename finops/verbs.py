"""What every command of ours has in common: with --json a refusal is one JSON document as well."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, OperationalError

# argparse gives its errors as text only: "argument --hours: invalid …", "… are required: --hours, --regions".
_ARGUMENT = re.compile(r"^argument (?:-\w/)?-*([\w-]+)|: -*([\w-]+)")


def wants_json(words: list[str]) -> bool:
    """Whether a command line asks for JSON, also by a shortened flag as argparse takes it."""
    return any(len(word) > 2 and "--json".startswith(word) for word in words)


def error_document(message: str, field: str | None = None, **more: Any) -> dict[str, Any]:
    """`{"error": {"field", "message"}}`; `field` is the argument without its dashes, None for none."""
    return {"error": {"field": field, "message": message, **more}}


def database_lost(error: Exception) -> bool:
    """Whether the database went away: psycopg2 says so in three ways, the plain DatabaseError among them."""
    return isinstance(error, OperationalError | InterfaceError) or type(error) is DatabaseError


class JsonCommand(BaseCommand):
    """A command whose wrong usage under --json is a document on standard output, exit code 2.

    The message goes to standard error in any case.
    """

    asked_for_json = False

    def run_from_argv(self, argv: list[str]) -> None:
        """Remember the form of the answer: a command line that is wrong is never parsed to its end."""
        self.asked_for_json = wants_json(argv[2:])
        super().run_from_argv(argv)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """The parser, with the document before its own message."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.error = partial(self._wrong_usage, parser.error)  # type: ignore[method-assign]
        return parser

    def _wrong_usage(self, say: Callable[[str], NoReturn], message: str) -> NoReturn:
        if self.asked_for_json:
            named = _ARGUMENT.search(message)
            field = (named[1] or named[2]).replace("-", "_") if named else None
            self.document(error_document(message, field))
        say(message)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run; a CommandError is a document before Django prints it, and a lost database is one."""
        try:
            answer: str | None = super().execute(*args, **options)
        except (CommandError, DatabaseError, InterfaceError) as error:
            lost = database_lost(error)
            if options.get("json") and (lost or isinstance(error, CommandError)):
                self.document(error_document(str(error).strip()))
            if lost:
                raise CommandError(str(error).strip()) from error
            raise
        return answer

    def document(self, found: dict[str, Any]) -> None:
        """One JSON document on standard output."""
        self.stdout.write(json.dumps(found, ensure_ascii=False))
