"""What a plan cannot know: amounts a month by resource. Grain: one row per pattern of addresses.

    locale: de                     # how the numbers here are written; without: a point
    defaults: {region: us-east-1, operating_system: Linux/UNIX, hours: 730}
    resources:
      "aws_nat_gateway.*": {gib_processed: {low: 0, expected: 500, high: 1000}}
      "aws_instance.etl[*": {hours: 240, interruptible: true}

`*` stands for any characters and nothing else is special. All patterns that fit an address count; the longest
one wins for a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from finops.frames.check_words import check_whole_text, number_range, read_words
from finops.frames.cost_items import HOURS_PER_MONTH, CheckInputError, Range, Run

# Units a month, except hours of a machine (each) and nodes.
NUMBERS = frozenset(
    {
        "hours", "gib_processed", "storage_gib", "put_requests", "get_requests", "io_requests", "lcu_hours",
        "root_volume_gib", "machines", "replicas", "node_share", "runs_hours", "run_hours", "slack_hours",
        "objects",
    }
)  # fmt: skip
WORDS = frozenset(
    {"region", "operating_system", "node_type", "storage_class", "interruptible", "root_volume_type"}
)
MAX_PATTERNS = 2000  # with a star; each is held against each resource
DEFAULTS = frozenset({"region", "operating_system", "hours", "node_type", "interruptible"})


@dataclass(frozen=True)
class Usage:
    """`rows`: (pattern, values), shortest pattern first; `defaults` hold where no row says a name."""

    rows: tuple[tuple[str, Mapping[str, Range | str]], ...] = ()
    defaults: Mapping[str, Range | str] | None = None

    @cached_property
    def _split(self) -> tuple[dict[str, Mapping[str, Range | str]], list[tuple[str, list[str]]]]:
        """All rows by pattern, and the patterns with `*` cut at it."""
        return dict(self.rows), [(name, name.split("*")) for name, _ in self.rows if "*" in name]

    def of(self, address: str) -> Mapping[str, Range | str]:
        """Everything said about an address."""
        found: dict[str, Range | str] = dict(self.defaults or {})
        rows, cut = self._split
        fitting = {name for name, parts in cut if _fits(parts, address)}
        if address in rows:
            fitting.add(address)
        for name in sorted(fitting, key=lambda one: (len(one), one)):
            found.update(rows[name])
        return found


def _fits(parts: list[str], address: str) -> bool:
    """Whether an address has the parts in their order, the first and the last at its ends.

    Each part is taken where it first fits, so the time grows with the lengths alone: as a regular expression
    sixty stars took longer than anybody waits.
    """
    first, *middle, last = parts
    if not address.startswith(first) or not address.endswith(last):
        return False
    place, end = len(first), len(address) - len(last)
    for part in middle:
        place = address.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return place <= end


def hours_of(said: Mapping[str, Range | str]) -> Range:
    """Hours a month that a resource runs: as said, else all of them."""
    found = said.get("hours")
    return found if isinstance(found, Range) else Range.of(HOURS_PER_MONTH)


def word_of(said: Mapping[str, Range | str], name: str) -> str:
    """A word that was said, else an empty text."""
    found = said.get(name)
    return found if isinstance(found, str) else ""


def amount_of(said: Mapping[str, Range | str], name: str) -> Range | None:
    """An amount that was said; None: nobody said it."""
    found = said.get(name)
    return found if isinstance(found, Range) else None


def run_of(said: Mapping[str, Range | str]) -> Run | None:
    """What was said of one run; None where nobody said how long its start may wait."""
    slack, hours = amount_of(said, "slack_hours"), amount_of(said, "run_hours")
    if slack is None:
        return None
    # A start waits at most the least that was said, and a run may take the most.
    return Run(None if hours is None else hours.high, slack.low)


def parse_usage(content: bytes, *, file: str = "usage file") -> Usage:
    """The usage of a file. Raises CheckInputError that names pattern and name."""
    return usage_of(read_words(content, file=file), file=file)


def usage_of(document: Any, *, file: str = "usage") -> Usage:
    """The usage of a parsed document. Raises CheckInputError."""
    if not isinstance(document, dict):
        raise CheckInputError("not a mapping", file=file)
    check_whole_text(document, file=file)
    _known(document, {"locale", "defaults", "resources", "version"}, file, "")
    locale = str(document.get("locale") or "")
    rows = document.get("resources") or {}
    if not isinstance(rows, dict):
        raise CheckInputError("not a mapping of addresses", file=file, field="resources")
    if sum("*" in str(pattern) for pattern in rows) > MAX_PATTERNS:
        told = f"more than {MAX_PATTERNS} patterns with *"
        raise CheckInputError(told, file=file, field="resources")
    read = {str(p): _values(v, NUMBERS | WORDS, locale, file, str(p)) for p, v in rows.items()}
    return Usage(
        tuple(sorted(read.items(), key=lambda row: (len(row[0]), row[0]))),
        _values(document.get("defaults") or {}, DEFAULTS, locale, file, "defaults"),
    )


def _values(
    values: Any, names: frozenset[str], locale: str, file: str, address: str
) -> dict[str, Range | str]:
    if not isinstance(values, dict):
        raise CheckInputError("not a mapping of names", file=file, address=address)
    _known(values, names, file, address)
    found: dict[str, Range | str] = {}
    for name, value in values.items():
        if name in NUMBERS:
            found[name] = number_range(value, locale=locale, file=file, address=address, field=name)
            continue
        if isinstance(value, bool):
            value = str(value).lower()
        if not isinstance(value, str) or len(value) > 120:
            raise CheckInputError("not a word", file=file, address=address, field=name)
        if name == "interruptible" and value not in {"true", "false"}:
            raise CheckInputError("true or false", file=file, address=address, field=name)
        found[name] = value
    return found


def _known(given: Mapping[Any, Any], known: frozenset[str] | set[str], file: str, address: str) -> None:
    for name in given:
        if name not in known:
            told = f"unknown; known: {', '.join(sorted(known))}"
            raise CheckInputError(told, file=file, address=address, field=str(name)[:60])
