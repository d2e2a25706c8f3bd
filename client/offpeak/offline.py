"""The verdict without the server: the server's own engine on an exported price file.

The document is that of the server on the same prices, without what only the server has: `id` is null, a
team's budget and the check of another branch cannot be judged, and nothing is stored.
"""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from offpeak import engine
from offpeak.errors import REFUSED, USAGE, EndError

FORMAT = 1


def check(options: Any, content: bytes) -> dict[str, Any]:
    """The document. Raises EndError."""
    engine.use()
    from finops.frames.cost_items import CheckInputError

    if options.base_ref:
        raise EndError("--base-ref needs the server: offline the base is the plan's own before", USAGE)
    prices = _price_file(options.offline)
    if prices["team"] != (options.team or None):
        whose = prices["team"] or "no team"
        raise EndError(f"the price file is of {whose}: export one with --team for another", USAGE)
    try:
        policies, usage = _side_files(options, prices)
    except CheckInputError as error:
        raise EndError(str(error), USAGE) from None
    try:
        return _document(options, content, prices, policies, usage)
    except CheckInputError as error:
        raise EndError(str(error), REFUSED) from None
    except ModuleNotFoundError as error:
        raise EndError(f"{error.name} is missing: pip install PyYAML", USAGE) from None


def _price_file(path: str) -> dict[str, Any]:
    try:
        found = json.loads(Path(path).read_bytes())
        if found["offpeak_price_file"] != FORMAT:
            raise EndError(f"{path}: a price file of another version", USAGE)
        datetime.fromisoformat(found["at"].replace("Z", "+00:00"))
        for name in ("policies", "machines", "spot", "sizes", "team", "engine"):
            found[name]
    except OSError as error:
        raise EndError(f"{path}: {error.strerror}", USAGE) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise EndError(f"{path}: no price file of Offpeak", USAGE) from None
    return dict(found)


def _side_files(options: Any, prices: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    """Policies (the stored ones, then the caller's) and usage."""
    from dataclasses import replace

    from finops.engine.checks.policies import DEFAULT_POLICIES, Policy, Verdict, policies_of
    from finops.frames.usage_file import Usage, usage_of

    stored = []
    for row in prices["policies"]:
        (policy,) = policies_of({"policies": [row["rule"]]}, file=options.offline)
        stored.append(replace(policy, set_by=row["set_by"]))
    given = policies_of(_json(options.policy), file=options.policy) if options.policy else ()
    found = (*stored, *given) if stored or options.policy else DEFAULT_POLICIES
    if options.strict:
        found = (*found, Policy("all_priced", Verdict.DENY))
    usage = usage_of(_json(options.usage), file=options.usage) if options.usage else Usage()
    return found, usage


def _json(path: str) -> Any:
    from finops.frames.cost_items import CheckInputError

    try:
        # Numbers stay text, so that 0.1 is exact.
        return json.loads(Path(path).read_text("utf-8-sig"), parse_float=str)
    except OSError as error:
        raise EndError(f"{path}: {error.strerror}", USAGE) from None
    except RecursionError:
        raise CheckInputError("nested too deep", file=path) from None
    except ValueError as error:
        raise CheckInputError(f"not JSON: {error}", file=path) from None


def _reading(kind: str, content: bytes, file: str, usage: Any, sizes: dict[str, list[int]]) -> Any:
    from finops.frames.cost_items import MachineFacts

    if kind == "terraform":
        from finops.providers.terraform.plan import read_plan

        return read_plan(content, file=file, usage=usage)
    if kind == "workload":
        from finops.providers.workload.workload_file import read_workload

        return read_workload(content, file=file, usage=usage)
    from finops.providers.kubernetes.manifests import read_manifests

    def facts(name: str) -> MachineFacts | None:
        size = sizes.get(name)
        return MachineFacts(Decimal(size[0]), Decimal(size[1])) if size else None

    return read_manifests(content, file=file, usage=usage, facts=facts)


def _prices(keys: Any, document: dict[str, Any], day: Any) -> dict[Any, Any]:
    from finops.engine.checks.pricing import Price
    from finops.engine.checks.tables import table_price
    from finops.frames.cost_items import MACHINE, ON_DEMAND, SPOT, Range, Sku

    machines = {
        (Sku(MACHINE, region, name, product), ON_DEMAND): Price(
            Range.of(Decimal(price)), currency, source, listed_on, later
        )
        for region, name, product, price, currency, source, listed_on, later in document["machines"]
    }
    machines |= {
        (Sku(MACHINE, region, name, product), SPOT): Price(
            Range(Decimal(low), Decimal(expected), Decimal(high)), currency, source, at
        )
        for region, name, product, low, expected, high, currency, source, at in document["spot"]
    }
    found = {}
    for key in keys:
        price = machines.get(key) if key[0].service == MACHINE else table_price("aws", key[0], day)
        if price is not None:
            found[key] = price
    return found


def _kinds_elsewhere(one: Any) -> list[str]:
    """Cheaper ways of a resource that cannot be looked at without the server."""
    from finops.engine.checks.alternatives import machine_items

    kinds = []
    if any(True for _ in machine_items(one)):
        kinds += ["second-hand", "window", "zone"]
    if one.after is not None and one.after.stored is not None:
        kinds.append("storage class")
    return kinds


def _document(
    options: Any, content: bytes, prices: dict[str, Any], policies: tuple[Any, ...], usage: Any
) -> dict[str, Any]:
    from apps.costchecks.document import check_document, input_digest, prices_used
    from finops.engine.checks.alternatives import (
        NotOffered,
        alternatives,
        cheaper,
        spot_keys,
        volume_keys,
    )
    from finops.engine.checks.policies import judge
    from finops.engine.checks.pricing import keys_of, price_resources
    from finops.engine.checks.tables import carbon_of

    reading = _reading(options.kind, content, options.file, usage, prices["sizes"])
    resources = reading.resources
    at = datetime.fromisoformat(prices["at"].replace("Z", "+00:00"))
    day = at.date()
    found = _prices(keys_of(resources) | spot_keys(resources) | volume_keys(resources), prices, day)
    priced = price_resources(resources, found)
    carbon = carbon_of("aws", resources, day)
    outcomes = [judge(policy, priced, carbon=carbon) for policy in policies]
    # Offers, the back-test and listings are in the server's database.
    elsewhere = [
        NotOffered(kind, one.address, False, "needs the server")
        for one in resources
        for kind in _kinds_elsewhere(one)
    ]
    ways = cheaper([*alternatives(resources, found), *elsewhere])
    document = check_document(
        priced, outcomes, ways, reading=reading, strict=options.strict, at=at,
    )  # fmt: skip
    return {
        "id": None,
        **document,
        "project": options.project or None,
        "ref": options.ref or None,
        "commit": options.commit or None,
        "base": {"kind": "plan", "ref": None, "id": None},
        "spot_prices_left_out": [],
        "evidence": {
            "snapshots": {},
            "engine": prices["engine"],
            "at": prices["at"],
            "later_prices": any(price.later for price in priced.used.values()),
            "input": input_digest(options.kind, options.project, repr(resources)),
            "prices": [list(row) for row in prices_used(priced)],
        },
    }
