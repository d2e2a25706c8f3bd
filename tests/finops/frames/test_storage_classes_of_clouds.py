"""The tables of classes, tiers, moves and retrievals are whole, dated and in one currency a provider."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from finops.frames.storage_classes import INTELLIGENT, lifecycle_moves, retrievals, storage_classes, tiers
from finops.frames.storage_prices import class_names
from finops.frames.storage_terms import storage_terms

ON = date(2026, 11, 30)
D = Decimal


def test_s3_has_every_class() -> None:
    found = storage_classes("aws", "us-east-1", ON)
    assert {name: (c.per_gib_month, c.min_days, c.min_billable_kib) for name, c in found.items()} == {
        "STANDARD": (D("0.023"), 0, 0),
        "INTELLIGENT_TIERING": (D("0.023"), 0, 0),
        "STANDARD_IA": (D("0.0125"), 30, 128),
        "ONEZONE_IA": (D("0.01"), 30, 128),
        "GLACIER_IR": (D("0.004"), 90, 128),
        "GLACIER": (D("0.0036"), 90, 0),
        "DEEP_ARCHIVE": (D("0.00099"), 180, 0),
        "EXPRESS_ONEZONE": (D("0.11"), 0, 0),
    }
    assert {c.currency for c in found.values()} == {"USD"}


def test_tiers_that_must_be_asked_for_are_given_only_when_asked_for() -> None:
    automatic = tiers("aws", "us-east-1", INTELLIGENT, ON)
    assert [(t.name, t.after_idle_days) for t in automatic] == [
        ("FREQUENT", 0), ("INFREQUENT", 30), ("ARCHIVE_INSTANT", 90),
    ]  # fmt: skip
    every = tiers("aws", "us-east-1", INTELLIGENT, ON, opt_in=True)
    assert {t.name for t in every} - {t.name for t in automatic} == {"ARCHIVE_ACCESS", "DEEP_ARCHIVE_ACCESS"}


def test_oss_has_its_own_spelling_sizes_days_and_currency() -> None:
    found = storage_classes("alibaba", "cn-hangzhou", ON)
    assert {name: (c.per_gib_month, c.min_days, c.min_billable_kib) for name, c in found.items()} == {
        "Standard": (D("0.12"), 0, 0),
        "IA": (D("0.08"), 30, 64),
        "Archive": (D("0.033"), 60, 64),
        "ColdArchive": (D("0.015"), 180, 64),
    }
    assert {c.currency for c in found.values()} == {"CNY"}
    assert all("read 2026-11" in c.source for c in found.values())


@pytest.mark.parametrize(("provider", "region"), [("aws", "us-east-1"), ("alibaba", "cn-hangzhou")])
def test_moves_are_between_classes_that_there_are(provider: str, region: str) -> None:
    terms = storage_terms(provider, region, ON)
    assert terms is not None
    found = terms.classes
    assert terms.moves
    assert {name for pair in lifecycle_moves(provider) for name in pair} <= set(class_names(provider, ON))
    for start, to in terms.moves:
        assert start in found
        assert found[to].transition_in_per_1000 > 0
        # Objects begin in the frequent tier, whatever class they come from.
        assert to == INTELLIGENT or found[to].per_gib_month <= found[start].per_gib_month


def test_every_class_that_must_be_restored_says_how() -> None:
    for name in ("GLACIER", "DEEP_ARCHIVE"):
        ways = {one.option: one for one in retrievals("aws", "us-east-1", name, ON)}
        assert ways["standard"].per_gib == storage_classes("aws", "us-east-1", ON)[name].retrieval_per_gib
    assert [one.option for one in retrievals("aws", "us-east-1", "GLACIER", ON)] == [
        "expedited", "standard", "bulk",
    ]  # fmt: skip
    assert retrievals("aws", "us-east-1", "STANDARD", ON) == ()
    assert retrievals("aws", "us-east-1", "DEEP_ARCHIVE", ON)[0].per_1000 is None
