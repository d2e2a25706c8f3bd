"""Storage prices of a region as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from apps.dashboard import format as fmt
from apps.dashboard.presenters.storage import class_name
from apps.dashboard.words import lang
from finops.frames.storage_prices import TIER


@dataclass(frozen=True)
class ItemRow:
    """`own_id`: the organisation's row, None for the shipped table's."""

    name: str
    price: str
    valid_from: str
    source: str
    own_id: int | None


@dataclass(frozen=True)
class ClassBlock:
    """A class with its items; `state`: whole, missing (with the words) or unknown."""

    name: str
    items: list[ItemRow]
    whole: bool
    lacking: str


def classes_of(document: Mapping[str, Any], own: Mapping[tuple[str, str, str], int]) -> list[ClassBlock]:
    """One block a class. `own`: ids by class, item and first day."""
    blocks: dict[str, list[ItemRow]] = {}
    for line in document["prices"]:
        key = (line["class"], line["item"], line["valid_from"])
        price = (
            "" if line["price"] is None else f"{line['price']} {fmt.currency_word(line['currency'], lang())}"
        )
        blocks.setdefault(line["class"], []).append(
            ItemRow(
                _item(line["item"]), price, line["valid_from"] or "", line["source"] or "",
                own.get(key) if line["own"] else None,
            )
        )  # fmt: skip
    return [
        ClassBlock(
            # The words are those of S3: another provider's DEEP_ARCHIVE is no Glacier.
            class_name(name) if document["provider"] == "aws" else name,
            items,
            name in document["classes"],
            _lacking(document, name),
        )
        for name, items in blocks.items()
    ]


def _lacking(document: Mapping[str, Any], name: str) -> str:
    missing = document["missing"].get(name, [])
    if "currency" in missing:
        return _("its prices are in another currency")
    return ", ".join(_item(item) for item in missing)


def _item(item: str) -> str:
    names = {
        "per_gib_month": _("storage, GiB and month"),
        "put_per_1000": _("writing, 1,000 requests"),
        "get_per_1000": _("reading, 1,000 requests"),
        "transition_in_per_1000": _("moving in, 1,000 objects"),
        "retrieval_per_gib": _("retrieval, GiB"),
        "monitoring_per_1000": _("monitoring, 1,000 objects and month"),
    }
    if item.startswith(TIER):
        return _("tier %(name)s, GiB and month") % {"name": item.removeprefix(TIER)}
    return names[item]
