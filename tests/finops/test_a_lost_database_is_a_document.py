"""However the driver says that the database went away, a command answers with one document, exit code 1."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError

from finops.verbs import JsonCommand


class _Failing(JsonCommand):
    """A command whose work ends in an error."""

    requires_system_checks: list[str] = []

    def __init__(self, error: Exception) -> None:
        self.out = io.StringIO()
        super().__init__(stdout=self.out, no_color=True)
        self.error = error

    def add_arguments(self, parser: CommandParser) -> None:
        """The form of the answer."""
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Fail."""
        raise self.error


def _run(command: _Failing) -> None:
    command.execute(json=True, no_color=True, force_color=False, skip_checks=True)


@pytest.mark.parametrize("kind", [OperationalError, InterfaceError, DatabaseError])
def test_a_lost_database_is_one_document(kind: type[Exception]) -> None:
    command = _Failing(kind("the server closed the connection\n"))
    with pytest.raises(CommandError) as caught:
        _run(command)
    assert caught.value.returncode == 1
    assert json.loads(command.out.getvalue()) == {
        "error": {"field": None, "message": "the server closed the connection"}
    }


def test_a_mistake_of_ours_stays_one() -> None:
    command = _Failing(ProgrammingError("no such column"))
    with pytest.raises(ProgrammingError):
        _run(command)
    assert command.out.getvalue() == ""
