"""Bills as a FOCUS file by REST: the file, its headers, and nothing left behind."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Membership, Organisation, User
from apps.billing.services import focus_export
from tests.support.bill_lake import put_bill
from tests.support.lake import fresh_lake

ADDRESS = "/api/v1/exports/focus"
DAYS = {"from": "2026-03-01", "to": "2026-04-01"}


@pytest.fixture
def viewer(db: None, settings: Any, tmp_path: Path) -> Iterator[Client]:
    settings.OFFPEAK_HOME = tmp_path / "home"
    (tmp_path / "home").mkdir()
    user = User.objects.create_user("viewer@example.test", "correct horse battery")
    Membership.objects.create(user=user, organisation=Organisation.default(), role="viewer")
    client = Client()
    client.force_login(user)
    with fresh_lake(settings, tmp_path / "lake"):
        yield client


def test_the_file_comes_whole_and_leaves_nothing_behind(viewer: Client, tmp_path: Path) -> None:
    start = datetime(2026, 3, 5, tzinfo=UTC)
    put_bill(
        [{"billed_cost": "1.25", "charge_period_start": start, "service_name": "EC2"}],
        period=date(2026, 3, 1),
    )
    answer = viewer.get(ADDRESS, DAYS)
    assert answer.status_code == 200
    assert answer["Content-Disposition"] == 'attachment; filename="focus-2026-03-01-2026-04-01.csv"'
    assert (answer["X-Rows"], answer["X-Focus-Version"], answer["X-Focus-Conformant"]) == (
        "1",
        "1.2",
        "false",
    )
    assert "ServiceCategory" in answer["X-Columns-Not-Available"].split(",")
    assert list((tmp_path / "home" / "exports").iterdir()) == []
    [row] = csv.DictReader(io.StringIO(answer.getvalue().decode()))
    assert (row["BilledCost"], row["ServiceName"], row["ServiceCategory"]) == ("1.25", "EC2", "NULL")


def test_parquet_is_a_format_too(viewer: Client) -> None:
    answer = viewer.get(ADDRESS, {**DAYS, "format": "parquet"})
    assert answer["Content-Type"] == "application/vnd.apache.parquet"
    assert answer.getvalue()[:4] == b"PAR1"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from": "March"}, "from"),
        ({"to": "2026-01-01"}, "to"),
        ({"format": "xml"}, "format"),
        ({"x": "1"}, "x"),
    ],
)
def test_wrong_questions_name_their_field(viewer: Client, query: dict[str, str], field: str) -> None:
    answer = viewer.get(ADDRESS, {**DAYS, **query})
    assert answer.status_code == 400
    assert field in answer.content.decode()


def test_strangers_get_nothing(db: None) -> None:
    assert Client().get(ADDRESS, DAYS).status_code in {401, 403}


def test_a_full_disk_is_told_and_leaves_nothing_behind(
    viewer: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(focus_export.os, "fsync", full)
    answer = viewer.get(ADDRESS, DAYS)
    assert answer.status_code == 507
    assert answer.json()["error"]["code"] == "not_written"
    assert list((tmp_path / "home" / "exports").iterdir()) == []
