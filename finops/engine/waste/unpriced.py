"""Types that could not be judged because nothing says their price, in one line."""

from __future__ import annotations

from collections.abc import Iterator

from finops.engine.waste.model import Outcome, Unjudged
from finops.frames.waste import Rule, Use

# Types without a price that a reason names; the others are counted.
MOST_NAMED = 6


def place_of(use: Use) -> tuple[str, str]:
    """(where, type) of what has no price; the platform is named where it is not plain Linux."""
    plain = use.platform in ("", "Linux/UNIX")
    where = use.key.region if plain else f"{use.key.region}, {use.platform}"
    return where, use.instance_type


def unpriced_types(rule: Rule, code: str, found: set[tuple[str, str]]) -> Iterator[Outcome]:
    """One line for all types without a price, by region."""
    if found:
        names = [f"{name} ({region})" for region, name in sorted(found)]
        more = f" +{len(names) - MOST_NAMED}" if len(names) > MOST_NAMED else ""
        yield Unjudged(rule.id, code, {"types": ", ".join(names[:MOST_NAMED]) + more})
