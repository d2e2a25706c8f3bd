"""Files about storage and buckets by REST and by verb: an upload becomes bands, all ways tell the same."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.ingest.models import Feed, IngestRun
from apps.ingest.tasks import ingest_run_execute
from tests.support.bill_lake import put_bill
from tests.support.lake import fresh_lake
from tests.support.storage_files import listing, row

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]
GIB = 2**30


@pytest.fixture(autouse=True)
def _lake(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.OFFPEAK_HOME = tmp_path / "home"
    with fresh_lake(settings, tmp_path / "lake"):
        yield


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    ids: list[int] = []
    monkeypatch.setattr("apps.ingest.tasks.ingest_run_execute.delay", ids.append)
    return ids


def packed(folder: Path) -> bytes:
    """An inventory's folder as a zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, str(file.relative_to(folder)))
    return out.getvalue()


def bill() -> None:
    start, end = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
    line = {
        "resource_id": "data", "x_usage_type": "TimedStorage-ByteHrs", "x_operation": "StandardStorage",
        "x_product_code": "AmazonS3", "x_quantity": "100", "x_unit": "GB-Mo", "billed_cost": "2.30",
        "region_id": "us-east-1", "charge_period_start": start, "charge_period_end": end,
    }  # fmt: skip
    put_bill([line], period=start.date(), organisation=Organisation.default())


def test_an_uploaded_archive_becomes_bands_and_the_answer_is_the_verbs(
    with_key: Make, queued: list[int], tmp_path: Path, django_capture_on_commit_callbacks: Any, capsys: Any
) -> None:
    bill()
    content = packed(listing(tmp_path / "in", [row("a", 2 * GIB), row("b", 3 * GIB)]))
    client = with_key("write:ingest", "read:bills")
    with django_capture_on_commit_callbacks(execute=True):
        file = SimpleUploadedFile("inventory.zip", content)
        response = client.post("/api/v1/storage/imports", {"file": file, "region": "us-east-1"})
    assert response.status_code == 202, response.content
    assert queued == [response.json()["id"]]
    ingest_run_execute(queued[0])
    run = IngestRun.objects.get(subject="storage")
    assert (run.state, run.stored, run.organisation) == ("finished", 2, Organisation.default())
    assert not Path(run.location).exists()
    assert AuditEntry.objects.filter(action="storage.load").count() == 1
    [found] = client.get("/api/v1/storage/buckets?bucket=data").json()["buckets"]
    assert (found["listed_bytes"], found["gap_bytes"], found["gap_share"]) == (5 * GIB, 95 * GIB, 0.95)
    assert (found["blocked"], found["missing"], found["reason_code"]) == (True, ["incomplete"], "gap")
    assert found["billed"] == [
        {"class": "STANDARD", "gib_months": "100", "mean_gib": "100", "cost": "2.3", "currency": "USD"}
    ]
    capsys.readouterr()
    call_command("storage_buckets", "--bucket", "data", "--json")
    assert json.loads(capsys.readouterr().out)["buckets"] == [found]
    assert client.get("/api/v1/storage/buckets?bucket=nowhere").json()["buckets"] == []


def test_who_may_load_and_who_may_look(sign_in: Make, with_key: Make, queued: list[int]) -> None:
    file = SimpleUploadedFile("x.csv", b"a,b\n")
    viewer = sign_in("viewer")
    assert viewer.post("/api/v1/storage/imports", {"file": file}).status_code == 403
    assert viewer.get("/api/v1/storage/buckets").status_code == 200
    assert with_key("read:bills").post("/api/v1/storage/imports", {"file": file}).status_code == 403
    assert with_key("write:ingest").get("/api/v1/storage/buckets").status_code == 403
    assert queued == []


@pytest.mark.parametrize(
    "body", [{"kind": "pictures"}, {"provider": "moon"}, {"listed_at": "yesterday"}, {"shape": "x"}]
)
def test_what_is_not_known_is_refused_by_its_field(
    with_key: Make, queued: list[int], body: dict[str, str]
) -> None:
    file = SimpleUploadedFile("x.csv", b"a,b\n")
    response = with_key("write:ingest").post("/api/v1/storage/imports", {"file": file, **body})
    assert response.status_code == 400
    assert response.json()["error"]["fields"][0]["field"] == next(iter(body))
    assert not IngestRun.objects.exists()


def test_a_feed_of_storage_is_made(sign_in: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.api.views.feeds.feed_collect_hand_out", lambda _pk: None)
    body = {"name": "inv", "bucket": "acme-meta", "region": "us-east-1"}
    made = sign_in("engineer").post("/api/v1/feeds/storage", body, "application/json")
    assert made.status_code == 201, made.content
    assert (made.json()["kind"], Feed.objects.get().interval.total_seconds()) == ("storage", 6 * 3600)
    assert sign_in("viewer").post("/api/v1/feeds/storage", body, "application/json").status_code == 403


def test_the_command_prints_one_document_with_the_rows(tmp_path: Path, capsys: Any) -> None:
    path = listing(tmp_path / "in", [row("a"), row("b", "x")])
    call_command("import_storage", str(path), "--json")
    document = json.loads(capsys.readouterr().out)
    [run] = document["runs"]
    assert (run["rows_read"], run["stored"], run["duplicates"], run["rejected"]) == (2, 1, 0, 1)
    assert run["rejections"] == [
        {
            "file": "data/a.csv.gz", "row": 2, "field": "Size",
            "reason": "not a whole number of bytes from 0",
        }
    ]  # fmt: skip
    assert run["listings"][0]["bucket"] == "data"
    assert set(document["evidence"]["snapshots"]) == {"storage.objects"}
    with pytest.raises(SystemExit) as ended:
        call_command("import_storage", str(tmp_path / "nothing"), "--json")
    assert ended.value.code == 3
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert (run["state"], run["rejections"][0]["reason"]) == (
        "refused",
        "no such file, folder or pattern",
    )
