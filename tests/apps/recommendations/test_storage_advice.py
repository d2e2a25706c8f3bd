"""Storage advice end to end: listing, log and coverage in, the document and the inbox's rows out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.billing.announced import announced_rises, worded
from apps.recommendations.models import Recommendation, StorageMark
from apps.recommendations.services.decisions import recommendation_accept
from apps.recommendations.services.realised import realised_refresh
from apps.recommendations.services.storage_advice import advise_storage
from apps.recommendations.services.storage_rows import KIND, storage_rows_publish
from apps.recommendations.storage_wording import worded as row_words
from apps.storage.models import Bucket
from finops.engine.workload import WorkloadError
from finops.frames.storage import GIB, KIB
from tests.support.bill_lake import put_bill
from tests.support.storage_cells import cell, reads
from tests.support.storage_listings import NOW, billed_as_listed, put_listing, put_reads

KEYS = {
    "bucket", "prefix", "class", "current_monthly", "policy", "monthly_after", "one_time", "cash_curve",
    "worst_point", "break_even_month", "saving_low", "saving", "saving_high", "lifecycle", "verdict",
    "reason",
}  # fmt: skip


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def agreed() -> Iterator[None]:
    with billed_as_listed():
        yield


def cold(organisation: Organisation | None = None, **changes: Any) -> Bucket:
    """1,000 GiB of half a year, of which one object in a thousand is read each day."""
    bucket = put_listing([cell(**changes)], organisation=organisation)
    put_reads(bucket, reads(364, 1, exposure=1000), last=NOW.date() - timedelta(days=1), days=364)
    return bucket


def groups(organisation: Organisation, **asked: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = advise_storage(organisation=organisation, at=NOW, **asked)["groups"]
    return found


def test_cold_data_has_a_policy_a_curve_and_a_rule(organisation: Organisation, agreed: None) -> None:
    cold()
    document = advise_storage(organisation=organisation, at=NOW)
    (group,) = document["groups"]
    assert group.keys() >= KEYS
    assert (group["verdict"], group["policy"]) == ("move", "Glacier Instant Retrieval after 90 days")
    assert Decimal(group["current_monthly"]).quantize(Decimal("0.01")) == Decimal("23.00")
    assert Decimal(group["one_time"]) == Decimal("0.02")
    low, saving, high = (Decimal(group[name]) for name in ("saving_low", "saving", "saving_high"))
    assert 0 < low < saving < high < Decimal(19 * 12)
    assert [one["month"] for one in group["cash_curve"]] == list(range(13))
    assert group["cash_curve"][-1]["expected"] == group["saving"]
    assert (group["worst_point"], group["break_even_month"]) == ("-0.02", 1)
    (rule,) = group["lifecycle"]["Rules"]
    assert rule["Filter"] == {"Prefix": "data/"}
    assert rule["Transitions"] == [{"Days": 90, "StorageClass": "GLACIER_IR"}]
    assert document["totals"]["saving"] == group["saving"]
    assert document["evidence"]["at"] == "2026-11-30T06:00:00Z"
    assert any(one["policy"] == "Stay" for one in group["policies"])


def test_a_bill_that_differs_blocks_and_says_so(organisation: Organisation) -> None:
    cold()
    document = advise_storage(organisation=organisation, at=NOW)
    (group,) = document["groups"]
    assert group["verdict"] == "blocked"
    assert group["reason"] == document["buckets"][0]["reason"]
    assert (group["policy"], group["saving"], group["lifecycle"]) == (None, None, None)


def test_ten_million_small_files_are_left_where_they_are(organisation: Organisation, agreed: None) -> None:
    """Case t4-01 through the service."""
    cold(objects=10_000_000, each=8 * KIB, size=(8 * KIB, 32 * KIB))
    (group,) = groups(organisation)
    assert (group["verdict"], group["policy"], group["one_time"]) == ("do not move", "Stay", "0")
    archive = next(
        one for one in group["policies"] if [step["to"] for step in one["steps"]] == ["GLACIER_IR"]
    )
    assert Decimal(archive["one_time"]) == 200
    assert archive["break_even_month"] is None


def test_without_a_log_reads_are_not_judged_but_uploads_are(organisation: Organisation, agreed: None) -> None:
    put_listing(
        [
            cell(idle=(None, None)),
            cell(state="incomplete", idle=(None, None), objects=10, prefix="a/"),
            cell(state="incomplete", idle=(None, None), objects=5, prefix="b/"),
        ]
    )
    found = {group["state"]: group for group in groups(organisation)}
    assert found["current"]["verdict"] == "blocked"
    assert "Cannot judge reads" in found["current"]["reason"]
    uploads = found["incomplete"]
    assert (uploads["verdict"], uploads["prefix"], uploads["objects"]) == ("move", "", 15)
    assert uploads["lifecycle"]["Rules"][0]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}
    assert uploads["deletes"]


def test_what_a_rule_cannot_name_is_blocked(organisation: Organisation, agreed: None) -> None:
    put_listing([cell(prefix="(other)"), cell(prefix=""), cell(prefix="a/")])
    found = {group["prefix"]: group["reason_code"] for group in groups(organisation)}
    assert (found["(other)"], found[""]) == ("other prefixes", "root")


def test_an_unknown_bucket_and_a_region_without_prices(organisation: Organisation, agreed: None) -> None:
    with pytest.raises(WorkloadError, match="No bucket nothing"):
        advise_storage(organisation=organisation, bucket="nothing", at=NOW)
    Bucket.objects.filter(pk=cold().pk).update(region="mars-1")
    (group,) = groups(organisation)
    assert (group["verdict"], group["reason_code"], group["current_monthly"]) == (
        "blocked",
        "no prices",
        None,
    )


def test_the_verb_answers_with_the_same_document(organisation: Organisation, agreed: None) -> None:
    cold()
    out = StringIO()
    call_command("advise_storage", "--bucket", "lake", "--at", "2026-11-30T06:00:00Z", "--json", stdout=out)
    assert json.loads(out.getvalue()) == advise_storage(organisation=organisation, bucket="lake", at=NOW)


def test_advice_becomes_a_row_and_alternatives_are_not_added_up(
    organisation: Organisation, agreed: None
) -> None:
    cold()
    assert storage_rows_publish(organisation=organisation, now=NOW)
    assert not storage_rows_publish(organisation=organisation, now=NOW)
    row = Recommendation.objects.get(kind=KIND)
    assert row.claims == ["storage:aws:lake:data/:current"] == [row.subject]
    (group,) = groups(organisation)
    assert abs(row.saving - Decimal(group["saving"])) < Decimal("0.01")
    assert (row.reversibility, row.one_time) == ("partly", Decimal("0.02"))
    words = row_words(row.document, "en")
    assert words.title == "Move lake/data/: Glacier Instant Retrieval after 90 days"
    StorageMark.objects.create(
        organisation=organisation, bucket="lake", prefix="data/", checkpoints=True, delete_after=30,
        said_by="ada", said_at=NOW,
    )  # fmt: skip
    assert storage_rows_publish(organisation=organisation, now=NOW + timedelta(hours=2))
    row = Recommendation.objects.get(kind=KIND)
    assert (row.document["deletes"], row.reversibility) == (True, "none")


def test_a_blocked_bucket_keeps_its_row(organisation: Organisation) -> None:
    cold()
    with billed_as_listed():
        storage_rows_publish(organisation=organisation, now=NOW)
    storage_rows_publish(organisation=organisation, now=NOW + timedelta(hours=2), again=True)
    assert Recommendation.objects.get(kind=KIND).state == "open"


def s3_line(day: str, usage: str, quantity: str, cost: str, unit: str = "GB-Mo") -> dict[str, Any]:
    return {
        "charge_period_start": datetime.fromisoformat(f"{day}T00:00:00Z"), "x_product_code": "AmazonS3",
        "resource_id": "lake",
        "service_name": "Amazon Simple Storage Service", "x_usage_type": usage, "x_unit": unit,
        "x_quantity": quantity, "billed_cost": cost, "x_line_item_type": "Usage",
        "x_day": date.fromisoformat(day),
    }  # fmt: skip


def test_the_bill_says_month_by_month_what_was_saved(organisation: Organisation, agreed: None) -> None:
    """October: 1,000 GiB for 23 and 1 of requests; December: 1,000 GiB for 4 and 2."""
    cold()
    put_bill(
        [s3_line("2026-10-05", "TimedStorage-ByteHrs", "1000", "23"),
         s3_line("2026-10-05", "Requests-Tier2", "100", "1", "Requests")],
        period=date(2026, 10, 1), organisation=organisation,
    )  # fmt: skip
    storage_rows_publish(organisation=organisation, now=NOW)
    row = Recommendation.objects.get(kind=KIND)
    recommendation_accept(recommendation=row, actor=Actor.system("ada"), now=NOW)
    put_bill(
        [s3_line("2026-12-05", "TimedStorage-GIR-ByteHrs", "1000", "4"),
         s3_line("2026-12-06", "Retrieval-SIA", "10", "2", "GB")],
        period=date(2026, 12, 1), organisation=organisation,
    )  # fmt: skip
    realised_refresh(organisation=organisation, now=NOW + timedelta(days=80))
    months = {one.month: one for one in row.realised.all()}
    december = months[date(2026, 12, 1)]
    assert (december.counterfactual, december.actual, december.saving) == (24, 6, 18)
    assert december.complete
    assert december.evidence["share_of_bucket"] == "1.000000"
    assert months[date(2027, 1, 1)].saving is None


def test_dear_first_months_are_announced_and_do_not_alarm(organisation: Organisation, agreed: None) -> None:
    cold(storage_class="STANDARD_IA")
    StorageMark.objects.all().delete()
    storage_rows_publish(organisation=organisation, now=NOW)
    row = Recommendation.objects.get(kind=KIND)
    row.document |= {"worst_point": "-10.36", "worst_month": 2}
    row.save()
    recommendation_accept(recommendation=row, actor=Actor.system("ada"), now=NOW)
    (rise,) = announced_rises(organisation, date(2026, 12, 1), date(2026, 12, 2))
    assert (rise.amount, rise.lines[0]) == (Decimal("10.36"), ("resource", "lake"))
    assert min(rise.days) == date(2026, 11, 30)
    assert max(rise.days) == date(2026, 11, 30) + timedelta(days=98)
    assert "lake/data/ begins anew in Glacier Instant Retrieval" in worded(rise.key, rise.facts)


def test_another_organisation_sees_nothing_of_it(organisation: Organisation, agreed: None) -> None:
    cold(organisation)
    other = Organisation.objects.create(name="Other", slug="other")
    assert groups(other) == []
    storage_rows_publish(organisation=other, now=NOW)
    assert not Recommendation.objects.filter(organisation=other).exists()
    assert GIB == 2**30


def test_a_bucket_that_only_the_bill_tells_of_is_blocked_and_shown(organisation: Organisation) -> None:
    """Case t4-05: what nobody listed may be most of the bill."""
    put_bill(
        [s3_line("2026-11-20", "TimedStorage-ByteHrs", "1333.333333", "30.67") | {"region_id": "us-east-1"}],
        period=date(2026, 11, 1), organisation=organisation,
    )  # fmt: skip
    document = advise_storage(organisation=organisation, at=NOW)
    (bucket,), (group,) = document["buckets"], document["groups"]
    assert (bucket["bucket"], bucket["blocked"], bucket["reason_code"]) == ("lake", True, "no-listing")
    assert (group["class"], group["verdict"], group["saving"]) == ("STANDARD", "blocked", None)
    assert group["reason"] == bucket["reason"]
    assert advise_storage(organisation=organisation, bucket="lake", at=NOW)["groups"] == [group]
    assert not storage_rows_publish(organisation=organisation, now=NOW) or not Recommendation.objects.exists()


def test_the_bill_says_in_which_region_a_listed_bucket_lies(organisation: Organisation, agreed: None) -> None:
    Bucket.objects.filter(pk=cold().pk).update(region="")
    (group,) = groups(organisation)
    assert (group["region"], group["reason_code"]) == (None, "no prices")
    put_bill(
        [s3_line("2026-11-20", "TimedStorage-ByteHrs", "33.333333", "0.77") | {"region_id": "us-east-1"}],
        period=date(2026, 11, 1), organisation=organisation,
    )  # fmt: skip
    document = advise_storage(organisation=organisation, at=NOW)
    (group,) = document["groups"]
    assert (group["region"], group["verdict"]) == ("us-east-1", "move")
    assert Decimal(group["current_monthly"]).quantize(Decimal("0.01")) == Decimal("23.00")
    assert document["buckets"][0]["region"] == "us-east-1"
    assert Bucket.objects.get().region == ""


def test_archive_tiers_come_with_the_rule_where_reads_may_wait(
    organisation: Organisation, agreed: None
) -> None:
    """Hot data ends in Intelligent-Tiering; only with the owner's word its archive tiers are offered."""
    bucket = put_listing([cell()])
    put_reads(bucket, reads(364, 100, exposure=1000), last=NOW.date() - timedelta(days=1), days=364)
    (group,) = groups(organisation)
    assert ([one["to"] for one in group["steps"]], group["intelligent_tiering"]) == (
        ["INTELLIGENT_TIERING"], None,
    )  # fmt: skip
    StorageMark.objects.create(
        organisation=organisation, bucket="lake", prefix="data/", may_wait=True, said_by="ada", said_at=NOW
    )
    (group,) = groups(organisation)
    if group["steps"][-1]["to"] == "INTELLIGENT_TIERING":
        assert group["intelligent_tiering"]["Filter"] == {"Prefix": "data/"}


def test_a_word_about_objects_without_a_prefix_says_nothing_of_the_others(
    organisation: Organisation, agreed: None
) -> None:
    cold()
    StorageMark.objects.create(
        organisation=organisation, bucket="lake", prefix="", checkpoints=True, delete_after=1, said_by="ada",
        said_at=NOW,
    )  # fmt: skip
    (group,) = groups(organisation)
    assert not group["deletes"]
    assert not any(one["deletes"] for one in group["policies"])
