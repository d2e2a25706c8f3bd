"""Terraform plans in JSON (`terraform show -json plan.out`), as resources with items that have prices.

Source: "JSON Output Format" of Terraform's documentation (format_version 1.x; 0.x before 1.1), read 2026-11.
Quirks: `change.actions` is a list, a replacement is ["delete", "create"] or ["create", "delete"]; a value
known only after apply is missing from `after` and true in `after_unknown`; the ids that tie resources are
unknown in a new plan, so the tie is read from the references in `configuration`; the region is an attribute
of newer AWS providers only, else it is the provider's or inside a zone or an ARN.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from finops.frames.check_words import check_whole_text
from finops.frames.cost_items import CheckInputError, Reading, Resource
from finops.frames.usage_file import Usage, word_of
from finops.providers.terraform.aws import TAGGABLE, side_of
from finops.providers.terraform.references import Configuration
from finops.providers.terraform.values import Mark, Values, marked
from finops.text.addresses import masked

MAX_BYTES = 32 * 1024 * 1024
MAX_RESOURCES = 20_000
ACTIONS = {
    ("no-op",): "no-op",
    ("read",): "read",
    ("create",): "create",
    ("update",): "update",
    ("delete",): "delete",
    ("delete", "create"): "replace",
    ("create", "delete"): "replace",
    ("forget",): "no-op",  # stays as it is, only out of Terraform's sight
    ("create", "forget"): "create",
}


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def parse_json(content: bytes, *, file: str, most: int = MAX_BYTES) -> Any:
    """A JSON document without NaN and Infinity. Raises CheckInputError."""
    if len(content) > most:
        raise CheckInputError(f"larger than {most >> 20} MiB", file=file)
    try:
        text = content.decode("utf-8-sig")
        found = json.loads(text, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise CheckInputError(
            "not UTF-8 text; is it the binary plan? Use terraform show -json", file=file
        ) from error
    except RecursionError as error:
        raise CheckInputError("nested too deep", file=file) from error
    except ValueError as error:
        raise CheckInputError(f"not JSON: {error}", file=file) from error
    if "\\ud" in text or "\\uD" in text or "\\u0000" in text:
        check_whole_text(found, file=file)
    return found


def read_plan(content: bytes, *, file: str, usage: Usage) -> Reading:
    """The resources of a plan. Raises CheckInputError (file, address, field, reason)."""
    return plan_reading(parse_json(content, file=file), file=file, usage=usage)


def plan_reading(document: Any, *, file: str, usage: Usage) -> Reading:
    """The resources of a parsed plan. Raises CheckInputError."""
    changes = _changes(document, file)
    configuration = Configuration(document)
    assumed: dict[str, None] = {}
    raw, dropped = _marked_changes(changes, file, configuration)
    configuration.learn({address: sides for address, _kind, _action, sides in raw})
    found: list[Resource] = []
    try:
        for address, kind, action, sides in raw:
            said = usage.of(address)
            made = [
                None if values is None else side_of(
                    kind, values, said=said, assumed=assumed, configuration=configuration, after=after,
                    region=_region(values, configuration, address) or word_of(said, "region"),
                )
                for values, after in ((sides[0], False), (sides[1], True))
            ]  # fmt: skip
            before, after_side = made
            found.append(Resource(masked(address), kind, action, before, after_side, kind in TAGGABLE))
    except RecursionError as error:
        raise CheckInputError("nested too deep", file=file) from error
    found.sort(key=lambda one: one.address)
    return Reading(tuple(found), tuple(assumed), dropped, has_base=True)


def _changes(document: Any, file: str) -> list[Any]:
    if not isinstance(document, dict):
        raise CheckInputError("not an object", file=file)
    version = document.get("format_version")
    if not isinstance(version, str) or version.split(".")[0] not in {"0", "1"}:
        raise CheckInputError(
            "not the JSON form of a plan (terraform show -json), or of an unknown version",
            file=file, field="format_version",
        )  # fmt: skip
    if "resource_changes" not in document and "values" in document:
        raise CheckInputError("this is a state, not a plan", file=file, field="resource_changes")
    if document.get("errored") is True:
        raise CheckInputError("the plan ended with an error and is not complete", file=file, field="errored")
    changes = document.get("resource_changes", [])
    if not isinstance(changes, list):
        raise CheckInputError("not a list", file=file, field="resource_changes")
    if len(changes) > MAX_RESOURCES:
        raise CheckInputError(f"more than {MAX_RESOURCES} resources", file=file, field="resource_changes")
    return changes


Sides = tuple[Values | None, Values | None]


def _marked_changes(
    changes: list[Any], file: str, configuration: Configuration
) -> tuple[list[tuple[str, str, str, Sides]], int]:
    """(address, type, action, before and after) of managed resources, and how many secrets were dropped."""
    found: list[tuple[str, str, str, Sides]] = []
    seen: set[str] = set()
    count = 0
    for i, entry in enumerate(changes):
        place = f"resource_changes[{i}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("change"), dict):
            raise CheckInputError("not a change of a resource", file=file, address=place, field="change")
        address, kind, change = entry.get("address"), entry.get("type"), entry["change"]
        if not isinstance(address, str) or not isinstance(kind, str) or not address or len(address) > 1000:
            raise CheckInputError("has no address or type", file=file, address=place, field="address")
        if entry.get("mode") == "data":
            continue
        if isinstance(entry.get("deposed"), str):
            address = f"{address} (deposed {entry['deposed'][:20]})"
        if address in seen:
            raise CheckInputError("is there twice", file=file, address=masked(address), field="address")
        seen.add(address)
        action = _action(change, file, masked(address))
        if action == "read":
            continue
        sides, dropped = _sides(change, action, file, masked(address))
        count += dropped
        found.append((address, kind, action, sides))
    return found, count


def _action(change: Mapping[str, Any], file: str, address: str) -> str:
    actions = change.get("actions")
    key = tuple(actions) if isinstance(actions, list) and all(isinstance(a, str) for a in actions) else ()
    if key not in ACTIONS:
        raise CheckInputError(f"unknown: {str(actions)[:60]}", file=file, address=address, field="actions")
    return ACTIONS[key]


def _sides(change: Mapping[str, Any], action: str, file: str, address: str) -> tuple[Sides, int]:
    made: list[Values | None] = []
    count = 0
    for name in ("before", "after"):
        value = change.get(name)
        if (name == "before" and action == "create") or (name == "after" and action == "delete"):
            made.append(None)
            continue
        try:
            secret = change.get(f"{name}_sensitive")
            inner, dropped = marked(value, change.get("after_unknown") if name == "after" else None, secret)
        except RecursionError as error:
            raise CheckInputError("nested too deep", file=file, address=address, field=name) from error
        count += dropped
        if isinstance(inner, Mark):
            inner = {}
        if not isinstance(inner, dict):
            raise CheckInputError(f"missing for {action}", file=file, address=address, field=name)
        made.append(Values(inner, file=file, address=address))
    return (made[0], made[1]), count


def _region(values: Values, configuration: Configuration, address: str) -> str:
    own = values.raw("region")
    if isinstance(own, str) and own:
        return own
    zone = values.raw("availability_zone")
    if isinstance(zone, str) and len(zone) > 2 and zone[-1].isalpha() and zone[-2].isdigit():
        return zone[:-1]
    zones = values.raw("availability_zones")
    if isinstance(zones, list) and zones and isinstance(zones[0], str) and zones[0][-1:].isalpha():
        return zones[0][:-1]
    arn = values.raw("arn")
    if isinstance(arn, str) and len(parts := arn.split(":")) > 4 and parts[3]:
        return parts[3]
    return configuration.region(address)
