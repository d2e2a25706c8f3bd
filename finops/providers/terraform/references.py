"""The plan's `configuration`: the provider's region, and which resource a block refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from finops.providers.terraform.values import Values

_INDEX = re.compile(r"\[(?:[0-9]+|\"(?:[^\"\\]|\\.)*\")\]")
_DEPTH = 20
Sides = tuple[Values | None, Values | None]


def _without_indexes(address: str) -> str:
    """`module.a["x"].aws_instance.b[0]` is configured as `module.a.aws_instance.b`."""
    return _INDEX.sub("", address)


class Configuration:
    """Reads of `configuration` and `variables`; what is not there or is no such thing is not found.

    A variable that the configuration calls sensitive is never read.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        configuration = _mapping(document.get("configuration"))
        root = _mapping(configuration.get("root_module"))
        self._providers = _mapping(configuration.get("provider_config"))
        self._variables = _mapping(document.get("variables"))
        self._declared = _mapping(root.get("variables"))
        self._resources: dict[str, Mapping[str, Any]] = dict(_resources(root, "", 0))
        self._sides: Mapping[str, Sides] = {}
        self._by_plain: dict[str, list[str]] = {}

    def learn(self, sides: Mapping[str, Sides]) -> None:
        """The values of the plan, by address."""
        self._sides = sides
        for address in sides:
            self._by_plain.setdefault(_without_indexes(address), []).append(address)

    def region(self, address: str) -> str:
        """The region of the provider that a resource uses, an empty text where it is not written down."""
        resource = self._resources.get(_without_indexes(address.split(" (deposed")[0]), {})
        key = str(resource.get("provider_config_key") or "aws")
        for name in (key, key.rsplit(":", 1)[-1]):
            expressions = _mapping(_mapping(self._providers.get(name)).get("expressions"))
            region = _mapping(expressions.get("region"))
            if isinstance(region.get("constant_value"), str):
                return str(region["constant_value"])
            for reference in _texts(region.get("references")):
                if reference.startswith("var."):
                    return self._variable(reference.removeprefix("var."))
        return ""

    def _variable(self, name: str) -> str:
        declared = _mapping(self._declared.get(name))
        if declared.get("sensitive") is True:
            return ""
        value = _mapping(self._variables.get(name)).get("value", declared.get("default"))
        return value if isinstance(value, str) else ""

    def referred(self, address: str, block: str, kind: str, *, after: bool) -> Values | None:
        """The values of the resource of type `kind` that `block` of a resource refers to.

        The same index is taken where there is one (count with count), else the first.
        """
        plain = _without_indexes(address)
        module = plain.rpartition(".")[0].rpartition(".")[0]
        expressions = _mapping(self._resources.get(plain, {}).get("expressions"))
        for reference in _references(expressions.get(block), 0):
            parts = reference.split(".")
            if len(parts) < 2 or parts[0] != kind:
                continue
            target = ".".join(part for part in (module, kind, _without_indexes(parts[1])) if part)
            matches = self._by_plain.get(target, [])
            if not matches:
                continue
            index = address[len(address.rstrip("]").rpartition("[")[0]) :] if address.endswith("]") else ""
            exact = [one for one in matches if index and one.endswith(index)]
            return self._sides[(exact or matches)[0]][1 if after else 0]
        return None

    def named(self, kind: str, field: str, value: str, *, after: bool) -> Values | None:
        """The resource of a type whose field has this value."""
        for plain, addresses in self._by_plain.items():
            if not f".{plain}".rpartition(".")[0].endswith(f".{kind}"):
                continue
            for address in addresses:
                values = self._sides[address][1 if after else 0]
                if values is not None and values.raw(field) == value:
                    return values
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []


def _resources(module: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = module.get("resources")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and isinstance(row.get("address"), str):
            yield prefix + row["address"], row
    if depth < _DEPTH:
        for name, call in _mapping(module.get("module_calls")).items():
            inner = _mapping(_mapping(call).get("module"))
            yield from _resources(inner, f"{prefix}module.{name}.", depth + 1)


def _references(value: Any, depth: int) -> Iterator[str]:
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for part in value:
            yield from _references(part, depth + 1)
    elif isinstance(value, dict):
        yield from _texts(value.get("references"))
        for name, part in value.items():
            if name not in {"references", "constant_value"}:
                yield from _references(part, depth + 1)
