"""The arguments of a launch call on EC2, made from an offer and how its target runs machines; pure.

`RunInstances` starts one machine of one type in one zone. `CreateFleet` of type instant does the same through
a launch template, which it needs; user data are then the template's own, so a job started by it cannot call
us back and is followed by looking at its machine. Both are one machine a call, and the client token makes a
repeat of either safe. Source: the EC2 API reference, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from finops.providers.base import PermanentError

RUN, FLEET = "RunInstances", "CreateFleet"
SPOT, ON_DEMAND = "spot", "on-demand"
MAX_USER_DATA = 16 * 1024
MAX_TAGS, MAX_TAG_VALUE = 50, 256
_OTHER = re.compile(r"[^\w\s+\-=.:/@]")
# What a target's settings may name; another name is a mistake that must not pass in silence.
SETTINGS = frozenset({
    "call", "images", "launch_template", "instance_profile", "subnets", "security_groups", "key_name",
    "volume_gib", "max_price_of_on_demand", "price", "currency",
})  # fmt: skip


def settings_faults(settings: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a target's settings, by name; {} for nothing."""
    faults = {str(name): "There is no such setting." for name in settings if name not in SETTINGS}
    if settings.get("call", RUN) not in {RUN, FLEET}:
        faults["call"] = f"{RUN} or {FLEET}."
    for name in ("images", "subnets", "security_groups"):
        if not isinstance(settings.get(name, {}), Mapping):
            faults[name] = "An object by region or zone."
    template = settings.get("launch_template")
    if template is not None and not (
        isinstance(template, Mapping) and (template.get("id") or template.get("name"))
    ):
        faults["launch_template"] = "An object with id or name, and version."
    if settings.get("call") == FLEET and template is None:
        faults["launch_template"] = f"{FLEET} needs one."
    if template is None and not settings.get("images"):
        faults["images"] = "Name an image for each region, or a launch template."
    volume = settings.get("volume_gib")
    if volume is not None and not (isinstance(volume, int) and 1 <= volume <= 65_536):
        faults["volume_gib"] = "A whole number of GiB."
    return faults


