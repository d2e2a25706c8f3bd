"""Each series and instant once, whatever the order, the overlap and the repeats of deliveries."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from apps.ingest import selectors
from apps.ingest.models import IngestRun, RejectionKind
from tests.apps.ingest.conftest import changes, known
from tests.support.spot import answer, row

Load = Callable[..., IngestRun]
T = "2026-05-{:02d}T{:02d}:00:00Z"


def counts(run: IngestRun) -> tuple[int, int, int, int]:
    return run.rows_read, run.stored, run.duplicates, run.rejected


def test_a_delivery_is_stored_with_its_repeats_counted(load: Load) -> None:
    run = load(
        answer(row("0.10", T.format(2, 6)), row("0.20", T.format(2, 8)), row("0.1000", T.format(2, 6)))
    )
    assert run.state == "finished"
    assert counts(run) == (3, 2, 1, 0)
    assert (run.series, run.new_series) == (1, 1)
    assert changes() == [
        ("us-east-1a", "m5.large", "Linux/UNIX", "2026-05-02T06:00:00Z", "USD", Decimal("0.1")),
        ("us-east-1a", "m5.large", "Linux/UNIX", "2026-05-02T08:00:00Z", "USD", Decimal("0.2")),
    ]


def test_importing_again_stores_nothing_and_makes_no_snapshot(load: Load) -> None:
    text = answer(row("0.10", T.format(2, 6)), row("0.20", T.format(2, 8)))
    first, before = load(text), selectors.lake().snapshot_ids()
    second = load(text)
    assert counts(second) == (2, 0, 2, 0)
    assert (second.series, second.new_series) == (1, 0)
    assert selectors.lake().snapshot_ids() == before == second.snapshots == first.snapshots
    assert selectors.newest_finished_run() == second


def test_overlapping_and_out_of_order_deliveries_give_each_change_once(load: Load) -> None:
    rows = [row(f"0.{hour:02d}", T.format(2, hour)) for hour in range(1, 9)]
    late = load(answer(*rows[4:]), "late.json")
    early = load(answer(*rows[:6]), "early.json")
    assert counts(late) == (4, 4, 0, 0)
    assert counts(early) == (6, 4, 2, 0)
    assert [at for *_, at, _, _ in changes()] == [f"2026-05-02T{hour:02d}:00:00Z" for hour in range(1, 9)]
    assert known() == [
        ("us-east-1a", "m5.large", "Linux/UNIX", "2026-05-02T01:00:00Z", "2026-05-02T08:00:00Z")
    ]


def test_deliveries_that_do_not_touch_leave_unknown_time_between(load: Load) -> None:
    load(answer(row("0.1", T.format(2, 1)), row("0.2", T.format(2, 3))), "a.json")
    load(answer(row("0.3", T.format(2, 5)), row("0.4", T.format(2, 7))), "b.json")
    assert [(start, end) for *_, start, end in known()] == [
        ("2026-05-02T01:00:00Z", "2026-05-02T03:00:00Z"),
        ("2026-05-02T05:00:00Z", "2026-05-02T07:00:00Z"),
    ]
    load(answer(row("0.2", T.format(2, 3)), row("0.3", T.format(2, 5))), "between.json")
    assert [(start, end) for *_, start, end in known()] == [("2026-05-02T01:00:00Z", "2026-05-02T07:00:00Z")]


def test_a_series_carries_its_last_price_to_the_end_of_the_delivery_in_its_region(load: Load) -> None:
    run = load(
        answer(
            row("0.1", T.format(2, 1)),
            row("0.2", T.format(2, 4), zone="us-east-1b"),
            row("0.3", T.format(2, 9), zone="us-east-1b"),
            row("0.4", T.format(3, 9), zone="eu-west-1a"),
        )
    )
    assert known() == [
        ("us-east-1a", "m5.large", "Linux/UNIX", "2026-05-02T01:00:00Z", "2026-05-02T09:00:00Z"),
        ("us-east-1b", "m5.large", "Linux/UNIX", "2026-05-02T04:00:00Z", "2026-05-02T09:00:00Z"),
    ]
    assert run.known == {
        "eu-west-1": ["2026-05-03T09:00:00Z", "2026-05-03T09:00:00Z"],
        "us-east-1": ["2026-05-02T01:00:00Z", "2026-05-02T09:00:00Z"],
    }


def test_the_range_that_was_asked_for_is_known_and_the_row_before_it_is_its_opening_value(load: Load) -> None:
    """Case t2-02."""
    asked = {
        "request_start": datetime(2026, 5, 2, tzinfo=UTC),
        "request_end": datetime(2026, 5, 3, tzinfo=UTC),
    }
    run = load(
        answer(row("0.110", T.format(2, 20)), row("0.040", T.format(1, 20)), row("0.070", T.format(2, 6))),
        **asked,
    )
    assert counts(run) == (3, 3, 0, 0)
    assert [(start, end) for *_, start, end in known()] == [("2026-05-02T00:00:00Z", "2026-05-03T00:00:00Z")]
    assert [price for *_, price in changes()] == [Decimal("0.04"), Decimal("0.07"), Decimal("0.11")]


def test_one_row_is_a_complete_answer_for_a_constant_price(load: Load) -> None:
    load(
        answer(row("0.040", T.format(1, 20))),
        request_start=datetime(2026, 5, 2, tzinfo=UTC),
        request_end=datetime(2026, 5, 3, tzinfo=UTC),
    )
    assert [(start, end) for *_, start, end in known()] == [("2026-05-02T00:00:00Z", "2026-05-03T00:00:00Z")]


def test_products_are_kept_as_delivered(load: Load) -> None:
    """Case t2-04: three series."""
    at = "2026-01-05T00:00:00Z"
    run = load(
        answer(
            row("2.000", at),
            row("0.300", at, product="Linux/UNIX (Amazon VPC)"),
            row("0.900", at, product="Windows (Amazon VPC)"),
        )
    )
    assert run.series == 3
    assert [(product, price) for _, _, product, _, _, price in changes()] == [
        ("Linux/UNIX", Decimal(2)),
        ("Linux/UNIX (Amazon VPC)", Decimal("0.3")),
        ("Windows (Amazon VPC)", Decimal("0.9")),
    ]


def test_offsets_are_turned_into_utc(load: Load) -> None:
    text = "SPOTINSTANCEPRICE\t1.286900\t2021-08-01T00:02:33-0700\tm5.16xlarge\tSUSE Linux\teu-west-1b\n"
    load(text, "dump")
    assert changes()[0][3] == "2021-08-01T07:02:33Z"


@pytest.mark.parametrize("order", list(itertools.permutations(["0.10", "0.12", "0.11"])))
def test_of_two_prices_for_one_instant_the_higher_stays_whatever_the_order(
    load: Load, order: tuple[str, ...]
) -> None:
    at = T.format(2, 6)
    runs = [load(answer(row(price, at), row("0.5", T.format(2, 9))), f"{price}.json") for price in order]
    assert [price for *_, price in changes()] == [Decimal("0.12"), Decimal("0.5")]
    assert all(run.rows_read == run.stored + run.duplicates + run.rejected for run in runs)
    assert sum(run.stored - run.replaced for run in runs) == 2


def test_a_conflict_names_both_prices_and_all_that_names_them(load: Load) -> None:
    at = T.format(2, 6)
    run = load(answer(row("0.12", at), row("0.10", at)), "a.json")
    assert counts(run) == (2, 1, 0, 1)
    rejection = run.rejections.get()
    fields = "zone, instance_type, product, currency, at, price"
    assert (rejection.file, rejection.row, rejection.field) == ("a.json", 2, fields)
    named = "us-east-1a, m5.large, Linux/UNIX, USD at 2026-05-02T06:00:00Z"
    assert rejection.reason == f"conflict: 0.1 where 0.12 is known for {named}"

    higher = load(answer(row("0.20", at), row("0.7", T.format(3, 1), zone="us-east-1b")), "b.json")
    assert (*counts(higher), higher.replaced) == (2, 2, 0, 0, 1)
    replacement = higher.rejections.get(kind=RejectionKind.REPLACEMENT)
    assert (replacement.row, replacement.field) == (1, fields)
    assert replacement.reason == f"conflict: 0.2 takes the place of 0.12, stored for {named}"
    assert [price for *_, price in changes()] == [Decimal("0.2"), Decimal("0.7")]


def test_a_zone_name_and_its_id_are_told_apart_by_account(load: Load) -> None:
    text = answer(row("0.1", T.format(2, 1)), row("0.1", T.format(2, 1), zone="use1-az4"))
    load(text, account="123456789012")
    assert [key for key, *_ in changes()] == ["123456789012:us-east-1a", "use1-az4"]


def test_a_folder_is_one_delivery(load: Load, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.json").write_text(answer(row("0.1", T.format(2, 1))))
    (folder / "deep" / "b.json").write_text(answer(row("0.2", T.format(2, 5))))
    (folder / "deep" / ".hidden").write_text("not looked at")
    run = load(folder)
    assert (run.files_done, *counts(run)) == (2, 2, 2, 0, 0)
    assert [(start, end) for *_, start, end in known()] == [("2026-05-02T01:00:00Z", "2026-05-02T05:00:00Z")]
