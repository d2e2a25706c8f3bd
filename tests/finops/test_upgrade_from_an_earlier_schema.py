"""Data of an earlier release come forward: its frozen database (tests/data/upgrade) is migrated to today.

`early.sql.gz` is the demo with a few people, a key, a workload and a budget as the schema held them before
the audit chain, storage, launches, reports and cost checks: a dump of its rows and tables, made once and
never made anew, so that it stays what an old installation has.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from apps.accounts.audit_chain import chain_state
from apps.accounts.models import ApiKey, AuditEntry, Membership, Organisation, User
from apps.accounts.selectors import api_key_list, member_list, team_list
from apps.billing.models import Anomaly, Budget, Delivery
from apps.catalog.models import InstanceType
from apps.ingest.models import IngestRun
from apps.prices.models import InterruptionBand, ListPrice, ReservedPrice
from apps.workloads.models import Workload

FROZEN = Path(__file__).resolve().parents[1] / "data" / "upgrade" / "early.sql.gz"
NAME = "offpeak_upgrade_test"


def _run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.fixture(scope="module")
def upgraded(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The default connection on a database of its own that holds the frozen rows, migrated to today."""
    with django_db_blocker.unblock():
        usual = connection.settings_dict["NAME"]
        _run(f"DROP DATABASE IF EXISTS {NAME}_{usual}")
        _run(f"CREATE DATABASE {NAME}_{usual} TEMPLATE template0")
        connection.close()
        connection.settings_dict["NAME"] = f"{NAME}_{usual}"
        try:
            _run(gzip.decompress(FROZEN.read_bytes()).decode())
            connection.close()  # the dump emptied the search path
            call_command("migrate", verbosity=0)
            yield
        finally:
            connection.close()
            connection.settings_dict["NAME"] = usual
            _run(f"DROP DATABASE {NAME}_{usual}")


@pytest.fixture
def _open(upgraded: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


pytestmark = pytest.mark.usefixtures("_open")


def test_nothing_is_left_to_migrate() -> None:
    call_command("migrate", check_unapplied=True, verbosity=0)


def test_people_keys_and_the_trail_are_there_and_the_trail_is_sealed(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]  # as they were kept
    organisation = Organisation.objects.get(slug="default")
    assert [(m.user.email, m.role) for m in member_list(organisation)] == [
        ("ada@example.test", "admin"),
        ("bob@example.test", "viewer"),
        ("demo@offpeak.example", "admin"),
    ]
    assert User.objects.get(email="ada@example.test").check_password("correct horse battery")
    assert [team.slug for team in team_list(organisation)] == ["data"]
    assert [(key.name, key.scopes) for key in api_key_list(organisation)] == [("ci", ["read:bills"])]
    assert not organisation.second_factor_required
    state = chain_state(organisation)
    assert state["entries"] == AuditEntry.objects.filter(organisation=organisation).count() > 3
    assert (state["valid"], state["broken"], state["sealed"]) == (True, None, state["entries"])
    assert (ApiKey.objects.count(), Membership.objects.count()) == (1, 3)


def test_money_work_and_prices_are_what_they_were() -> None:
    budget = Budget.objects.get()
    assert (budget.name, budget.amount, budget.currency) == ("all", Decimal("10.00"), "USD")
    assert (Workload.objects.get().name, Workload.objects.get().team.slug) == ("nightly", "data")  # type: ignore[union-attr]
    assert sorted(str(row.billing_period)[:7] for row in Delivery.objects.filter(state="current")) == [
        "2018-10",
        "2018-11",
    ]
    assert Anomaly.objects.count() == 7
    assert IngestRun.objects.count() == 2
    assert (ListPrice.objects.count(), ReservedPrice.objects.count()) == (20, 11)
    assert InterruptionBand.objects.count() == 21
    assert InstanceType.objects.count() > 1000
