"""Region codes behind the location names of price lists.

Quirk: offer files name the place ("EU (Ireland)"), newer ones also the code. The names come from botocore's
own table of endpoints, so they age with the pinned botocore; "EU (" is the spelling before 2021 of today's
"Europe (".
"""

from __future__ import annotations

from functools import cache

from botocore.loaders import Loader

from finops.frames.money import currencies
from finops.providers.aws.names import is_region

CHINA = "cn-"


@cache
def region_names() -> dict[str, str]:
    """Region code -> location name as AWS writes it today."""
    partitions = Loader().load_data("endpoints")["partitions"]
    return {
        code: region["description"]
        for partition in partitions
        for code, region in partition["regions"].items()
    }


@cache
def _codes() -> dict[str, str]:
    names = {name.casefold(): code for code, name in region_names().items()}
    older = {
        name.replace("europe (", "eu ("): code for name, code in names.items() if name.startswith("europe (")
    }
    return names | older


def region_code(text: str) -> str:
    """The code of a region given by code or by location name; an empty text where neither fits."""
    text = text.strip()
    if is_region(text):
        return text
    return _codes().get(text.casefold(), "")


def currency_problem(region: str, currency: str) -> str:
    """Why a price cannot be in this currency, or an empty text: AWS bills its regions in China in CNY."""
    if currency not in currencies():
        return f"not a currency: {currency[:60]!r}"
    if region.startswith(CHINA) and currency != "CNY":
        return f"AWS prices {region} in CNY, the file says {currency}"
    return ""
