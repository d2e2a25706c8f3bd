"""Files in through the API: who may, where they go, and what the run says afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.ingest.models import IngestRun, RejectedRow
from apps.ingest.services import ingest_run_create

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    ids: list[int] = []
    monkeypatch.setattr("apps.ingest.tasks.ingest_run_execute.delay", ids.append)
    return ids


def test_an_upload_waits_as_a_run_and_is_handed_out_after_the_commit(
    with_key: Make,
    queued: list[int],
    settings: pytest.FixtureRequest,
    tmp_path: Path,
    django_capture_on_commit_callbacks: Callable,
) -> None:
    settings.OFFPEAK_HOME = tmp_path  # type: ignore[attr-defined]
    client = with_key("write:ingest", "read:ingest")
    with django_capture_on_commit_callbacks(execute=False) as callbacks:
        response = client.post(
            "/api/v1/ingest/prices",
            {"file": SimpleUploadedFile("../../evil .json", b"[]"), "region": "us-east-1"},
        )
    assert response.status_code == 202, response.content
    run = IngestRun.objects.get()
    assert (response.json()["id"], response.json()["state"], queued) == (run.pk, "queued", [])
    callbacks[0]()
    assert queued == [run.pk]
    assert (run.kind, run.source, run.options) == (
        "upload",
        "evil_.json",
        {"region": "us-east-1", "format": "auto"},
    )
    assert Path(run.location).read_bytes() == b"[]"
    assert tmp_path / "uploads" in Path(run.location).parents
    assert AuditEntry.objects.filter(action="ingest.load").count() == 1
    assert client.get(f"/api/v1/ingest/runs/{run.pk}").json()["progress"] is None


def test_a_path_is_for_people_who_run_the_server_and_below_an_open_folder(
    sign_in: Make, with_key: Make, queued: list[int], settings: pytest.FixtureRequest, tmp_path: Path
) -> None:
    settings.IMPORT_ROOTS = [str(tmp_path)]  # type: ignore[attr-defined]
    file = tmp_path / "prices.json"
    file.write_text("[]")
    admin = sign_in("admin")

    def post(client: Client, path: str) -> tuple[int, str]:
        response = client.post("/api/v1/ingest/prices", {"path": path}, "application/json")
        return response.status_code, response.json().get("error", {}).get("code", "")

    assert post(with_key("write:ingest"), str(file)) == (403, "not_allowed")
    assert post(sign_in("engineer"), str(file)) == (403, "not_allowed")
    assert post(admin, "/etc/passwd") == (400, "input_refused")
    assert post(admin, str(tmp_path / ".." / "x")) == (400, "input_refused")
    assert IngestRun.objects.count() == 0
    assert post(admin, str(file)) == (202, "")
    run = IngestRun.objects.get()
    assert (run.kind, run.location, run.user.email) == ("files", str(file), "admin@example.test")


def test_wrong_loads_store_nothing(
    sign_in: Make, with_key: Make, settings: pytest.FixtureRequest, tmp_path: Path
) -> None:
    settings.OFFPEAK_HOME = tmp_path  # type: ignore[attr-defined]
    address = "/api/v1/ingest/prices"
    engineer = sign_in("engineer")
    assert sign_in("viewer").post(address, {"file": SimpleUploadedFile("a", b"1")}).status_code == 403
    assert with_key("read:ingest").post(address, {"path": "/x"}, "application/json").status_code == 403
    assert engineer.post(address, {}, "application/json").json()["error"]["code"] == "invalid"
    both = engineer.post(address, {"file": SimpleUploadedFile("a", b"1"), "path": "/x"})
    assert both.json()["error"]["message"] == "Send either a file or a path."
    unknown = engineer.post(address, {"file": SimpleUploadedFile("a", b"1"), "regoin": "x"})
    assert unknown.json()["error"]["fields"][0]["field"] == "regoin"
    settings.API_BODY_MAX_BYTES = settings.UPLOAD_MAX_BYTES = 300  # type: ignore[attr-defined]
    large = engineer.post(address, {"file": SimpleUploadedFile("a", b"1" * 1000)})
    assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
    assert IngestRun.objects.count() == 0
    assert list(tmp_path.rglob("*")) == []


def test_runs_and_rejections_are_listed_for_the_own_organisation(
    with_key: Make, organisation: Organisation
) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    mine = ingest_run_create(source="mine", organisation=organisation)
    shared = ingest_run_create(source="demo", kind="demo")
    foreign = ingest_run_create(source="foreign", organisation=elsewhere)
    for run in (mine, foreign):
        RejectedRow.objects.create(run=run, file="a.json", row=3, field="SpotPrice", reason="price is 0")
    client = with_key("read:ingest")
    listed = client.get("/api/v1/ingest/runs").json()
    assert [row["id"] for row in listed["results"]] == [shared.pk, mine.pk]
    assert client.get("/api/v1/ingest/runs?kind=demo").json()["count"] == 1
    assert client.get("/api/v1/ingest/runs?state=x").status_code == 400
    assert client.get(f"/api/v1/ingest/runs/{mine.pk}/rejections").json()["results"] == [
        {"kind": "rejected", "file": "a.json", "row": 3, "field": "SpotPrice", "reason": "price is 0"}
    ]
    for path in (f"runs/{foreign.pk}", f"runs/{foreign.pk}/rejections"):
        assert client.get(f"/api/v1/ingest/{path}").status_code == 404
    assert "foreign" not in json.dumps(listed)
