"""Tag keys that may be meant as one: those that fold together, and those that only look alike.

Keys are case sensitive at every cloud and are kept as delivered. Folding (NFC, then case folding) is a view
that somebody turns on; dashes, underscores, dots and blanks are never folded, only reported.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

# AWS puts the owner of a key before it: `user:team`, `aws:createdBy`. Exports that make a column or a map key
# of it (CUR 2.0, tables of Athena) write an underscore for the colon.
USER_NAMESPACE = "user:"
USER_PREFIX = "user_"
_SEPARATORS = str.maketrans("", "", "-_. ")


def folded(key: str) -> str:
    """The key without case and accent form: NFC, case folding, NFC again (folding can undo it).

    >>> folded("E\\u0301quipe") == folded("équipe")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", key).casefold())


def exact_keys(key: str) -> tuple[str, ...]:
    """The stored keys that a question for `key` reads, first match first: itself, then as a user's key.

    >>> exact_keys("team")
    ('team', 'user:team', 'user_team')
    >>> exact_keys("user:team")
    ('user:team', 'user_team')
    """
    if key.startswith(USER_NAMESPACE):
        return (key, f"{USER_PREFIX}{key.removeprefix(USER_NAMESPACE)}")
    return (key,) if ":" in key else (key, f"{USER_NAMESPACE}{key}", f"{USER_PREFIX}{key}")


def folded_keys(key: str, stored: Iterable[str]) -> list[str]:
    """The stored keys that fold to `key` or `user:key`; the exact ones first, the others by name."""
    wanted = {folded(one) for one in exact_keys(key)}
    first = exact_keys(key)
    return sorted(
        (one for one in set(stored) if folded(one) in wanted),
        key=lambda one: (first.index(one) if one in first else len(first), one),
    )


@dataclass(frozen=True, slots=True)
class Suspects:
    """Keys that look like one. `kind`: "case" folds together, "separator" differs by dash, underscore, dot
    or blank (and perhaps case) and is never merged.
    """

    kind: str
    keys: tuple[str, ...]
    cost: Decimal


def suspects(cost: Mapping[str, Decimal]) -> list[Suspects]:
    """Groups of keys that look alike, by cost: each key is in at most one group of a kind.

    `cost` is the amount under each key. A group of kind "separator" has at least two keys that do not fold
    together.
    """
    by_fold: dict[str, list[str]] = {}
    by_shape: dict[str, list[str]] = {}
    for key in cost:
        by_fold.setdefault(folded(key), []).append(key)
        by_shape.setdefault(folded(key).translate(_SEPARATORS), []).append(key)
    found = [
        Suspects("case", tuple(sorted(keys)), _sum(cost, keys)) for keys in by_fold.values() if len(keys) > 1
    ]
    found += [
        Suspects("separator", tuple(sorted(keys)), _sum(cost, keys))
        for keys in by_shape.values()
        if len({folded(key) for key in keys}) > 1
    ]
    return sorted(found, key=lambda one: (-one.cost, one.kind, one.keys))


def _sum(cost: Mapping[str, Decimal], keys: Iterable[str]) -> Decimal:
    return sum((cost[key] for key in keys), Decimal(0))
