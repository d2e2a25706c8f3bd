"""Verdicts of a cost check: each rule answers for itself, the worst counts, nothing is read as 0."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finops.engine.checks.policies import (
    Outcome,
    Policy,
    Verdict,
    judge,
    policies_of,
    worst,
)
from finops.engine.checks.pricing import ABSENT, Price, Priced, price_resources
from finops.frames.cost_items import CheckInputError, Item, Range, Resource, Side, Sku

SKU = Sku("thing", "us-east-1", "unit", "month")
PRICES = {(SKU, "on-demand"): Price(Range.of(1), "USD", "test", "2026-01-01")}
RULE = {"max_increase": "40.00", "max_increase_percent": "25", "max_decrease": "20.00"}


def side(amount: str | None) -> Side:
    known = None if amount is None else Range.of(Decimal(amount))
    return Side((Item("all", "unit", (SKU,), known, "" if known else "not known"),))


def resource(before: Side | None, after: Side | None, address: str = "thing.a") -> Resource:
    return Resource(address, "thing", "update", before, after)


def priced(*resources: Resource) -> Priced:
    return price_resources(resources, PRICES)


def outcomes(found: Priced) -> dict[str, Outcome]:
    return {policy.kind: judge(policy, found) for policy in policies_of(RULE)}


@pytest.mark.parametrize(
    ("past", "current", "verdict", "broken"),
    [
        ("100", "130", "deny", {"max_increase_percent": ("30", "5")}),
        ("100", "70", "deny", {"max_decrease": ("30", "10")}),
        ("absent", "50", "deny", {"max_increase": ("50", "10.00")}),
        ("100", None, "cannot judge", {}),
        ("100", "100.00", "pass", {}),
        ("0", "0", "pass", {}),
        ("100", "125.00", "pass", {}),
    ],
)
def test_null_text_numbers_both_directions(
    past: str, current: str | None, verdict: str, broken: dict[str, tuple[str, str]]
) -> None:
    found = priced(resource(None if past == "absent" else side(past), side(current)))
    judged = outcomes(found)
    assert worst([one.verdict for one in judged.values()]) == verdict
    above = {kind: one for kind, one in judged.items() if one.code == "above"}
    assert {kind: (one.found, one.excess) for kind, one in above.items()} == {
        kind: (Decimal(value), Decimal(excess)) for kind, (value, excess) in broken.items()
    }
    if past == "absent":
        assert judged["max_increase_percent"].code == "no base"
        assert judged["max_increase_percent"].verdict is Verdict.CANNOT_JUDGE


def test_a_percentage_alone_does_not_pass_what_is_new() -> None:
    found = priced(resource(None, side("50")))
    policy = policies_of({"max_increase_percent": "25"})[0]
    assert judge(policy, found).verdict is Verdict.CANNOT_JUDGE


@pytest.mark.parametrize(
    ("name", "past", "current", "delta", "percent", "label"),
    [
        ("new", None, "12.00", "12.00", None, "new"),
        ("was zero", "0.00", "50.00", "50.00", None, ""),
        ("both zero", "0.00", "0.00", "0.00", None, ""),
        ("fell", "40.00", "30.00", "-10.00", "-25", ""),
        ("gone", "100.00", None, "-100.00", "-100", "gone"),
    ],
)
def test_change_against_nothing(
    name: str, past: str | None, current: str | None, delta: str, percent: str | None, label: str
) -> None:
    found = priced(resource(None if past is None else side(past), None if current is None else side(current)))
    assert found.total.delta == Range.of(Decimal(delta))
    assert found.total.percent == (None if percent is None else Decimal(percent))
    assert found.total.label == label
    assert (found.total.before == ABSENT) is (past is None)
    assert (found.total.after == ABSENT) is (current is None)


def test_a_price_missing_on_one_side_is_left_out_on_both() -> None:
    other = Sku("thing", "us-east-1", "dear", "month")
    before = Side((Item("disk", "unit", (other,), Range.of(5)), Item("rest", "unit", (SKU,), Range.of(3))))
    after = Side((Item("disk", "unit", (SKU,), Range.of(5)), Item("rest", "unit", (SKU,), Range.of(4))))
    found = priced(resource(before, after))
    assert found.total.before == Range.of(3)
    assert found.total.after == Range.of(4)
    assert found.total.delta == Range.of(1)
    assert [(one.component, one.side, one.reason) for one in found.unpriced] == [
        ("disk", "both", "no price for dear month in us-east-1")
    ]


def test_a_side_without_any_price_hides_the_other_one() -> None:
    before = Side((Item("disk", "unit", (SKU,), Range.of(5)),))
    after = Side((Item("all", "unit", (), None, "not known"),))
    found = priced(resource(before, after), resource(None, side("2"), "thing.b"))
    assert [(line.before, line.after, line.delta) for line in found.lines] == [
        (None, None, None),
        (ABSENT, Range.of(2), Range.of(2)),
    ]
    assert (found.total.before, found.total.after, found.total.delta) == (None, Range.of(2), Range.of(2))
    assert (found.total.percent, found.total.label) == (None, "")
    assert judge(policies_of({"max_increase": "1"})[0], found).verdict is Verdict.DENY
    assert judge(policies_of({"max_increase": "40"})[0], found).verdict is Verdict.CANNOT_JUDGE
    # Beside what costs nothing, an unknown change is not one of 0.
    alone = priced(resource(before, after), resource(None, Side(), "free.c"))
    assert alone.total.delta is None
    assert judge(policies_of({"max_increase": "40"})[0], alone).verdict is Verdict.CANNOT_JUDGE


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (SKU, "unlisted", "cannot judge"),
        ("unlisted", SKU, "cannot judge"),
        ("unlisted", "unlisted too", "cannot judge"),
        ("unlisted", "unlisted", "pass"),
        (SKU, SKU, "pass"),
        (None, "unlisted", "pass"),
    ],
)
def test_a_limit_does_not_pass_what_changed_without_a_price(
    before: object, after: object, verdict: str
) -> None:
    """The disk is the same on both sides: 0.00 of what can be seen says nothing of the machine beside it.
    What is new or unchanged without a price is counted, and `all_priced` asks for it.
    """

    def machine(name: object) -> Side | None:
        sku = name if isinstance(name, Sku) else Sku("thing", "us-east-1", str(name), "month")
        disk = Item("disk", "unit", (SKU,), Range.of(3))
        return None if name is None else Side((Item("machine", "unit", (sku,), Range.of(5)), disk))

    found = priced(resource(machine(before), machine(after)))
    rule = {**RULE, "max_total": "40.00", "max_decrease_percent": "10"}
    rule = {"max_increase": "40.00", "max_total": "40.00"} if before is None else rule
    judged = [judge(policy, found) for policy in policies_of(rule)]
    assert {one.verdict for one in judged} == {verdict}
    if verdict == "cannot judge":
        assert {(one.code, one.addresses) for one in judged} == {("not priced", ("thing.a",))}
        budget = judge(Policy("team_budget", Verdict.DENY), found, budget=Decimal(9), spent=Decimal(1))
        assert (budget.verdict, budget.code) == ("cannot judge", "not priced")
    # A limit that the known part breaks is broken.
    more = priced(resource(machine(before), machine(after)), resource(None, side("50"), "thing.b"))
    assert judge(policies_of(RULE)[0], more).verdict is Verdict.DENY


def test_the_same_unknown_use_before_and_after_cancels_out() -> None:
    use = Range(Decimal(0), Decimal(5), Decimal(10))
    one = Side((Item("use", "unit", (SKU,), use),))
    two = Side((Item("use", "unit", (SKU,), use), Item("more", "unit", (SKU,), Range.of(2))))
    assert priced(resource(one, two)).total.delta == Range.of(2)
    # Less use: the largest case is the largest fall, and the ends of the interval stay in order.
    gone = priced(resource(one, Side((Item("use", "unit", (SKU,), Range.of(0)),)))).total.delta
    assert gone == Range(Decimal(-10), Decimal(-5), Decimal(0))


def test_prices_in_two_currencies_are_never_added() -> None:
    euro = Sku("thing", "eu-west-1", "unit", "month")
    prices = {**PRICES, (euro, "on-demand"): Price(Range.of(1), "EUR", "test", "2026-01-01")}
    both = Side((Item("a", "u", (SKU,), Range.of(1)), Item("b", "u", (euro,), Range.of(1))))
    with pytest.raises(ValueError, match="EUR, USD"):
        price_resources([resource(None, both)], prices)


@pytest.mark.parametrize(
    ("locale", "text", "limit"),
    [
        ("de", "10,00", "10.00"),
        ("de", "1.234,56", "1234.56"),
        ("en", "1,234.56", "1234.56"),
        ("de-CH", "1'234.50", "1234.50"),
        (None, "12.5", "12.5"),
    ],
)
def test_limits_are_read_in_the_stated_locale(locale: str | None, text: str, limit: str) -> None:
    document = {"max_increase": text, **({"locale": locale} if locale else {})}
    assert policies_of(document)[0].limit == Decimal(limit)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"max_increase": "1,234"}, "limit"),
        ({"max_increase": "NaN"}, "limit"),
        ({"max_increase": "-1"}, "limit"),
        ({"max_increase": True}, "limit"),
        ({"max_incraese": "1"}, "max_incraese"),
        ({"policies": [{"kind": "no such"}]}, "kind"),
        ({"policies": [{"kind": "max_total"}]}, "limit"),
        ({"policies": [{"kind": "max_total", "limit": "1", "level": "maybe"}]}, "level"),
        ({"policies": [{"kind": "max_total", "limit": "1", "limits": "2"}]}, "limits"),
        ({"policies": [{"kind": "volume_types", "types": "gp2"}]}, "types"),
        ({"policies": {"kind": "max_total"}}, "policies"),
    ],
)
def test_what_is_no_policy_is_refused_by_name(document: dict[str, object], field: str) -> None:
    with pytest.raises(CheckInputError) as refused:
        policies_of(document)
    assert refused.value.field == field


def test_another_currency_cannot_be_judged() -> None:
    policy = policies_of({"max_increase": "1", "currency": "EUR"})[0]
    found = judge(policy, priced(resource(None, side("50"))))
    assert (found.verdict, found.code) == (Verdict.CANNOT_JUDGE, "currency")


def test_the_case_of_the_interval_is_the_policys() -> None:
    use = Range(Decimal(0), Decimal(5), Decimal(10))
    found = priced(resource(None, Side((Item("use", "unit", (SKU,), use),))))
    limit = Decimal(6)
    for case, verdict in (("low", "pass"), ("expected", "pass"), ("high", "deny")):
        policy = Policy("max_increase", Verdict.DENY, limit, "USD", case)
        assert judge(policy, found).verdict == verdict


def test_a_budget_counts_what_the_team_spends_already() -> None:
    found = priced(resource(None, side("50")))
    policy = Policy("team_budget", Verdict.DENY, team="data")
    assert judge(policy, found).code == "no budget"
    ok = judge(policy, found, budget=Decimal(100), spent=Decimal(50))
    assert (ok.verdict, ok.found) == (Verdict.PASS, Decimal(100))
    over = judge(policy, found, budget=Decimal(100), spent=Decimal("50.01"))
    assert (over.verdict, over.excess) == (Verdict.DENY, Decimal("0.01"))


def test_verdicts_in_rising_order() -> None:
    order = [Verdict.PASS, Verdict.WARN, Verdict.CANNOT_JUDGE, Verdict.DENY]
    for i, verdict in enumerate(order):
        assert worst(order[: i + 1]) is verdict
    assert worst([]) is Verdict.PASS


@pytest.mark.parametrize(
    "document", [[], "x", None, 1, {"policies": {}}, {"policies": 0}, {"policies": False}]
)
def test_what_is_no_list_of_policies_is_no_empty_gate(document: object) -> None:
    with pytest.raises(CheckInputError, match="not a "):
        policies_of(document)  # type: ignore[arg-type]


def test_a_name_with_nothing_behind_it_is_an_empty_list() -> None:
    assert policies_of({"policies": None}) == policies_of({"policies": ""}) == ()
