"""Storage prices of an organisation's own: by command, REST and page; advice in a region that ships none."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.recommendations.services.storage_advice import advise_storage
from apps.recommendations.services.storage_checkpoints import checkpoint_cost
from apps.storage.models import StoragePriceRow
from apps.storage.selectors.prices import terms_of
from finops.engine.workload import WorkloadError
from finops.frames.storage import KIB
from tests.support.lake import fresh_lake
from tests.support.storage_cells import cell, reads
from tests.support.storage_listings import NOW, billed_as_listed, put_listing, put_reads

Make = Callable[..., Client]
HEAD = "provider,region,class,item,price,currency,valid_from,source\n"
FRANKFURT = HEAD + "".join(
    f"aws,eu-central-1,{name},{item},{price},USD,2026-01-01,price page\n"
    for name, items in {
        "STANDARD": {"per_gib_month": "0.0245", "put_per_1000": "0.0054", "get_per_1000": "0.00043"},
        "STANDARD_IA": {
            "per_gib_month": "0.0135", "put_per_1000": "0.01", "get_per_1000": "0.001",
            "transition_in_per_1000": "0.01", "retrieval_per_gib": "0.01",
        },
    }.items()
    for item, price in items.items()
)  # fmt: skip


@pytest.fixture
def program(db: None, with_key: Make) -> Client:
    return with_key("read:bills", "write:bills")


def load(tmp_path: Path, text: str) -> tuple[int, dict[str, Any]]:
    path, out = tmp_path / "prices.csv", io.StringIO()
    path.write_text(text)
    try:
        call_command("import_storage_prices", str(path), "--json", stdout=out)
    except SystemExit as error:
        return int(str(error.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


@pytest.mark.django_db
def test_a_file_is_stored_once_corrected_and_audited(tmp_path: Path) -> None:
    counts = {"read": 8, "stored": 8, "changed": 0, "duplicates": 0, "empty": 0, "mistakes": []}
    assert load(tmp_path, FRANKFURT) == (0, counts)
    assert load(tmp_path, FRANKFURT)[1] == {**counts, "stored": 0, "duplicates": 8}
    dearer = FRANKFURT.replace("0.0245", "0.025")
    assert load(tmp_path, dearer)[1] == {**counts, "stored": 0, "changed": 1, "duplicates": 7}
    assert StoragePriceRow.objects.count() == 8
    assert AuditEntry.objects.filter(action="storage_price.set").count() == 9


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        ("azure,westeurope,Hot,per_gib_month,0.02,USD,2026-01-01,x", "provider", "aws, alibaba or tencent"),
        ("aws,eu-central-1,COLD,per_gib_month,0.02,USD,2026-01-01,x", "class", "Not one of STANDARD"),
        ("aws,eu-central-1,STANDARD,retrieval_per_gib,0.02,USD,2026-01-01,x", "item", "asks for per_gib_"),
        ("aws,eu-central-1,STANDARD,per_gib_month,-1,USD,2026-01-01,x", "price", "not below zero"),
        ("aws,eu-central-1,STANDARD,per_gib_month,1e3,USD,2026-01-01,x", "price", "Not a number"),
        ("aws,eu-central-1,STANDARD,per_gib_month,0.02,?,2026-01-01,x", "currency", "Not a currency"),
        ("aws,eu-central-1,STANDARD,per_gib_month,0.02,USD,01.01.2026,x", "valid_from", "Not a date"),
        ("aws,,STANDARD,per_gib_month,0.02,USD,2026-01-01,x", "region", "may not be empty"),
        ("aws,eu-central-1,STANDARD,per_gib_month,0.03,USD,2026-01-01,other", "price", "Another row"),
    ],
)
def test_a_mistake_names_row_and_field_and_stores_nothing(
    tmp_path: Path, line: str, field: str, reason: str
) -> None:
    code, told = load(tmp_path, FRANKFURT + line + "\n")
    assert code == 3
    mistake = next(one for one in told["mistakes"] if one["row"] == 9)
    assert (mistake["file"], mistake["field"]) == ("prices.csv", field)
    assert reason in mistake["reason"]
    assert not StoragePriceRow.objects.exists()


@pytest.mark.django_db
def test_the_template_is_filled_in_and_loaded(tmp_path: Path) -> None:
    out = io.StringIO()
    call_command("storage_prices", "--provider", "tencent", "--region", "ap-guangzhou", stdout=out)
    lines = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert {line["price"] for line in lines} == {""}
    assert len({line["class"] for line in lines}) == 5
    for number, line in enumerate(lines):
        # Deep Archive is left as it is: its class stays out, the others are whole.
        if line["class"] != "DEEP_ARCHIVE":
            line |= {
                "price": f"0.{number + 1:03d}", "currency": "CNY", "valid_from": "2026-01-01",
                "source": "page",
            }  # fmt: skip
    filled = io.StringIO()
    writer = csv.DictWriter(filled, list(lines[0]))
    writer.writeheader()
    writer.writerows(lines)
    code, counts = load(tmp_path, filled.getvalue())
    assert (code, counts["empty"], counts["stored"]) == (0, 5, len(lines) - 5)
    terms = terms_of("tencent", "ap-guangzhou", date(2026, 11, 30), organisation=None)
    assert terms is not None
    assert set(terms.classes) == {"STANDARD", "STANDARD_IA", "INTELLIGENT_TIERING", "ARCHIVE"}
    assert terms.standard.per_gib_month == Decimal("0.001")
    told = io.StringIO()
    call_command("storage_prices", "--region", "us-east-1", "--json", stdout=told)
    document = json.loads(told.getvalue())
    assert (len(document["classes"]), document["missing"]) == (8, {})
    assert all(one["price"] is not None and not one["own"] for one in document["prices"])


def test_by_rest_the_same_rows_come_and_go(program: Client, sign_in: Make) -> None:
    body = {
        "provider": "aws", "region": "us-east-1", "storage_class": "STANDARD", "item": "per_gib_month",
        "price": "0.021", "currency": "USD", "valid_from": "2026-01-01", "source": "EDP",
    }  # fmt: skip
    made = program.post("/api/v1/storage/prices", body, content_type="application/json")
    assert made.status_code == 201, made.content
    place = program.get("/api/v1/storage/prices/place?region=us-east-1&on=2026-11-30").json()
    first = place["prices"][0]
    assert (first["class"], first["item"], first["price"], first["own"]) == (
        "STANDARD", "per_gib_month", "0.021", True,
    )  # fmt: skip
    wrong = {**body, "item": "monitoring_per_1000"}
    refused = program.post("/api/v1/storage/prices", wrong, content_type="application/json")
    assert (refused.status_code, "item" in refused.content.decode()) == (400, True)
    assert sign_in("viewer").delete(f"/api/v1/storage/prices/{made.json()['id']}").status_code == 403
    assert program.get("/api/v1/storage/prices").json()["count"] == 1
    assert program.delete(f"/api/v1/storage/prices/{made.json()['id']}").status_code == 204
    file = SimpleUploadedFile("p.csv", FRANKFURT.encode())
    counts = program.post("/api/v1/storage/prices/import", {"file": file}).json()["counts"]
    assert counts["stored"] == 8


def test_prices_are_one_organisations_own(program: Client) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    StoragePriceRow.objects.create(
        organisation=other, provider="aws", region="eu-central-1", storage_class="STANDARD",
        item="per_gib_month", on=date(2026, 1, 1), price=Decimal("0.01"), currency="USD", source="x",
    )  # fmt: skip
    row = StoragePriceRow.objects.get()
    assert program.delete(f"/api/v1/storage/prices/{row.pk}").status_code == 404
    assert program.get("/api/v1/storage/prices").json()["count"] == 0
    place = program.get("/api/v1/storage/prices/place?region=eu-central-1").json()
    assert {one["price"] for one in place["prices"]} == {None}


def test_the_page_shows_what_is_missing_takes_a_file_and_takes_a_price_out(db: None, sign_in: Make) -> None:
    client = sign_in("finance")
    page = client.get("/storage/prices/?provider=aws&region=eu-central-1")
    assert "its buckets get no advice" in page.content.decode()
    partly = "".join(line + "\n" for line in FRANKFURT.splitlines() if "retrieval" not in line)
    address = "/storage/prices/load/?provider=aws&region=eu-central-1"
    taken = client.post(address, {"file": SimpleUploadedFile("p.csv", partly.encode())}, follow=True)
    text = taken.content.decode()
    assert "left out: retrieval, GiB" in text
    assert "7 stored" in text
    wrong = SimpleUploadedFile("p.csv", (HEAD + "aws,x,STANDARD,y,1,USD,2026-01-01,z\n").encode())
    refused = client.post(address, {"file": wrong})
    assert (refused.status_code, "<code>item</code>" in refused.content.decode()) == (422, True)
    row = StoragePriceRow.objects.get(item="put_per_1000", storage_class="STANDARD")
    assert sign_in("viewer").post(f"/storage/prices/{row.pk}/remove/").status_code == 403
    client.post(f"/storage/prices/{row.pk}/remove/")
    assert StoragePriceRow.objects.count() == 6
    table = client.get("/storage/prices/?provider=aws&region=eu-central-1&format=csv")
    assert b"".join(table.streaming_content).decode().startswith("provider,region,class,item")  # type: ignore[attr-defined]


@pytest.fixture
def lake(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    cache.clear()
    with fresh_lake(settings, tmp_path / "lake"):
        yield


def test_a_bucket_gets_advice_where_the_organisation_tells_the_prices(lake: None, tmp_path: Path) -> None:
    bucket = put_listing(
        [cell(), cell(prefix="tiny/", objects=10_000, each=4 * KIB, size=(1, 8 * KIB))],
        organisation=Organisation.default(),
    )
    bucket.region = "eu-central-1"
    bucket.save(update_fields=["region"])
    put_reads(bucket, reads(60, 1, exposure=1000), last=NOW.date() - timedelta(days=1), days=60)
    with billed_as_listed():
        before = advise_storage(organisation=Organisation.default(), at=NOW)
        assert {one["verdict"] for one in before["groups"]} == {"blocked"}
        assert "enter them under Storage, Prices" in before["groups"][0]["reason"]
        assert load(tmp_path, FRANKFURT)[0] == 0
        cache.clear()
        after = advise_storage(organisation=Organisation.default(), at=NOW)
    assert {one["prefix"]: one["verdict"] for one in after["groups"]}["tiny/"] == "do not move"
    assert after["currency"] == "USD"
    for region, said in (
        ("eu-west-3", "No storage prices"),
        ("eu-central-1", "Intelligent-Tiering has no price"),
    ):
        with pytest.raises(WorkloadError) as refused:
            checkpoint_cost(gib=1, objects=1, keep_months=1, at=NOW, region=region)
        assert (refused.value.field, said in refused.value.message) == ("region", True)
