"""YAML of the forms: keys in their order, text that YAML would read as something else in quotes."""

from __future__ import annotations

from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Scripts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    # A block cannot hold tabs at a line's start or blanks at its end; quotes can.
    block = "\n" in value and not any(
        line != line.rstrip() or line.startswith("\t") for line in value.split("\n")
    )
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if block else None)


_Dumper.add_representer(str, _text)


def dumped(document: dict[str, Any]) -> str:
    """The document; reading it back gives the same values."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
