"""Storage pages: where bytes lie, one prefix with its policies, the owner's word, checkpoints, changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Membership, Organisation, User
from apps.recommendations.models import LifecycleChange, Recommendation, StorageAccount, StorageMark
from apps.recommendations.services.storage_applying import changes_tick
from apps.recommendations.services.storage_rows import storage_rows_publish
from apps.storage.models import Bucket
from finops.frames.storage import KIB
from tests.apps.recommendations.test_lifecycle_changes import s3  # noqa: F401
from tests.support.lake import fresh_lake
from tests.support.lifecycle_server import ACCOUNT, Rules
from tests.support.storage_cells import cell, reads
from tests.support.storage_listings import NOW, billed_as_listed, put_listing, put_reads

pytestmark = pytest.mark.django_db
AT = "at=2026-11-30T06:00:00Z"
GROUP = "/storage/group/?bucket=lake&prefix=data/&state=current"


@pytest.fixture(autouse=True)
def _lake(settings: Any, tmp_path: Any) -> Iterator[None]:
    cache.clear()
    with fresh_lake(settings, tmp_path / "lake"):
        yield


@pytest.fixture
def lake() -> Iterator[Bucket]:
    bucket = put_listing(
        [cell(), cell(prefix="tiny/", objects=10_000, each=4 * KIB, size=(1, 8 * KIB))],
        organisation=Organisation.default(),
    )
    put_reads(bucket, reads(60, 1, exposure=1000), last=NOW.date() - timedelta(days=1), days=60)
    with billed_as_listed():
        yield bucket


def signed(role: str, name: str = "") -> Client:
    user = User.objects.create_user(f"{name or role}@example.com", "long-enough-word")
    Membership.objects.create(user=user, organisation=Organisation.default(), role=role)
    client = Client()
    client.force_login(user)
    return client


def text(answer: Any) -> str:
    assert answer.status_code == 200, answer.status_code
    return " ".join(answer.content.decode().split())


def test_without_a_listing_the_page_says_how_to_load_one() -> None:
    found = text(signed("viewer").get("/storage/"))
    assert "No listing says what lies in your buckets." in found
    assert "import_storage" in found


def test_the_page_says_what_to_move_and_where_bytes_lie(lake: Bucket) -> None:
    client = signed("viewer")
    found = text(client.get(f"/storage/?{AT}"))
    assert "Moving 1 prefix saves" in found
    assert "Glacier Instant Retrieval after 90 days" in found
    assert "under 8.0 KiB" not in found
    assert "1 B–8.0 KiB" in found
    assert "lake · tiny/" in found
    only = text(client.get(f"/storage/?{AT}&verdict=do not move"))
    assert "lake · data/" not in only
    table = client.get(f"/storage/?{AT}&format=csv")
    assert table["Content-Type"].startswith("text/csv")
    assert len(table.content.decode().splitlines()) == 3


def test_a_prefix_shows_policies_curve_and_rule(lake: Bucket) -> None:
    client = signed("viewer")
    found = text(client.get(f"{GROUP}&{AT}"))
    assert "policies have paid back within twelve months" in found
    assert "Not allowed" in found
    assert "&quot;StorageClass&quot;: &quot;GLACIER_IR&quot;" in found
    assert "storage-cash" in found
    assert "What the owner says" not in found
    assert client.get("/storage/group/?bucket=lake&prefix=none/").status_code == 404
    assert client.get("/storage/group/").status_code == 404


def test_blocked_buckets_say_why() -> None:
    put_listing([cell()], organisation=Organisation.default())
    found = text(signed("viewer").get(f"/storage/?{AT}"))
    assert "Buckets without advice, and why" in found
    assert "Nothing can be judged yet" in found


def test_an_owners_word_is_kept_shown_and_taken_back(lake: Bucket) -> None:
    client = signed("engineer")
    said = {"bucket": "lake", "path": "data/", "state": "current", "checkpoints": "on", "delete_after": "30"}
    answer = client.post("/storage/words/", said)
    assert answer.status_code == 302
    mark = StorageMark.objects.get()
    assert (mark.prefix, mark.delete_after, mark.checkpoints) == ("data/", 30, True)
    assert "This rule deletes" in text(client.get(f"{GROUP}&{AT}"))
    wrong = client.post("/storage/words/", {**said, "checkpoints": ""})
    assert wrong.status_code == 422
    assert "Only checkpoints and old versions" in wrong.content.decode()
    assert signed("viewer").post("/storage/words/", said).status_code == 403
    client.post(f"/storage/words/{mark.pk}/remove/")
    assert not StorageMark.objects.exists()


def test_a_change_is_asked_for_approved_written_and_taken_back(lake: Bucket, s3: Rules) -> None:  # noqa: F811
    admin, engineer = signed("admin"), signed("engineer")
    storage_rows_publish(organisation=Organisation.default(), now=NOW)
    assert "An admin names one" in text(engineer.get(GROUP))
    admin.post("/storage/changes/accounts/", {"account": ACCOUNT, "active": "on"})
    assert StorageAccount.objects.get().active
    asked = engineer.post(
        "/storage/changes/ask/",
        {"bucket": "lake", "path": "data/", "state": "current", "account": ACCOUNT, "reason": "cold"},
    )
    row = LifecycleChange.objects.get()
    assert asked["Location"] == f"/storage/changes/{row.pk}/"
    page = text(engineer.get(f"/storage/changes/{row.pk}/"))
    assert "0 → 1" in page
    assert "Approve this change" in page
    engineer.post(f"/storage/changes/{row.pk}/try/")
    assert "Dry run" in text(engineer.get(f"/storage/changes/{row.pk}/"))
    assert "Approve this change" not in text(signed("viewer").get(f"/storage/changes/{row.pk}/"))
    engineer.post(f"/storage/changes/{row.pk}/approve/")
    changes_tick(now=timezone.now())
    assert "Written and read back" in text(engineer.get(f"/storage/changes/{row.pk}/"))
    assert len(s3.ids()) == 1
    assert Recommendation.objects.get().state == "done"
    back = engineer.post(f"/storage/changes/{row.pk}/back/")
    assert "Take back the rules of" in text(engineer.get(back["Location"]))
    assert "wait" in text(engineer.get("/storage/changes/"))
    engineer.post(f"{back['Location']}cancel/", {"reason": "no"})
    assert "Cancelled" in text(engineer.get(back["Location"]))


def test_a_change_that_cannot_be_asked_for_shows_why(lake: Bucket, s3: Rules) -> None:  # noqa: F811
    StorageAccount.objects.create(organisation=Organisation.default(), provider="aws", account=ACCOUNT)
    s3.faults["GET"] = ["deny"]
    given = {"bucket": "lake", "path": "data/", "state": "current", "account": ACCOUNT}
    answer = signed("engineer").post("/storage/changes/ask/", given)
    assert answer.status_code == 422
    assert "AWS does not allow this" in answer.content.decode()
    assert not LifecycleChange.objects.exists()


def test_checkpoints_answer_the_claim() -> None:
    client = signed("viewer")
    found = text(client.get("/storage/checkpoints/"))
    assert "Kept 3 months, Intelligent-Tiering saves 31" in found
    assert "All 240 checkpoints of the run" in found
    held = text(client.get("/storage/checkpoints/?keep_months=14"))
    assert "the claim holds" in held
    assert client.get("/storage/checkpoints/?gib=no").status_code == 422
    assert client.get("/storage/checkpoints/?every_hours=900").status_code == 422
