"""The audit trail: append-only, without secrets; migrations go both ways with data in them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation
from apps.accounts.selectors import audit_list
from apps.accounts.services import audit_record


@pytest.mark.django_db
def test_entries_cannot_be_changed_or_deleted_even_by_sql(organisation: Organisation) -> None:
    entry = audit_record(
        organisation=organisation,
        actor=Actor.system("test"),
        action="thing.do",
        object_type="t",
        object_id="1",
    )
    for sql in ("UPDATE accounts_auditentry SET action = 'x'", "DELETE FROM accounts_auditentry"):
        with (
            pytest.raises(IntegrityError, match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(sql)
    with pytest.raises(IntegrityError), transaction.atomic():
        entry.delete()
    entry.refresh_from_db()
    assert entry.action == "thing.do"


@pytest.mark.django_db
def test_values_lose_secrets_and_keep_their_digits(organisation: Organisation) -> None:
    entry = audit_record(
        organisation=organisation,
        actor=Actor.system("test"),
        action="feed.change",
        target=organisation,
        before={"limit": Decimal("12.50"), "at": datetime(2026, 3, 6, tzinfo=UTC), "password": "CANARY"},
        after={"url": "https://a.test/?key=CANARY&page=2", "deep": {"client_secret": "CANARY"}, "n": None},
    )
    entry.refresh_from_db()
    assert entry.before == {"limit": "12.50", "at": "2026-03-06T00:00:00Z", "password": "[redacted]"}
    assert entry.after == {
        "url": "https://a.test/?key=[redacted]&page=2",
        "deep": {"client_secret": "[redacted]"},
        "n": None,
    }
    assert (entry.object_type, entry.object_id) == ("accounts.organisation", str(organisation.pk))


@pytest.mark.django_db
def test_the_trail_is_one_organisations_newest_first(organisation: Organisation) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    for owner, action in ((organisation, "a.b"), (elsewhere, "a.b"), (organisation, "c.d")):
        audit_record(
            organisation=owner, actor=Actor.system("t"), action=action, object_type="t", object_id="1"
        )
    assert [entry.action for entry in audit_list(organisation)] == ["c.d", "a.b"]
    assert [entry.action for entry in audit_list(organisation, action="a.b")] == ["a.b"]


@pytest.mark.django_db(transaction=True)
def test_the_rules_of_the_database_go_and_come_back_with_rows_in_place() -> None:
    organisation = Organisation.default()
    audit_record(
        organisation=organisation, actor=Actor.system("t"), action="a.b", object_type="t", object_id="1"
    )
    try:
        MigrationExecutor(connection).migrate([("accounts", "0001_initial")])
        assert AuditEntry.objects.update(action="changed") == 1
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert AuditEntry.objects.get().action == "changed"
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditEntry.objects.update(action="again")
