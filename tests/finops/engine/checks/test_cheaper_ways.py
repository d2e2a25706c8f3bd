"""Cheaper ways by hand: another zone, a window, second-hand reservations, a storage class; never guessed."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finops.engine.checks.alternatives import Alternative, NotOffered, cheaper
from finops.engine.checks.measured import Freedom, LaunchFacts, RunKey, measured, run_keys
from finops.engine.checks.pricing import Price, PriceKey
from finops.engine.checks.second_hand import OfferPlace, StandingOffer, offer_places, second_hand
from finops.engine.checks.stored import ListedBucket, StorageFacts, stored
from finops.engine.commitments.cost import TermPrice
from finops.frames.cost_items import (
    MACHINE,
    ON_DEMAND,
    SPOT,
    Item,
    Range,
    Resource,
    Run,
    Side,
    Sku,
    Stored,
)
from finops.frames.storage_classes import StorageClass

SKU = Sku(MACHINE, "us-east-1", "m5.large", "Linux/UNIX")
AT = "2026-11-30T10:00:00Z"


def exact(*texts: str) -> Range:
    return Range(*(Decimal(text) for text in texts))


def machine(market: str, *, zone: str = "", run: Run | None = None, interruptible: bool | None = None,
            hours: str = "730", count: str = "1") -> Resource:  # fmt: skip
    number = Decimal(count)
    amount = Range.of(Decimal(hours) * number)
    item = Item("machine", "instance-hour", (SKU,), amount, market=market, zone=zone,
                count=Range.of(number))  # fmt: skip
    side = Side((item,), region="us-east-1", run=run, interruptible=interruptible)
    return Resource("aws_instance.a", "aws_instance", "create", None, side)


def price(*texts: str) -> Price:
    found = exact(*texts) if len(texts) == 3 else Range.of(Decimal(texts[0]))
    return Price(found, "USD", "test", "2026-11-30")


LISTED: dict[PriceKey, Price] = {(SKU, ON_DEMAND): price("0.10")}
PINNED: dict[PriceKey, Price] = {(SKU, "spot us-east-1b"): price("0.05")}


def facts(*, zone: Freedom | None = None, window: Freedom | None = None, best: str = "us-east-1d",
          home: Range | None = None) -> LaunchFacts:  # fmt: skip
    nothing = Freedom(None, 0, 0)
    return LaunchFacts(home, best, zone or nothing, window or nothing, AT)


def test_the_zone_saves_what_the_back_test_measured_of_what_is_paid() -> None:
    one = machine(SPOT, zone="us-east-1b")
    (key,) = run_keys([one])
    assert key == RunKey(SKU, "us-east-1b", Decimal(24), Decimal(0))
    found = facts(zone=Freedom(exact("5", "13", "20"), 310, 0))
    (offer,) = cheaper(measured([one], PINNED, {key: found})).offered
    # 730 h x 0.05 = 36.50 a month; 5, 13 and 20 % of it.
    assert offer.saving == exact("1.825", "4.745", "7.3")
    assert (offer.kind, offer.instead, offer.of) == (
        "zone", "m5.large Spot us-east-1d", "m5.large Spot us-east-1b",
    )  # fmt: skip
    assert (offer.evidence.sample, offer.evidence.sample_of, offer.evidence.as_of) == (310, "decisions", AT)
    assert dict(offer.evidence.query)["home_zone"] == "us-east-1b"


@pytest.mark.parametrize(
    ("found", "judged", "code"),
    [
        (facts(zone=Freedom(exact("-1", "2", "5"), 40, 0)), True, "not worth it"),
        (facts(zone=Freedom(None, 0, 0, "too little history before this time")), False, "not measured"),
        (facts(best="us-east-1b", zone=Freedom(exact("5", "6", "7"), 9, 0)), True, "cheapest zone"),
        (None, False, "no launch advice"),
    ],
)
def test_a_zone_that_is_not_surely_cheaper_is_told_and_not_offered(
    found: LaunchFacts | None, judged: bool, code: str
) -> None:
    one = machine(SPOT, zone="us-east-1b")
    (key,) = run_keys([one])
    ways = cheaper(measured([one], PINNED, {key: found} if found else {}))
    assert ways.offered == ()
    told = {(other.kind, other.judged, other.code) for other in ways.others}
    assert told == {("zone", judged, code), ("window", False, "no slack")}


def test_a_window_for_what_runs_on_demand_is_one_on_spot() -> None:
    one = machine(ON_DEMAND, run=Run(Decimal(8), Decimal(24)), interruptible=True, hours="160")
    (key,) = run_keys([one])
    assert key == RunKey(SKU, "", Decimal(8), Decimal(24))
    found = facts(window=Freedom(exact("1", "2", "3"), 55, 24), home=exact("0.04", "0.05", "0.06"))
    (offer,) = cheaper(measured([one], LISTED, {key: found})).offered
    # 160 x (0.10 - 0.06 x 0.99), 160 x (0.10 - 0.05 x 0.98), 160 x (0.10 - 0.04 x 0.97)
    assert offer.saving == exact("6.496", "8.16", "9.792")
    assert (offer.kind, offer.instead) == ("window", "m5.large Spot within 24 h")


def test_what_may_not_be_interrupted_is_asked_no_window() -> None:
    one = machine(ON_DEMAND, run=Run(Decimal(8), Decimal(24)), interruptible=False)
    assert run_keys([one]) == set()
    assert cheaper(measured([one], LISTED, {})).others == ()


def offer(pk: int, fixed: str, hours: str, *, count: int | None = 1, hourly: str = "0", zone: str = "",
          currency: str = "USD") -> StandingOffer:  # fmt: skip
    term = TermPrice(Decimal(fixed), Decimal(hourly), Decimal(hours))
    return StandingOffer(pk, zone, term, currency, count, AT)


PLACE = OfferPlace("us-east-1", "m5.large", "Linux/UNIX")


def test_the_cheapest_second_hand_offers_are_filled_up_to_the_machines_there_are() -> None:
    one = machine(ON_DEMAND, count="3")
    assert offer_places([one]) == {PLACE}
    standing = (
        offer(1, "730", "7300", count=1, hourly="0.02"),  # 0.1 + 0.02: dearer than on demand
        offer(2, "292", "5840", count=2),  # 0.05 an hour
        offer(3, "584", "7300", count=5),  # 0.08 an hour
        offer(4, "1", "5840", currency="CNY"),  # another currency is not compared
    )
    (way,) = cheaper(second_hand([one], LISTED, {PLACE: standing})).offered
    # 2 x 730 x (0.10 - 0.05) + 1 x 730 x (0.10 - 0.08)
    assert way.saving == Range.of(Decimal("87.6"))
    assert way.instead == "3 x m5.large second-hand reservation"
    assert dict(way.evidence.facts) == {"upfront": "1168", "hours_left": "5840", "pays_from_hours": "2920"}
    assert (way.evidence.sample, way.evidence.page, way.evidence.query) == (4, "deal-offer", (("", "2"),))


def test_an_offer_is_paid_for_hours_that_are_not_used() -> None:
    one = machine(ON_DEMAND, hours="365")  # half of the month
    ways = cheaper(second_hand([one], LISTED, {PLACE: (offer(1, "292", "5840"),)}))
    assert ways.offered == ()  # 365 x 0.10 = 36.50 against 730 x 0.05 = 36.50
    (other,) = ways.others
    assert (other.judged, other.code, dict(other.told)["effective"]) == (True, "offers dearer", "0.0500")


def test_offers_of_another_zone_do_not_fit_and_none_cannot_be_judged() -> None:
    one = machine(ON_DEMAND, zone="us-east-1a")
    ways = cheaper(second_hand([one], LISTED, {PLACE: (offer(1, "1", "5840", zone="us-east-1b"),)}))
    (other,) = ways.others
    assert (other.judged, other.code) == (False, "no offers")
    assert cheaper(second_hand([one], {}, {})).others[0].code == "no list price"


STANDARD = StorageClass("STANDARD", Decimal("0.02"), put_per_1000=Decimal("0.005"), get_per_1000=Decimal(0))
RARE = StorageClass(
    "STANDARD_IA", Decimal("0.01"), min_billable_kib=Decimal(128), min_days=30, put_per_1000=Decimal("0.01"),
    get_per_1000=Decimal("0.001"), retrieval_per_gib=Decimal("0.01"),
)  # fmt: skip


def bucket(**amounts: str | None) -> Resource:
    held = Stored(
        "b", "STANDARD", **{k: None if v is None else Range.of(Decimal(v)) for k, v in amounts.items()}
    )
    return Resource("aws_s3_bucket.b", "aws_s3_bucket", "create", None, Side(region="us-east-1", stored=held))


CLASSES = StorageFacts({"us-east-1": {"STANDARD": STANDARD, "STANDARD_IA": RARE}}, {})


def test_a_class_is_priced_on_the_stated_use() -> None:
    # 1,000 GiB in 1,024,000 objects of 1,024 KiB; 102,400 are written and 10,240 read a month.
    one = bucket(gib="1000", objects="1024000", puts="102400", gets="10240")
    (way,) = cheaper(stored([one], CLASSES)).offered
    # standard 20 + 0.512; rare 10 + 1.024 puts + 0.01024 gets + 10 GiB x 0.01 retrieval
    assert way.saving == Range.of(Decimal("20.512") - Decimal("11.13424"))
    assert (way.instead, way.of, way.evidence.sample) == ("STANDARD_IA", "STANDARD", 1024000)


def test_what_is_deleted_early_is_billed_to_its_least_days() -> None:
    # All objects are written again four times a month: each lives about a week of the 30 days.
    one = bucket(gib="1000", objects="1024000", puts="4096000", gets="0")
    ways = cheaper(stored([one], CLASSES))
    assert ways.offered == ()
    assert [other.code for other in ways.others] == ["no class cheaper"]


def test_a_bucket_without_a_stated_use_is_not_judged() -> None:
    (other,) = cheaper(stored([bucket(gib="10", objects=None, puts="1", gets=None)], CLASSES)).others
    assert (other.judged, other.code, dict(other.told)) == (
        False, "usage missing", {"names": "objects, get_requests"},
    )  # fmt: skip


def test_a_listed_bucket_has_the_advice_on_its_listing() -> None:
    saving = exact("10", "12", "15")
    listed = {"b": ListedBucket(saving, "USD", 2, 5000, AT)}
    (way,) = cheaper(stored([bucket(gib="1")], StorageFacts({}, listed))).offered
    assert (way.saving, way.currency, way.evidence.sample) == (saving, "USD", 5000)
    blocked = {"b": ListedBucket(None, "USD", 0, 5000, AT, "the bill shows more")}
    (other,) = cheaper(stored([bucket(gib="1")], StorageFacts({}, blocked))).others
    assert (other.judged, other.code, dict(other.told)["why"]) == (False, "blocked", "the bill shows more")


def test_ways_stand_by_the_greatest_saving_and_are_never_added() -> None:
    one = machine(ON_DEMAND, count="1")
    dear: list[Alternative | NotOffered] = list(
        second_hand([one], LISTED, {PLACE: (offer(2, "292", "5840"),)})
    )
    dear += list(stored([bucket(gib="1000", objects="1024000", puts="102400", gets="10240")], CLASSES))
    assert [way.kind for way in cheaper(reversed(dear)).offered] == ["second-hand", "storage class"]