def call_parameters(
    settings: Mapping[str, Any],
    offer: Mapping[str, Any],
    *,
    user_data: str = "",
    max_price: str | None = None,
    count: int = 1,
) -> dict[str, Any]:
    """`{"api", "region", "arguments"}` without token and tags. Raises PermanentError for what is missing.

    `offer`: region, zone_name, type, market. `max_price` caps a Spot machine's hour; AWS advises against one
    near the price, since a machine above it is taken back. `count`: machines that start together or not at
    all, in one zone.
    """
    if offer["market"] not in {SPOT, ON_DEMAND}:
        raise PermanentError(f"No such market: {offer['market']}.")
    if len(user_data.encode()) > MAX_USER_DATA:
        raise PermanentError(f"User data may have {MAX_USER_DATA} bytes.")
    if max_price is not None:
        _price(max_price)
    api = str(settings.get("call", RUN))
    make = _fleet if api == FLEET else _run
    arguments = make(settings, offer, user_data, max_price if offer["market"] == SPOT else None)
    if count > 1:
        arguments |= _together(api, arguments, offer["market"], count)
    return {"api": api, "region": offer["region"], "arguments": arguments}


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags as EC2 takes them: other signs than letters, digits, blanks, + - = . _ : / @ become _, long values
    are cut. Ours that are looked for are never changed by it.
    """
    tags = {key: _OTHER.sub("_", value) for key, value in tags.items()}
    return [{"Key": key[:128], "Value": value[:MAX_TAG_VALUE]} for key, value in sorted(tags.items())][
        :MAX_TAGS
    ]


def _run(
    settings: Mapping[str, Any], offer: Mapping[str, Any], user_data: str, max_price: str | None
) -> dict[str, Any]:
    region, zone = str(offer["region"]), str(offer.get("zone_name") or "")
    found: dict[str, Any] = {
        "InstanceType": offer["type"],
        "MinCount": 1,
        "MaxCount": 1,
        "InstanceInitiatedShutdownBehavior": "terminate",
    }
    template = _template(settings)
    if template:
        found["LaunchTemplate"] = template
    image = (settings.get("images") or {}).get(region)
    if image:
        found["ImageId"] = image
    elif not template:
        raise PermanentError(f"The target names no image for {region} and no launch template.")
    found |= _place(settings, region, zone)
    if settings.get("instance_profile"):
        profile = str(settings["instance_profile"])
        found["IamInstanceProfile"] = {"Arn" if profile.startswith("arn:") else "Name": profile}
    if settings.get("key_name"):
        found["KeyName"] = settings["key_name"]
    if user_data:
        found["UserData"] = user_data
    if offer["market"] == SPOT:
        options = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        options |= {"MaxPrice": max_price} if max_price else {}
        found["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": options}
    if not template:
        found["MetadataOptions"] = {"HttpTokens": "required", "InstanceMetadataTags": "disabled"}
    return found


def _place(settings: Mapping[str, Any], region: str, zone: str) -> dict[str, Any]:
    """Zone or subnet: a subnet says its zone, and EC2 refuses both."""
    subnet = (settings.get("subnets") or {}).get(zone or region)
    groups = (settings.get("security_groups") or {}).get(region)
    found: dict[str, Any] = {"SubnetId": subnet} if subnet else {}
    if zone and not subnet:
        found["Placement"] = {"AvailabilityZone": zone}
    if groups:
        found["SecurityGroupIds"] = list(groups)
    return found


def _fleet(
    settings: Mapping[str, Any], offer: Mapping[str, Any], user_data: str, max_price: str | None
) -> dict[str, Any]:
    if user_data:
        raise PermanentError(f"{FLEET} takes user data from its launch template only.")
    template = _template(settings)
    if not template:
        raise PermanentError(f"{FLEET} needs a launch template.")
    region, zone = str(offer["region"]), str(offer.get("zone_name") or "")
    override: dict[str, Any] = {"InstanceType": offer["type"]}
    subnet = (settings.get("subnets") or {}).get(zone or region)
    if subnet:
        override["SubnetId"] = subnet
    elif zone:
        override["AvailabilityZone"] = zone
    if max_price:
        override["MaxPrice"] = max_price
    named = {
        "LaunchTemplateId" if "LaunchTemplateId" in template else "LaunchTemplateName": next(
            iter(template.values())
        ),
        "Version": template["Version"],
    }
    found: dict[str, Any] = {
        "Type": "instant",
        "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": named, "Overrides": [override]}],
        "TargetCapacitySpecification": {
            "TotalTargetCapacity": 1,
            "DefaultTargetCapacityType": offer["market"],
        },
    }
    if offer["market"] == SPOT:
        found["SpotOptions"] = {
            "AllocationStrategy": "price-capacity-optimized",
            "InstanceInterruptionBehavior": "terminate",
        }
    return found


def _together(api: str, arguments: Mapping[str, Any], market: str, count: int) -> dict[str, Any]:
    """What makes a call all or nothing: RunInstances starts no machine below MinCount, an instant fleet none
    below MinTargetCapacity, which needs one zone.
    """
    if api == RUN:
        return {"MinCount": count, "MaxCount": count}
    options = "SpotOptions" if market == SPOT else "OnDemandOptions"
    whole = {"MinTargetCapacity": count, "SingleAvailabilityZone": True, "SingleInstanceType": True}
    return {
        "TargetCapacitySpecification": {
            **arguments["TargetCapacitySpecification"], "TotalTargetCapacity": count,
        },
        options: {**arguments.get(options, {}), **whole},
    }  # fmt: skip


def _template(settings: Mapping[str, Any]) -> dict[str, str]:
    template = settings.get("launch_template")
    if not template:
        return {}
    key = "LaunchTemplateId" if template.get("id") else "LaunchTemplateName"
    return {
        key: str(template.get("id") or template["name"]),
        "Version": str(template.get("version") or "$Default"),
    }


def _price(text: str) -> None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value <= 0:
        raise PermanentError(f"No price: {text!r}.")
