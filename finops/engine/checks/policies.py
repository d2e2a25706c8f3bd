"""Policies as data, each with its own verdict: pass < warn < cannot judge < deny, and the worst counts.

Limits are "above": exactly at the limit passes. A limit in percent has no answer where the base is absent,
0 or a credit: with a rise it cannot judge, without one it passes. What has no price is never read as 0: where
a side could not be priced at all, or a resource changed in a part without a price, a limit that is not broken
by what is known cannot judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from finops.engine.checks.pricing import Priced
from finops.engine.spend import EXACT
from finops.frames.check_words import check_whole_text, number
from finops.frames.cost_items import MACHINE, ON_DEMAND, CheckInputError, Range, Resource
from finops.frames.money import CurrencyError, currency_code
from finops.frames.region_carbon import PUBLISHERS


class Verdict(StrEnum):
    """In rising order of what counts."""

    PASS = "pass"  # noqa: S105
    WARN = "warn"
    CANNOT_JUDGE = "cannot judge"
    DENY = "deny"


ORDER = tuple(Verdict)
AMOUNTS = ("max_increase", "max_decrease", "max_total")
PERCENTS = ("max_increase_percent", "max_decrease_percent")
PARTS = ("spot_eligible_on_demand", "volume_types", "required_tag")
CARBON = "region_carbon"
KINDS = (*AMOUNTS, *PERCENTS, "team_budget", *PARTS, CARBON, "all_priced")
CASES = ("low", "expected", "high")


@dataclass(frozen=True, slots=True)
class Policy:
    """`level`: what breaking it makes, warn or deny. `case`: which of low, expected, high is held against a
    limit. `names`: volume types, the key of a tag, or who publishes the factors of carbon; `value`: the tag's
    value, "" for any. `set_by`: "" the caller, "organisation", or "team <slug>"."""

    kind: str
    level: Verdict
    limit: Decimal | None = None
    currency: str = ""
    case: str = "expected"
    names: tuple[str, ...] = ()
    value: str = ""
    team: str = ""
    title: str = ""
    set_by: str = ""


# What is asked where neither the organisation nor the caller names a policy: nothing that denies.
DEFAULT_POLICIES = (
    Policy("spot_eligible_on_demand", Verdict.WARN, names=("interruptible",)),
    Policy("volume_types", Verdict.WARN, names=("gp2",)),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a policy found. `code` says why in a word: above, at most, no base, not priced, currency, parts,
    none, tags unknown, no budget, no factor, sources differ. `found` in the unit of the limit; `excess` above
    it; `addresses`: which."""

    policy: Policy
    verdict: Verdict
    code: str
    found: Decimal | None = None
    excess: Decimal | None = None
    addresses: tuple[str, ...] = ()


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict that counts; pass where nothing was asked."""
    return max(verdicts, key=ORDER.index, default=Verdict.PASS)


def policies_of(document: Mapping[str, Any], *, file: str = "policies") -> tuple[Policy, ...]:
    """Policies of a document: `{"policies": [{"kind", …}]}`, or limits by name, `{"max_increase": "40.00"}`.

    Every name is checked. Raises CheckInputError that names policy and field.
    """
    if not isinstance(document, dict):
        raise CheckInputError("not a mapping of names to values", file=file)
    check_whole_text(document, file=file)
    known = {"policies", "locale", "currency", "version", *AMOUNTS, *PERCENTS}
    for name in document:
        if name not in known:
            told = f"unknown; known: {', '.join(sorted(known))}"
            raise CheckInputError(told, file=file, field=str(name)[:60])
    locale, currency = str(document.get("locale") or ""), document.get("currency") or ""
    rows = document.get("policies")
    rows = [] if rows in (None, "") else rows  # "policies:" with nothing behind it
    if not isinstance(rows, list) or len(rows) > 200:
        raise CheckInputError("not a list of at most 200 policies", file=file, field="policies")
    short = [{"kind": name, "limit": document[name]} for name in (*AMOUNTS, *PERCENTS) if name in document]
    return tuple(
        _policy(row, f"policies[{i}]", file, locale, currency) for i, row in enumerate([*rows, *short])
    )


_FIELDS = {"kind", "level", "limit", "currency", "case", "types", "tag", "value", "team", "title", "source"}


def _policy(row: Any, address: str, file: str, locale: str, currency: Any) -> Policy:
    def refuse(field: str, reason: str) -> CheckInputError:
        return CheckInputError(reason, file=file, address=address, field=field)

    if not isinstance(row, dict):
        raise refuse("", "not a mapping")
    if unknown := [str(name) for name in row if name not in _FIELDS]:
        raise refuse(unknown[0][:60], f"unknown; known: {', '.join(sorted(_FIELDS))}")
    kind, level, case = row.get("kind"), row.get("level"), row.get("case") or "expected"
    if kind not in KINDS:
        raise refuse("kind", f"unknown; known: {', '.join(KINDS)}")
    if level not in (None, "warn", "deny"):
        raise refuse("level", "warn or deny")
    if case not in CASES:
        raise refuse("case", f"one of {', '.join(CASES)}")
    limit, money = None, ""
    if kind in AMOUNTS or kind in PERCENTS or kind == CARBON:
        limit = number(row.get("limit"), locale=locale, file=file, address=address, field="limit")
    if kind in AMOUNTS:
        try:
            money = currency_code(str(row.get("currency") or currency or "USD"))
        except CurrencyError as error:
            raise refuse("currency", str(error)) from error
    names = _names(row, kind, refuse)
    for field in ("value", "team", "title"):
        if not isinstance(row.get(field) or "", str) or len(row.get(field) or "") > 200:
            raise refuse(field, "not a text of at most 200 characters")
    default = Verdict.WARN if kind in PARTS or kind == CARBON else Verdict.DENY
    return Policy(
        kind=kind,
        level=Verdict(level) if level else default,
        limit=limit,
        currency=money,
        case=case,
        names=names,
        value=row.get("value") or "",
        team=row.get("team") or "",
        title=row.get("title") or "",
    )


def _names(row: Mapping[str, Any], kind: str, refuse: Any) -> tuple[str, ...]:
    if kind == "volume_types":
        types = row.get("types")
        if not isinstance(types, list) or not types or not all(isinstance(t, str) for t in types):
            raise refuse("types", "a list of volume types, for example [gp2]")
        return tuple(types)
    if kind in {"required_tag", "spot_eligible_on_demand"}:
        tag = row.get("tag") or ("" if kind == "required_tag" else "interruptible")
        if not isinstance(tag, str) or not tag:
            raise refuse("tag", "the key of a tag, for example owner")
        return (tag,)
    if kind == CARBON and row.get("source"):
        if row["source"] not in PUBLISHERS:
            raise refuse("source", f"one of {', '.join(PUBLISHERS)}")
        return (row["source"],)
    return ()


def document_of(policy: Policy) -> dict[str, Any]:
    """The policy as `policies_of` reads it; what has its default is left out."""
    named = {
        "volume_types": ("types", list(policy.names)),
        CARBON: ("source", policy.names[0] if policy.names else ""),
    }
    name, value = named.get(policy.kind, ("tag", policy.names[0] if policy.names else ""))
    found = {
        "kind": policy.kind, "level": policy.level.value,
        "limit": None if policy.limit is None else format(policy.limit, "f"),
        "currency": policy.currency, "case": policy.case if policy.case != "expected" else "",
        name: value, "value": policy.value, "team": policy.team, "title": policy.title,
    }  # fmt: skip
    return {key: text for key, text in found.items() if text}


Carbon = Mapping[str, Sequence[tuple[str, Decimal]]]


def judge(
    policy: Policy,
    priced: Priced,
    *,
    budget: Decimal | None = None,
    spent: Decimal | None = None,
    carbon: Carbon | None = None,
) -> Outcome:
    """One policy. `budget` and `spent`, for `team_budget`: the team's budget of the month and what it is
    expected to spend without this change. `carbon`, for `region_carbon`: (publisher, g of CO2e per kWh) by
    region.
    """
    if policy.kind == "all_priced":
        where = tuple(dict.fromkeys(part.address for part in priced.unpriced))
        if where:
            return Outcome(policy, Verdict.CANNOT_JUDGE, "parts", Decimal(len(priced.unpriced)), None, where)
        return Outcome(policy, Verdict.PASS, "none", Decimal(0))
    if policy.kind in PARTS:
        return _parts(policy, priced)
    if policy.kind == CARBON:
        return _carbon(policy, priced, carbon or {})
    if policy.kind == "team_budget":
        return _seen_whole(_budget(policy, priced, budget, spent), priced)
    return _seen_whole(_limit(policy, priced), priced)


def _seen_whole(found: Outcome, priced: Priced) -> Outcome:
    """A limit that is kept by what has a price is not kept where something else changed: nobody knows."""
    where = tuple(dict.fromkeys(part.address for part in priced.unpriced if part.changed))
    if not where or found.verdict is not Verdict.PASS:
        return found
    return Outcome(found.policy, Verdict.CANNOT_JUDGE, "not priced", None, None, where)


def _case(found: Range, policy: Policy) -> Decimal:
    value: Decimal = getattr(found, policy.case)
    return value


def _limit(policy: Policy, priced: Priced) -> Outcome:
    total, limit = priced.total, policy.limit or Decimal(0)
    if policy.currency and priced.currency is not None and policy.currency != priced.currency:
        return Outcome(policy, Verdict.CANNOT_JUDGE, "currency")
    if policy.kind == "max_total":
        if total.after is None:
            return Outcome(policy, Verdict.CANNOT_JUDGE, "not priced")
        return _held(
            policy, _case(total.after, policy) if isinstance(total.after, Range) else Decimal(0), limit
        )
    if total.delta is None:
        return Outcome(policy, Verdict.CANNOT_JUDGE, "not priced")
    # "high" of a fall is its largest fall: the sign turns the ends round.
    falls = policy.kind.startswith("max_decrease")
    delta = Range(-total.delta.high, -total.delta.expected, -total.delta.low) if falls else total.delta
    change = _case(delta, policy)
    if policy.kind not in PERCENTS:
        return _held(policy, change, limit)
    base = total.before.expected if isinstance(total.before, Range) else None
    if change <= 0:
        return Outcome(
            policy, Verdict.PASS, "at most", Decimal(0) if base is None or base <= 0 else _share(change, base)
        )
    if base is None or base <= 0:
        return Outcome(policy, Verdict.CANNOT_JUDGE, "no base")
    return _held(policy, _share(change, base), limit)


def _share(change: Decimal, base: Decimal) -> Decimal:
    return EXACT.divide(EXACT.multiply(change, Decimal(100)), base)


def _held(policy: Policy, found: Decimal, limit: Decimal) -> Outcome:
    if found > limit:
        return Outcome(policy, policy.level, "above", found, EXACT.subtract(found, limit))
    return Outcome(policy, Verdict.PASS, "at most", found)


def _budget(policy: Policy, priced: Priced, budget: Decimal | None, spent: Decimal | None) -> Outcome:
    if budget is None or spent is None:
        return Outcome(policy, Verdict.CANNOT_JUDGE, "no budget")
    if priced.total.delta is None:
        return Outcome(policy, Verdict.CANNOT_JUDGE, "not priced")
    found = EXACT.add(spent, _case(priced.total.delta, policy))
    return _held(policy, found, budget)


def _parts(policy: Policy, priced: Priced) -> Outcome:
    """Policies about resources that are there after the change."""
    there = [line.resource for line in priced.lines if line.resource.after is not None]
    if policy.kind == "required_tag":
        return _tagged(policy, there)
    check = _wrong_volume if policy.kind == "volume_types" else _could_be_spot
    broken = tuple(one.address for one in there if check(one, policy))
    if broken:
        return Outcome(policy, policy.level, "parts", Decimal(len(broken)), None, broken)
    return Outcome(policy, Verdict.PASS, "none", Decimal(0))


def _carbon(policy: Policy, priced: Priced, carbon: Carbon) -> Outcome:
    """What runs after the change in a region whose grid is above the limit, by every publisher that the
    policy takes; where they do not agree, or nobody has a factor, it cannot be judged.
    """
    limit = policy.limit or Decimal(0)
    above: dict[str, Decimal] = {}
    unknown, unclear = [], []
    highest: Decimal | None = None
    for line in priced.lines:
        side = line.resource.after
        if side is None or not side.items:
            continue
        rows = carbon.get(side.region, ())
        factors = [g for publisher, g in rows if not policy.names or publisher in policy.names]
        if not factors:
            unknown.append(line.resource.address)
            continue
        highest = max([*factors, *([highest] if highest is not None else [])])
        if min(factors) > limit:
            above[line.resource.address] = max(factors)
        elif max(factors) > limit:
            unclear.append(line.resource.address)
    if above:
        found = max(above.values())
        return Outcome(policy, policy.level, "above", found, EXACT.subtract(found, limit), tuple(above))
    if unclear:
        return Outcome(policy, Verdict.CANNOT_JUDGE, "sources differ", highest, None, tuple(unclear))
    if unknown:
        return Outcome(policy, Verdict.CANNOT_JUDGE, "no factor", None, None, tuple(unknown))
    return Outcome(policy, Verdict.PASS, "none" if highest is None else "at most", highest)


def _tagged(policy: Policy, there: Sequence[Resource]) -> Outcome:
    tag = policy.names[0]
    missing, unknown = [], []
    for one in there:
        if not one.taggable or one.after is None:
            continue
        has = None if one.after.tags is None else _has_tag(one.after.tags, tag, policy.value)
        if has is None:
            unknown.append(one.address)
        elif not has:
            missing.append(one.address)
    if missing:
        return Outcome(policy, policy.level, "parts", Decimal(len(missing)), None, tuple(missing))
    if unknown:
        return Outcome(policy, Verdict.CANNOT_JUDGE, "tags unknown", None, None, tuple(unknown))
    return Outcome(policy, Verdict.PASS, "none", Decimal(0))


def _has_tag(tags: Mapping[str, str | None], key: str, value: str) -> bool | None:
    """Whether the tag is there with a value (with this one); None where only apply will tell."""
    found = [text for name, text in tags.items() if name.casefold() == key.casefold()]
    fits = (lambda text: text.casefold() == value.casefold()) if value else (lambda text: bool(text.strip()))
    if any(text is not None and fits(text) for text in found):
        return True
    return None if None in found or (not found and "" in tags) else False


def _wrong_volume(one: Resource, policy: Policy) -> bool:
    items = one.after.items if one.after else ()
    return any(sku.service == "ebs" and sku.name in policy.names for item in items for sku in item.skus)


def spot_eligible(one: Resource, tag: str = "interruptible", value: str = "true") -> bool:
    """Whether somebody said that the machines of a resource may be interrupted, and they run on demand."""
    side = one.after
    if side is None or not any(
        item.market == ON_DEMAND and sku.service == MACHINE for item in side.items for sku in item.skus
    ):
        return False
    if side.interruptible is not None:
        return side.interruptible
    return side.tags is not None and _has_tag(side.tags, tag, value or "true") is True


def _could_be_spot(one: Resource, policy: Policy) -> bool:
    return spot_eligible(one, policy.names[0], policy.value)
