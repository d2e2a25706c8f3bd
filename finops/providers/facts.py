"""What is fixed about a provider's prices: where a zone lies, which currency, whether zones have prices.

Zone ids: `data/aws_zone_ids.csv`, from "AZ IDs" in the AWS Regions and Availability Zones guide, 2026-11.
Azure's product names: `productName` of the Retail Prices REST API ("Virtual Machines Dv3 Series Windows";
without the word the machine runs Linux), read 2026-12.
Currencies: the provider's price list terms, read 2026-11; AWS charges USD in all partitions but China (CNY).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

# "us-east-1a", a local zone "us-west-2-lax-1a", a wavelength zone "us-east-1-wl1-bos-wlz-1"
_AWS_ZONE_NAME = re.compile(r"([a-z]{2}(?:-gov|-iso[a-z]?)?-[a-z]+-\d+)(?:[a-z]|-[a-z0-9-]+)", re.ASCII)
# "use1-az1", "usw2-lax1-az1", "use1-wl1-bos-wlz1"
_AWS_ZONE_ID = re.compile(r"([a-z]{3,6}\d)-(?:[a-z0-9-]+-)?(?:az|wlz)\d+", re.ASCII)
_AZURE_MACHINES = re.compile(r"virtual machines .*\bseries\b.*", re.ASCII | re.IGNORECASE)
_AWS_TYPE = re.compile(r"[a-z0-9-]+\.[a-z0-9-]+", re.ASCII)


@dataclass(frozen=True)
class ProviderFacts:
    """`zoned`: a price belongs to a zone, else to a region. `currencies`: region prefix to currency."""

    name: str
    zoned: bool
    currencies: Mapping[str, str] = field(default_factory=dict)
    type_pattern: re.Pattern[str] | None = None

    def currency(self, region: str) -> str | None:
        """The currency charged in `region`: the longest prefix that fits; None when nothing is known."""
        for prefix in sorted(self.currencies, key=len, reverse=True):
            if region.startswith(prefix):
                return self.currencies[prefix]
        return None


FACTS: dict[str, ProviderFacts] = {
    facts.name: facts
    for facts in (
        ProviderFacts("aws", zoned=True, currencies={"": "USD", "cn-": "CNY"}, type_pattern=_AWS_TYPE),
        # Azure and Google publish lists per currency: the file or an option has to name it.
        ProviderFacts("azure", zoned=False),
        ProviderFacts("gcp", zoned=False),
    )
}


def product_of(provider: str, text: str) -> str:
    """The product that a text of the provider's names: a family of Azure's machines says its system only.

    >>> product_of("azure", "Virtual Machines Dv3 Series Windows")
    'Windows'
    """
    if provider != "azure" or _AZURE_MACHINES.fullmatch(text) is None:
        return text
    return "Windows" if "windows" in text.lower() else "Linux/UNIX"


@cache
def _aws_zone_prefixes() -> dict[str, str]:
    text = files("finops.providers").joinpath("data/aws_zone_ids.csv").read_text(encoding="utf-8")
    return {row["prefix"]: row["region"] for row in csv.DictReader(text.splitlines())}


def is_zone_id(zone: str) -> bool:
    """Whether an AWS zone is written as an id ("use1-az1") and not as an account's name for it."""
    return _AWS_ZONE_ID.fullmatch(zone) is not None


def region_of_zone(zone: str) -> str | None:
    """The AWS region of a zone name or zone id; None when neither its form nor its prefix is known."""
    by_id = _AWS_ZONE_ID.fullmatch(zone)
    if by_id is not None:
        return _aws_zone_prefixes().get(by_id[1])
    by_name = _AWS_ZONE_NAME.fullmatch(zone)
    return None if by_name is None else by_name[1]
