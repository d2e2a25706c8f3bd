"""What a product text means. Grain: one row per provider and product text as delivered
(`data/products.csv`, dated).

The text itself is what is stored with a price; this table says which operating system, licence and network
it stands for. Two texts of one meaning ("Linux/UNIX" and "Linux/UNIX (Amazon VPC)") stay two series; only a
question joins them. A text that is not in the table has no meaning: it is never matched by a part of it.
"""

from __future__ import annotations

import csv
from datetime import date
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).parent / "data" / "products.csv"

# Names of operating systems in price lists, in our spelling. Sources: offer files of EC2 ("Operating
# System"), the CSV of LeanerCloud/ec2-instances-info (linux, mswin, rhel, sles).
_OPERATING_SYSTEMS = {
    "linux": "linux",
    "linux/unix": "linux",
    "rhel": "rhel",
    "red hat enterprise linux": "rhel",
    "rhel with ha": "rhel-ha",
    "red hat enterprise linux with ha": "rhel-ha",
    "suse": "suse",
    "sles": "suse",
    "suse linux": "suse",
    "ubuntu pro": "ubuntu-pro",
    "windows": "windows",
    "mswin": "windows",
}
_LICENCES = {
    "no license required": "none",
    "license included": "included",
    "bring your own license": "byol",
    "none": "none",
    "included": "included",
    "byol": "byol",
}


class Product(NamedTuple):
    """The meaning of one product text; `network` is "vpc", or "any" where the text does not say."""

    provider: str
    text: str
    operating_system: str
    licence: str
    software: str
    network: str
    as_of: date
    source: str


@cache
def products() -> tuple[Product, ...]:
    """The whole table, in the order of the file."""
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        return tuple(
            Product(
                provider=row["provider"],
                text=row["text"],
                operating_system=row["operating_system"],
                licence=row["licence"],
                software=row["software"],
                network=row["network"],
                as_of=date.fromisoformat(row["as_of"]),
                source=row["source"],
            )
            for row in csv.DictReader(handle)
        )


@cache
def _by_text() -> dict[tuple[str, str], Product]:
    return {(product.provider, product.text.casefold()): product for product in products()}


def product(text: str, *, provider: str = "aws") -> Product | None:
    """The meaning of a text, letter case and outer spaces aside; None where it is not in the table."""
    return _by_text().get((provider, text.strip().casefold()))


def texts_of_same_meaning(text: str, *, provider: str = "aws") -> tuple[str, ...]:
    """The texts that answer a question for `text`, the VPC name first; only itself where it is unknown.

    >>> texts_of_same_meaning("Linux/UNIX")
    ('Linux/UNIX (Amazon VPC)', 'Linux/UNIX')
    """
    asked = product(text, provider=provider)
    if asked is None:
        return (text.strip(),)
    same = [other for other in products() if (other.provider, *other[2:5]) == (asked.provider, *asked[2:5])]
    return tuple(other.text for other in sorted(same, key=lambda other: other.network != "vpc"))


def operating_system(text: str) -> str:
    """Our name of an operating system named by a price list, or an empty text."""
    known = _OPERATING_SYSTEMS.get(text.strip().casefold(), "")
    if known:
        return known
    meant = product(text)
    return meant.operating_system if meant and not meant.software else ""


def licence(text: str, system: str) -> str:
    """Our name of a licence model named by a price list for an operating system, or an empty text.

    Price lists say "No License required" and "License Included" of the same thing: the price holds with
    what the system needs.
    """
    found = _LICENCES.get(text.strip().casefold(), "")
    return found if found in ("", "byol") else usual_licence(system)


def usual_licence(system: str) -> str:
    """The licence of an on-demand instance of this operating system where a list does not say."""
    return "included" if system == "windows" else "none"
