"""Interruption bands from the Spot Advisor's JSON.

Quirks: `r` is the index of a band in `ranges`, whose label ("<5%", "5-10%", ">20%") is the published
statement (its `max` is the site's own sorting aid and differs: 11, 16, 22); `s` is the saving in percent
against on-demand; the file carries no date; bands cover the month before publication; systems are "Linux"
and "Windows".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from finops.frames.interruption import InterruptionBand, check
from finops.frames.products import operating_system
from finops.providers.aws.locations import region_code
from finops.providers.aws.reading import Reading

PROVIDER = "aws"
_UP_TO = re.compile(r"^\s*<\s*(\d+(?:\.\d+)?)\s*%\s*$")
_BETWEEN = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*%?\s*-\s*(\d+(?:\.\d+)?)\s*%\s*$")
_FROM = re.compile(r"^\s*>\s*(\d+(?:\.\d+)?)\s*%\s*$")


def is_spot_advisor(document: Any) -> bool:
    """Whether parsed JSON looks like the Spot Advisor's file."""
    return isinstance(document, Mapping) and "spot_advisor" in document and "ranges" in document


def band_of_label(label: str) -> tuple[Decimal, Decimal | None] | None:
    """The half-open monthly share that a label states; the top band has no upper end.

    >>> band_of_label("<5%"), band_of_label("5-10%"), band_of_label(">20%")
    ((Decimal('0'), Decimal('0.05')), (Decimal('0.05'), Decimal('0.1')), (Decimal('0.2'), None))
    """
    if match := _UP_TO.match(label):
        return Decimal(0), Decimal(match[1]) / 100
    if match := _BETWEEN.match(label):
        return Decimal(match[1]) / 100, Decimal(match[2]) / 100
    if match := _FROM.match(label):
        return Decimal(match[1]) / 100, None
    return None


def read_spot_advisor(document: Mapping[str, Any], *, as_of: date) -> Reading[InterruptionBand]:
    """Bands of one file; `row` counts region, system and type in the order of the file."""
    reading: Reading[InterruptionBand] = Reading()
    labels = {entry.get("index"): str(entry.get("label", "")) for entry in document["ranges"]}
    row = 0
    for region, systems in document["spot_advisor"].items():
        for system, types in systems.items():
            for instance_type, told in types.items():
                row += 1
                found = _band(region, system, instance_type, told, labels, as_of)
                if isinstance(found, InterruptionBand):
                    reading.rows.append((row, found))
                else:
                    reading.refuse(row, *found)
    return reading


def _band(
    region: str, system: str, instance_type: str, told: Any, labels: Mapping[Any, str], as_of: date
) -> InterruptionBand | tuple[str, str]:
    if not region_code(region):
        return "spot_advisor", f"no known region: {region!r}"
    our_system = operating_system(system)
    if not our_system:
        return "spot_advisor", f"operating system not known: {system!r}"
    if not isinstance(told, Mapping) or told.get("r") not in labels:
        return "r", f"no band of this index: {told.get('r') if isinstance(told, Mapping) else told!r}"
    label = labels[told["r"]]
    limits = band_of_label(label)
    if limits is None:
        return "ranges", f"a label that states no band: {label!r}"
    saving = told.get("s")
    if saving is not None and not isinstance(saving, (int, float)):
        return "s", f"not a number: {saving!r}"
    band = InterruptionBand(
        provider=PROVIDER,
        region=region_code(region),
        instance_type=instance_type,
        operating_system=our_system,
        as_of=as_of,
        low=limits[0],
        high=limits[1],
        label=label,
        saving_share=None if saving is None else Decimal(str(saving)) / 100,
    )
    return ("s", problem) if (problem := check(band)) else band
