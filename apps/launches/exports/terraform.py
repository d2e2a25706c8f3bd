"""A plan as Terraform: aws_instance, with no character of a name or script read as an expression."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from apps.launches.exports.sheet import Sheet
from finops.providers.aws.launching_call import FLEET, tag_list
from finops.providers.base import PermanentError

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def terraform(sheet: Sheet) -> str:
    """A provider block for the region and one resource. Raises PermanentError."""
    api, call = sheet.aws_call()
    if api == FLEET:
        raise PermanentError("Terraform starts machines by RunInstances only; this target uses CreateFleet.")
    lines = [
        "terraform {",
        "  required_providers {",
        "    aws = {",
        '      source  = "hashicorp/aws"',
        '      version = ">= 5.0"',
        "    }",
        "  }",
        "}",
        "",
        'provider "aws" {',
        f"  region = {quoted(str(sheet.offer['region']))}",
        "}",
        "",
        f'resource "aws_instance" {quoted(_resource(sheet.slug))} {{',
        *_block(_arguments(sheet, call), 1),
        "}",
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A quoted string of HCL: `${` and `%{` are written twice, so nothing in it is a template.

    >>> print(quoted('a "b" ${c} %{d}'))
    "a \\"b\\" $${c} %%{d}"
    """
    plain = json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
    # JSON writes a few control characters by names that HCL does not know.
    return plain.replace("\\b", "\\u0008").replace("\\f", "\\u000c") if _odd(text) else plain


def _odd(text: str) -> bool:
    return "\b" in text or "\f" in text


def _resource(slug: str) -> str:
    name = slug.replace("-", "_")
    return name if name[0].isalpha() else f"job_{name}"


def _arguments(sheet: Sheet, call: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if sheet.plan.count > 1:
        found["count"] = sheet.plan.count
    plain = {
        "ImageId": "ami", "InstanceType": "instance_type", "SubnetId": "subnet_id",
        "SecurityGroupIds": "vpc_security_group_ids", "KeyName": "key_name", "UserData": "user_data",
        "InstanceInitiatedShutdownBehavior": "instance_initiated_shutdown_behavior",
    }  # fmt: skip
    found |= {name: call[key] for key, name in plain.items() if key in call}
    if zone := call.get("Placement", {}).get("AvailabilityZone"):
        found["availability_zone"] = zone
    profile = call.get("IamInstanceProfile", {})
    if profile:
        found["iam_instance_profile"] = profile.get("Name") or str(profile["Arn"]).rpartition("/")[2]
    found["tags"] = found["volume_tags"] = {one["Key"]: one["Value"] for one in tag_list(sheet.tags)}
    if template := call.get("LaunchTemplate"):
        key = "id" if "LaunchTemplateId" in template else "name"
        found["launch_template"] = _Nested({
            key: template.get("LaunchTemplateId") or template["LaunchTemplateName"],
            "version": template["Version"],
        })  # fmt: skip
    if market := call.get("InstanceMarketOptions"):
        options = market["SpotOptions"]
        inner = {
            "spot_instance_type": options["SpotInstanceType"],
            "instance_interruption_behavior": options["InstanceInterruptionBehavior"],
        }
        if "MaxPrice" in options:
            inner["max_price"] = options["MaxPrice"]
        found["instance_market_options"] = _Nested({"market_type": "spot", "spot_options": _Nested(inner)})
    if "MetadataOptions" in call:
        found["metadata_options"] = _Nested({"http_tokens": "required", "instance_metadata_tags": "disabled"})
    return found


class _Nested(dict[str, Any]):
    """A block, as against a map, which is a value."""


def _block(values: Mapping[str, Any], depth: int) -> list[str]:
    """Lines as `terraform fmt` has them: names of neighbours padded to the same width."""
    lines: list[str] = []
    plain = {key: value for key, value in values.items() if not isinstance(value, dict)}
    width = max((len(key) for key in plain), default=0)
    for key, value in plain.items():
        lines.append(f"{'  ' * depth}{key.ljust(width)} = {_value(value)}")
    for key, value in values.items():
        if isinstance(value, _Nested):
            lines += ["", f"{'  ' * depth}{key} {{", *_block(value, depth + 1), f"{'  ' * depth}}}"]
        elif isinstance(value, dict):
            lines += ["", f"{'  ' * depth}{key} = {{", *_map(value, depth + 1), f"{'  ' * depth}}}"]
    return lines[1:] if lines[:1] == [""] else lines


def _map(values: Mapping[str, str], depth: int) -> list[str]:
    names = {key: key if _WORD.fullmatch(key) else quoted(key) for key in values}
    width = max(len(name) for name in names.values())
    return [f"{'  ' * depth}{names[key].ljust(width)} = {quoted(value)}" for key, value in values.items()]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return quoted(str(value))
