"""The hash chain of the audit trail: every entry is in it, a change is seen, commits side by side keep it."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from apps.accounts.actors import Actor
from apps.accounts.audit_chain import chain_all, chain_rows, chain_state
from apps.accounts.models import AuditEntry, AuditSeal, Organisation
from apps.accounts.services import audit_record

ZEROS = "0" * 64


def record(organisation: Organisation, action: str = "a.b", **after: Any) -> AuditEntry:
    return audit_record(
        organisation=organisation, actor=Actor.system("t"), action=action, object_type="t", object_id="1",
        after=after,
    )  # fmt: skip


def seal() -> None:
    """What a commit does."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def verb(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, Any], int]:
    code = 0
    try:
        call_command("audit_log", "--json", *words)
    except SystemExit as ended:
        code = int(str(ended.code))
    return json.loads(capsys.readouterr().out), code


@pytest.mark.django_db
def test_each_organisation_has_a_chain_that_anybody_can_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = Organisation.default()
    other = Organisation.objects.create(name="Other", slug="other")
    for number in range(3):
        record(first, note=f"ü {number}", amount="1.10")
        record(other)
    audit_record(organisation=None, actor=Actor.system("t"), action="x.y", object_type="t", object_id="1")
    assert chain_state(first)["sealed"] == 0
    seal()
    document, code = verb(capsys, "--export", str(tmp_path / "trail.jsonl"))
    assert (code, document["entries"], document["sealed"], document["broken"]) == (0, 3, 3, None)
    previous = ZEROS
    lines = [json.loads(line) for line in (tmp_path / "trail.jsonl").read_text().splitlines()]
    for number, line in enumerate(lines, 1):
        assert (line["number"], line["previous"]) == (number, previous)
        previous = hashlib.sha256(f"{previous}\n{line['text']}".encode()).hexdigest()
        assert line["hash"] == previous
        assert json.loads(line["text"])[6] == "a.b"
    assert document["head"] == previous
    assert chain_state(other)["head"] != previous
    assert [row["number"] for row in chain_rows(first, after=1, limit=1)] == [2]
    assert len(list(chain_all(other))) == 3
    assert verb(capsys, "--expect", lines[1]["hash"])[1] == 0
    assert verb(capsys, "--expect", "f" * 64)[1] == 1
    assert verb(capsys, "--organisation", "nobody")[1] == 2
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditSeal.objects.update(hash=ZEROS)
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditSeal.objects.all().delete()


@pytest.mark.django_db
def test_what_was_changed_behind_the_trail_is_seen() -> None:
    organisation = Organisation.default()
    entries = [record(organisation, note=number) for number in range(3)]
    seal()
    assert chain_state(organisation)["valid"] is True
    for statement, broken in (
        ("UPDATE accounts_auditentry SET action = 'c.d' WHERE id = %(middle)s", 2),
        ("UPDATE accounts_auditentry SET after = '{}' WHERE id = %(middle)s", 2),
        ("UPDATE accounts_auditentry SET at = at + interval '1 s' WHERE id = %(middle)s", 2),
        ("DELETE FROM accounts_auditseal WHERE entry_id = %(middle)s", 3),
        ("UPDATE accounts_auditseal SET hash = previous WHERE entry_id = %(middle)s", 2),
    ):
        point = transaction.savepoint()
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE accounts_auditentry DISABLE TRIGGER USER")
            cursor.execute("ALTER TABLE accounts_auditseal DISABLE TRIGGER USER")
            cursor.execute(statement, {"middle": entries[1].pk})
        state = chain_state(organisation)
        assert (state["valid"], state["broken"]) == (False, broken), statement
        transaction.savepoint_rollback(point)
    assert chain_state(organisation)["valid"] is True


@pytest.mark.django_db(transaction=True)
def test_commits_side_by_side_make_one_chain_and_a_rollback_leaves_no_hole() -> None:
    organisation = Organisation.default()

    def work(number: int) -> None:
        try:
            with transaction.atomic():
                record(organisation, note=number)
                record(organisation, note=number)
                if number % 3 == 0:
                    raise ValueError
        except ValueError:
            pass
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(12)))
    state = chain_state(organisation)
    assert (state["entries"], state["sealed"], state["valid"]) == (16, 16, True)


@pytest.mark.django_db
def test_an_empty_trail_holds(capsys: pytest.CaptureFixture[str]) -> None:
    Organisation.default()
    document, code = verb(capsys)
    assert (code, document["valid"], document["head"], document["sealed"]) == (0, True, None, 0)
