"""Data → Storage files: what is listed and billed, loading by upload, who may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.ingest.models import Feed, IngestRun
from apps.ingest.storage.run import storage_import
from apps.ingest.tasks import ingest_run_execute
from tests.support.lake import fresh_lake
from tests.support.storage_files import listing, log_line, row

pytestmark = pytest.mark.django_db
PAGE = "/data/storage/"


@pytest.fixture(autouse=True)
def _lake(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.OFFPEAK_HOME = tmp_path / "home"
    with fresh_lake(settings, tmp_path / "lake"):
        yield


@pytest.fixture
def as_role() -> Callable[[str], Client]:
    def make(role: str) -> Client:
        user = User.objects.create_user(f"{role}@example.test", "correct horse battery")
        Membership.objects.create(user=user, organisation=Organisation.default(), role=role)
        client = Client()
        client.force_login(user)
        return client

    return make


def test_an_empty_page_says_what_to_do(as_role: Callable[[str], Client]) -> None:
    text = as_role("viewer").get(PAGE).content.decode()
    assert "No bucket is listed or billed yet" in text
    assert "Switch on S3 Inventory" in text
    assert "This needs the role" in text


def test_buckets_are_shown_with_the_reason_that_blocks(
    as_role: Callable[[str], Client], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text(log_line("a", "28/Nov/2026"))
    storage_import(
        paths=[listing(tmp_path / "in", [row("a", 5 * 2**30)]), log], organisation=Organisation.default()
    )
    text = as_role("viewer").get(PAGE).content.decode()
    assert "of 1 bucket." in text
    assert "No bill names this bucket" in text
    assert ">5.0<" in text


def test_an_upload_is_queued_and_worked_off(
    as_role: Callable[[str], Client],
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    queued: list[int] = []
    monkeypatch.setattr("apps.ingest.tasks.ingest_run_execute.delay", queued.append)
    client = as_role("engineer")
    file = SimpleUploadedFile("log", log_line("a").encode())
    given = {"file": file, "kind": "auto", "provider": "aws"}
    with django_capture_on_commit_callbacks(execute=True):
        response = client.post(reverse("dashboard:storage-upload"), given)
    run = IngestRun.objects.get()
    assert response["Location"] == reverse("dashboard:data-run", args=[run.pk])
    assert queued == [run.pk]
    ingest_run_execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.stored, run.kind) == ("finished", 1, "upload")
    assert AuditEntry.objects.get().action == "storage.load"
    assert client.get(reverse("dashboard:data-run", args=[run.pk])).status_code == 200


def test_what_is_missing_in_a_form_is_told_and_nothing_is_queued(as_role: Callable[[str], Client]) -> None:
    client = as_role("admin")
    assert client.post(reverse("dashboard:storage-upload"), {"kind": "auto"}).status_code == 422
    given = {"path": "/etc/passwd", "kind": "auto", "provider": "aws"}
    assert client.post(reverse("dashboard:storage-path"), given).status_code == 422
    wrong = {"name": "x", "bucket": "NO", "region": "us-east-1"}
    response = client.post(reverse("dashboard:storage-feed"), wrong)
    assert (response.status_code, "Not the name of a bucket" in response.content.decode()) == (422, True)
    assert (IngestRun.objects.count(), Feed.objects.count()) == (0, 0)


def test_a_feed_is_made_by_who_may(as_role: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.dashboard.views.storage_files.feed_collect_hand_out", lambda _pk: None)
    given = {"name": "x", "bucket": "acme-meta", "region": "us-east-1"}
    assert as_role("viewer").post(reverse("dashboard:storage-feed"), given).status_code == 403
    assert as_role("engineer").post(reverse("dashboard:storage-feed"), given).status_code == 302
    assert Feed.objects.get().kind == "storage"
