"""Every command of ours: a command line that cannot be read is one JSON document and exit code 2."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from finops.verbs import wants_json

OURS = sorted(name for name, app in get_commands().items() if str(app).split(".")[0] in {"apps", "finops"})
Capture = pytest.CaptureFixture[str]


def typed(capsys: Capture, name: str, *words: str) -> tuple[Any, str, Any]:
    """(document, standard error, exit code) of a command line as a person types it."""
    command = load_command_class(get_commands()[name], name)
    with pytest.raises(SystemExit) as ended:
        command.run_from_argv(["manage.py", name, *words])
    printed = capsys.readouterr()
    return (json.loads(printed.out) if printed.out else None), printed.err, ended.value.code


@pytest.mark.parametrize("name", OURS)
def test_an_unknown_argument_is_one_document(name: str, capsys: Capture) -> None:
    document, told, code = typed(capsys, name, "--json", "--no-such-argument")
    assert code == 2
    assert set(document["error"]) == {"field", "message"}
    assert document["error"]["message"] in told


def test_the_argument_to_blame_is_named(capsys: Capture) -> None:
    document, told, code = typed(capsys, "advise_launch", "--hours", "many", "--json")
    assert (document["error"]["field"], code) == ("hours", 2)
    assert "many" in document["error"]["message"]
    assert "argument --hours" in told
    document, _, _ = typed(capsys, "run_cost", "--region", "r", "--js")
    assert document["error"]["field"] == "type"
    document, _, _ = typed(capsys, "import_prices", "x", "--provider", "mars", "--json")
    assert document["error"]["field"] == "provider"
    assert "aws" in document["error"]["message"]
    document, _, _ = typed(capsys, "prices", "--json", "surplus", *["--region", "r", "--type", "t"])
    assert document["error"]["field"] == "zone"


def test_without_json_standard_output_stays_empty(capsys: Capture) -> None:
    document, told, code = typed(capsys, "advise_launch", "--hours", "many")
    assert (document, code) == (None, 2)
    assert "usage:" in told


@pytest.mark.django_db
def test_what_a_command_refuses_itself_is_a_document_too(capsys: Capture) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("collect_feed", "nowhere", "--json")
    assert refused.value.returncode == 2
    assert json.loads(capsys.readouterr().out) == {
        "error": {"field": None, "message": "There is no feed of this name."}
    }


def test_shortened_flags_ask_for_json_as_argparse_reads_them() -> None:
    assert wants_json(["--hours", "8", "--json"])
    assert wants_json(["--j"])
    assert not wants_json(["--hours", "8", "--", "json"])
    assert not wants_json(["--"])
