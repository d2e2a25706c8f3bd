"""Lifecycle rules: what a policy becomes, merged without losing a rule, conflicts, validations, rollback."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.storage.lifecycle import (
    Plan,
    Problem,
    archive_tiers,
    canonical,
    planned,
    rule_of,
    state_of,
)
from finops.engine.storage.tiering import DELETE, Policy, Step
from finops.frames.storage_terms import StorageTerms, storage_terms
from tests.support.storage_cells import ON

TIER = Policy((Step(30, "STANDARD_IA"), Step(90, "GLACIER_IR")), from_bytes=131_072)
KEEP: dict[str, Any] = {
    "ID": "logs", "Status": "Enabled", "Filter": {"Prefix": "logs/"},
    "Transitions": [{"Days": 60, "StorageClass": "GLACIER"}],
}  # fmt: skip


@cache
def terms() -> StorageTerms:
    found = storage_terms("aws", "us-east-1", ON)
    assert found is not None
    return found


def plan(existing: list[dict[str, Any]], *ours: dict[str, Any]) -> Plan:
    return planned(existing, ours, terms())


def codes(found: Plan) -> list[tuple[str, str, bool]]:
    return [(one.code, one.about, one.blocks) for one in found.problems]


def test_a_policy_becomes_a_rule_for_its_prefix_and_size() -> None:
    rule = rule_of("shards/", "current", TIER)
    assert rule == {
        "ID": rule["ID"],
        "Status": "Enabled",
        "Filter": {"And": {"Prefix": "shards/", "ObjectSizeGreaterThan": 131_071}},
        "Transitions": [
            {"Days": 30, "StorageClass": "STANDARD_IA"},
            {"Days": 90, "StorageClass": "GLACIER_IR"},
        ],
    }
    assert rule["ID"].startswith("offpeak-current-tier-shards-")
    assert rule_of("", "current", Policy((Step(0, "GLACIER_IR"),)))["Filter"] == {"Prefix": ""}
    with pytest.raises(ValueError, match="has no rule"):
        rule_of("a/", "current", Policy())


def test_old_versions_and_unfinished_uploads_have_rules_of_their_own() -> None:
    old = rule_of("a/", "noncurrent", Policy((Step(30, "STANDARD_IA"), Step(90, DELETE))), keep_versions=3)
    assert old["NoncurrentVersionTransitions"] == [
        {"NoncurrentDays": 30, "StorageClass": "STANDARD_IA", "NewerNoncurrentVersions": 3}
    ]
    assert old["NoncurrentVersionExpiration"] == {"NoncurrentDays": 90, "NewerNoncurrentVersions": 3}
    uploads = rule_of("a/", "incomplete", Policy((Step(7, DELETE),)))
    assert uploads["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}
    assert (state_of(old), state_of(uploads)) == ("noncurrent", "incomplete")
    assert len({old["ID"], uploads["ID"], rule_of("a/", "current", TIER)["ID"]}) == 3
    assert "Expiration" not in old | uploads


def test_rules_that_are_there_stay_to_the_letter() -> None:
    rule = rule_of("shards/", "current", TIER)
    tagged = {"ID": "t", "Status": "Disabled", "Prefix": "", "Expiration": {"Days": 1}}
    found = plan([KEEP, tagged], rule)
    assert found.rules == (KEEP, tagged, rule)
    assert (found.added, found.changed, found.kept) == ((rule["ID"],), (), ("logs", "t"))
    assert (found.problems, found.blocked, found.deletes) == ((), False, False)
    assert found.rollback == {"Rules": [KEEP, tagged]}
    removed = [line for line in found.diff[2:] if line.startswith("-")]
    # JSON closes the last rule with a comma where one follows: nothing else is taken away.
    assert [line.strip("- ,") for line in removed] == ["}"] or removed == []


def test_the_way_back_from_nothing_is_no_configuration_and_from_a_deletion_none() -> None:
    assert plan([], rule_of("a/", "current", TIER)).rollback == {}
    gone = plan([KEEP], rule_of("a/", "current", Policy((Step(365, DELETE),))))
    assert (gone.deletes, gone.rollback) == (True, None)


def test_a_rule_of_ours_gives_way_to_its_newer_one_and_the_same_is_no_change() -> None:
    old = rule_of("a/", "current", Policy((Step(90, "GLACIER_IR"),)))
    new = rule_of("a/", "current", TIER)
    found = plan([KEEP, old], new)
    assert found.rules == (KEEP, new)
    assert (found.changed, found.added, found.rollback) == ((new["ID"],), (), {"Rules": [KEEP, old]})
    assert plan([KEEP, new], new).nothing
    taken = plan([{**KEEP, "ID": "mine"}], {**new, "ID": "mine"})
    assert codes(taken)[0] == ("id taken", "", True)


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"Filter": {"Prefix": ""}, "Transitions": [{"Days": 1, "StorageClass": "GLACIER"}]},
         ("moves the same", "x", True)),
        ({"Prefix": "a/b/", "Transitions": [{"Days": 1, "StorageClass": "GLACIER"}]},
         ("moves the same", "x", True)),
        ({"Filter": {"And": {"Prefix": "a/", "Tags": [{"Key": "k", "Value": "v"}]}},
          "Transitions": [{"Days": 1, "StorageClass": "GLACIER"}]}, ("moves the same", "x", False)),
        ({"Filter": {"Prefix": "a/"}, "Expiration": {"Days": 100}}, ("deleted early", "x 100", True)),
        ({"Filter": {"Prefix": "a/"}, "Expiration": {"Date": "2026-12-31T00:00:00Z"}},
         ("deleted on a date", "x 2026-12-31", True)),
        ({"Filter": {"Prefix": "a/"}, "Expiration": {"Date": datetime(2026, 12, 31, tzinfo=UTC)}},
         ("deleted on a date", "x 2026-12-31", True)),
        ({"Filter": {"Prefix": "a/"}, "Expiration": {"Days": 180}}, None),
        ({"Filter": {"Prefix": "ab/"}, "Expiration": {"Days": 1}}, None),
        ({"Filter": {"And": {"Prefix": "a/", "ObjectSizeLessThan": 1000}}, "Expiration": {"Days": 1}}, None),
        ({"Filter": {"Prefix": "a/"}, "NoncurrentVersionExpiration": {"NoncurrentDays": 1}}, None),
    ],
)  # fmt: skip
def test_what_acts_on_the_same_objects_is_a_conflict(
    other: dict[str, Any], problem: tuple[str, str, bool] | None
) -> None:
    found = plan([{"ID": "x", "Status": "Enabled", **other}], rule_of("a/", "current", TIER))
    assert [one for one in codes(found) if one == problem] == ([problem] if problem else [])
    assert found.blocked == bool(problem and problem[2])
    off = plan([{"ID": "x", "Status": "Disabled", **other}], rule_of("a/", "current", TIER))
    assert off.problems == ()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Transitions": [{"Days": 29, "StorageClass": "STANDARD_IA"}]}, "too early"),
        ({"Transitions": [{"Days": 30, "StorageClass": "STANDARD_IA"},
                          {"Days": 59, "StorageClass": "GLACIER_IR"}]}, "too close"),
        ({"Transitions": [{"Days": 0, "StorageClass": "GLACIER"},
                          {"Days": 90, "StorageClass": "GLACIER_IR"}]}, "no such move"),
        ({"Transitions": [{"Days": 30, "StorageClass": "GLACIER"},
                          {"Days": 90, "StorageClass": "GLACIER"}]}, "class twice"),
        ({"Expiration": {"Days": 90}}, "deleted before moved"),
        ({"NoncurrentVersionExpiration": {"NoncurrentDays": 1, "NewerNoncurrentVersions": 101}},
         "versions kept"),
        ({"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}, "uploads take a prefix only"),
        ({"Transitions": []}, "does nothing"),
        ({"ID": "offpeak-" + "x" * 250}, "id too long"),
    ],
)  # fmt: skip
def test_what_the_service_would_refuse_is_refused_before(change: dict[str, Any], code: str) -> None:
    found = plan([], {**rule_of("a/", "current", TIER), **change})
    assert code in [one.code for one in found.problems]
    assert found.blocked


def test_a_bucket_holds_a_thousand_rules() -> None:
    many = [{"ID": str(i), "Status": "Enabled", "Filter": {"Prefix": f"{i}/"}, "Expiration": {"Days": 400}}
            for i in range(1000)]  # fmt: skip
    assert Problem("too many rules", "", "1001") in plan(many, rule_of("a/", "current", TIER)).problems
    assert plan(many[:-1], rule_of("a/", "current", TIER)).problems == ()


def test_archive_tiers_open_within_what_the_service_takes() -> None:
    found = archive_tiers("a/", archive_days=90, deep_days=180)
    assert found["Tierings"] == [
        {"Days": 90, "AccessTier": "ARCHIVE_ACCESS"}, {"Days": 180, "AccessTier": "DEEP_ARCHIVE_ACCESS"},
    ]  # fmt: skip
    assert found["Filter"] == {"Prefix": "a/"}
    with pytest.raises(ValueError, match="180 to 730 days, not 90"):
        archive_tiers("a/", archive_days=None, deep_days=90)


prefixes = st.sampled_from(["", "a/", "a/b/", "b/", "logs/"])


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    prefix = draw(prefixes)
    made: dict[str, Any] = {
        "ID": draw(st.uuids()).hex,
        "Status": draw(st.sampled_from(["Enabled", "Disabled"])),
    }
    made |= {"Prefix": prefix} if draw(st.booleans()) else {"Filter": {"Prefix": prefix}}
    made["Expiration"] = {"Days": draw(st.integers(1, 4000))}
    return made


@settings(max_examples=50, deadline=None)
@given(st.lists(rules(), max_size=6), prefixes, st.randoms())
def test_merging_never_drops_a_rule_and_the_order_of_what_is_read_is_nothing(
    existing: list[dict[str, Any]], prefix: str, random: Any
) -> None:
    before = copy.deepcopy(existing)
    found = plan(existing, rule_of(prefix, "current", TIER))
    assert existing == before
    assert [rule for rule in found.rules if rule["ID"] in {one["ID"] for one in before}] == before
    assert len(found.rules) == len(before) + 1
    shuffled = [dict(reversed(list(rule.items()))) for rule in found.rules]
    random.shuffle(shuffled)
    assert canonical(shuffled) == canonical(found.rules)
    assert canonical(before) != canonical(found.rules)
    assert found.rollback == ({"Rules": before} if before else {})
