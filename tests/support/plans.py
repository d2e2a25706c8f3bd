"""Made-up plans in the documented JSON form of `terraform show -json`."""

from __future__ import annotations

import json
from typing import Any


def change(
    address: str,
    after: dict[str, Any] | None,
    before: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One entry of `resource_changes`; the actions follow from the sides."""
    if before is None:
        actions = ["create"]
    elif after is None:
        actions = ["delete"]
    else:
        actions = ["no-op"] if after == before else ["update"]
    kind, name = address.split(".")[-2:]
    return {
        "address": address,
        "mode": "managed",
        "type": kind,
        "name": name.split("[")[0],
        "provider_name": "registry.terraform.io/hashicorp/aws",
        "change": {"actions": actions, "before": before, "after": after, "after_unknown": {}, **more},
    }


def plan(*changes: dict[str, Any], region: str | None = "us-east-1", **more: Any) -> bytes:
    """A plan; `region` is the provider's."""
    expressions = {"region": {"constant_value": region}} if region else {}
    configuration = {
        "provider_config": {"aws": {"name": "aws", "expressions": expressions}},
        "root_module": {},
    }
    return json.dumps(
        {
            "format_version": "1.2",
            "terraform_version": "1.9.8",
            "resource_changes": list(changes),
            "configuration": configuration,
            **more,
        }
    ).encode()
