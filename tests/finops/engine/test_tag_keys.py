"""Keys fold by case and accent form and nothing else; what only looks alike is reported."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from finops.engine.tag_keys import exact_keys, folded, folded_keys, suspects

NFC, NFD = "\u00c9quipe", "E\u0301quipe"


def test_folding_joins_case_and_accent_form_and_nothing_else() -> None:
    stored = ["Team", "team", "user:TEAM", "te-am", NFC, NFD, "cost-center", "cost_center", "cost.center"]
    assert folded_keys("team", stored) == ["team", "Team", "user:TEAM"]
    assert folded_keys("équipe", stored) == sorted([NFC, NFD])
    assert folded_keys("cost-center", stored) == ["cost-center"]


def test_a_key_without_namespace_is_also_the_users_own() -> None:
    assert exact_keys("team") == ("team", "user:team", "user_team")
    assert exact_keys("user:team") == ("user:team", "user_team")
    assert exact_keys("aws:createdBy") == ("aws:createdBy",)


def test_what_looks_alike_is_reported_by_cost() -> None:
    cost = {"Team": 2, "team": 3, "cost-center": 1, "cost_center": 5, "cost.center": 1, "Name": 4}
    found = suspects({key: Decimal(value) for key, value in cost.items()})
    assert [(s.kind, s.keys, s.cost) for s in found] == [
        ("separator", ("cost-center", "cost.center", "cost_center"), 7),
        ("case", ("Team", "team"), 5),
    ]


@given(st.text())
def test_folding_twice_is_folding_once(key: str) -> None:
    assert folded(folded(key)) == folded(key)
