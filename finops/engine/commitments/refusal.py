"""Why something is not bought or not sold: a code and the values of its sentence (worded in the apps)."""

from __future__ import annotations

from dataclasses import dataclass

Values = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """`code` names the rule; `values` fill its sentence."""

    code: str
    values: Values = ()

    def value(self, name: str) -> str:
        """The value of that name. KeyError where the sentence has none."""
        return dict(self.values)[name]


def refuse(code: str, **values: object) -> Refusal:
    """A refusal with its values as text."""
    return Refusal(code, tuple((name, str(value)) for name, value in values.items()))
