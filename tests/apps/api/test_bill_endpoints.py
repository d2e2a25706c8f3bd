"""Bills through the API: in by upload, deliveries and changes out, each organisation its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.billing.models import Delivery
from apps.ingest.models import IngestRun
from apps.ingest.tasks import ingest_run_execute
from tests.support.bills import cur_csv, import_text
from tests.support.lake import fresh_lake

Make = Callable[..., Client]


@pytest.fixture
def lake_folder(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    settings.OFFPEAK_HOME = tmp_path / "home"
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    ids: list[int] = []
    monkeypatch.setattr("apps.ingest.tasks.ingest_run_execute.delay", ids.append)
    return ids


def _csv(*costs: str) -> str:
    return cur_csv([{"lineItem/UnblendedCost": cost} for cost in costs])


def test_an_upload_becomes_a_delivery_and_the_file_goes(
    with_key: Make, queued: list[int], lake_folder: Path, django_capture_on_commit_callbacks: Any
) -> None:
    client = with_key("write:bills", "read:bills")
    with django_capture_on_commit_callbacks(execute=True):
        file = SimpleUploadedFile("march.csv", _csv("1.25", "2").encode())
        response = client.post("/api/v1/bills", {"file": file})
    assert response.status_code == 202, response.content
    assert queued == [response.json()["id"]]
    ingest_run_execute(queued[0])
    run = IngestRun.objects.get()
    assert (run.state, run.subject, run.stored) == ("finished", "bills", 2)
    assert not Path(run.location).exists()
    assert AuditEntry.objects.filter(action="bills.load").count() == 1
    [found] = client.get("/api/v1/bills/deliveries?billing_period=2026-03").json()["results"]
    assert (found["state"], found["billing_period"], found["totals"]["USD"]["billed"]) == (
        "current",
        "2026-03",
        "3.25",
    )
    one = client.get(f"/api/v1/bills/deliveries/{found['id']}").json()
    assert one["by_line_item_type"]["Usage"]["USD"]["rows"] == 2
    assert one["files"][0]["name"] == "march.csv"


def test_changes_between_any_two_deliveries(with_key: Make, lake_folder: Path, tmp_path: Path) -> None:
    for number, costs in enumerate((("1",), ("1", "2"), ("1", "2", "4")), start=1):
        at = datetime(2026, 3, number, tzinfo=UTC)
        import_text(tmp_path / f"{number}" / "bill.csv", _csv(*costs), at=at)
    first, _second, third = Delivery.objects.order_by("delivered_at")
    client = with_key("read:bills")
    newest = client.get("/api/v1/bills/changes").json()
    assert newest["difference"] == {"USD": "4"}
    [change] = newest["changes"]
    assert (change["service"], change["charge_category"], change["before"], change["after"]) == (
        "AmazonEC2",
        "Usage",
        "3",
        "7",
    )
    both = client.get(f"/api/v1/bills/changes?after={third.pk}&before={first.pk}&by=account").json()
    [change] = both["changes"]
    assert (change["account"], change["difference"]) == ("111122223333", "6")


def test_another_organisation_and_another_scope_see_nothing(
    with_key: Make, lake_folder: Path, tmp_path: Path
) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    import_text(tmp_path / "bill.csv", _csv("1"), organisation=other)
    [delivery] = Delivery.objects.all()
    client = with_key("read:bills")
    assert client.get("/api/v1/bills/deliveries").json()["results"] == []
    assert client.get(f"/api/v1/bills/deliveries/{delivery.pk}").status_code == 404
    assert client.get(f"/api/v1/bills/changes?after={delivery.pk}").status_code == 404
    assert with_key("read:prices").get("/api/v1/bills/deliveries").status_code == 403
    assert client.post("/api/v1/bills", {"path": "/x"}, content_type="application/json").status_code == 403
