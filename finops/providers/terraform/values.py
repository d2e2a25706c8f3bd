"""Values of one side of a change, with what is unknown or sensitive marked in the place of the value.

`terraform show -json` gives `before`/`after` and beside them trees of the same shape: `after_unknown` is true
where the value is known only after apply, `before_sensitive`/`after_sensitive` where it is a secret. Secrets
are taken out here, before anything else reads them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from finops.frames.cost_items import CheckInputError


class Mark:
    """A place without a value."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __repr__(self) -> str:
        return f"<{self.word}>"


UNKNOWN: Final = Mark("known only after apply")
SENSITIVE: Final = Mark("marked sensitive")
MAX_DEPTH = 60


def marked(value: Any, unknown: Any, sensitive: Any) -> tuple[Any, int]:
    """The value with marks, and the number of secrets that were taken out."""
    if sensitive is True:
        return SENSITIVE, 1
    if unknown is True:
        return UNKNOWN, 0
    if not unknown and not sensitive:
        return value, 0  # nothing inside is marked, which is so for most of a plan
    if isinstance(value, dict) or isinstance(unknown, dict):
        found: dict[str, Any] = dict(value) if isinstance(value, dict) else {}
        unknowns = unknown if isinstance(unknown, dict) else {}
        secrets = sensitive if isinstance(sensitive, dict) else {}
        count = 0
        for name in [*unknowns, *(name for name in secrets if name in found and name not in unknowns)]:
            found[name], dropped = marked(found.get(name), unknowns.get(name), secrets.get(name))
            count += dropped
        return found, count
    if isinstance(value, list) or isinstance(unknown, list):
        row: list[Any] = value if isinstance(value, list) else []
        unknowns_row = unknown if isinstance(unknown, list) else []
        secrets_row = sensitive if isinstance(sensitive, list) else []
        parts = [
            marked(_at(row, i), _at(unknowns_row, i), _at(secrets_row, i))
            for i in range(max(len(row), len(unknowns_row)))
        ]
        return [part for part, _ in parts], sum(dropped for _, dropped in parts)
    return value, 0


def _at(row: list[Any], i: int) -> Any:
    return row[i] if i < len(row) else None


class Values:
    """Reads of one resource's values; errors name the address and the field."""

    def __init__(self, values: dict[str, Any], *, file: str, address: str) -> None:
        self._values, self.file, self.address = values, file, address

    def raw(self, name: str) -> Any:
        """The value, a Mark, or None where there is none."""
        return self._values.get(name)

    def refused(self, name: str, reason: str) -> CheckInputError:
        """The error that names file, address and field."""
        return CheckInputError(reason, file=self.file, address=self.address, field=name)

    def text(self, name: str) -> str | Mark | None:
        """A text; an empty one is none."""
        value = self.raw(name)
        if value is None or value == "" or isinstance(value, Mark):
            return value or None
        if not isinstance(value, str) or len(value) > 2000:
            raise self.refused(name, "not a text")
        return value

    def number(self, name: str) -> Decimal | Mark | None:
        """A number of 0 or more; Terraform gives some as text."""
        value = self.raw(name)
        if value is None or value == "" or isinstance(value, Mark):
            return None if value == "" else value
        if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
            raise self.refused(name, "not a number")
        try:
            found = Decimal(value if isinstance(value, str) else repr(value))
        except ArithmeticError as error:
            raise self.refused(name, f"not a number: {str(value)[:40]!r}") from error
        if not found.is_finite() or found < 0 or found > Decimal(10) ** 12:
            raise self.refused(name, "out of range")
        return found

    def flag(self, name: str) -> bool | Mark:
        """True or false; none is false."""
        value = self.raw(name)
        if isinstance(value, Mark):
            return value
        if value not in (None, True, False, "true", "false", ""):
            raise self.refused(name, "not true or false")
        return value in (True, "true")

    def blocks(self, name: str) -> list[Values] | Mark:
        """Nested blocks."""
        value = self.raw(name)
        if isinstance(value, Mark):
            return value
        rows = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
        if value is not None and not isinstance(value, list | dict):
            raise self.refused(name, "not a block")
        found = []
        for i, row in enumerate(rows):
            if row is None:
                continue
            if isinstance(row, Mark):
                return row
            if not isinstance(row, dict):
                raise self.refused(f"{name}[{i}]", "not a block")
            found.append(Values(row, file=self.file, address=f"{self.address}.{name}[{i}]"))
        return found

    def block(self, name: str) -> Values | Mark | None:
        """The first nested block, None for none."""
        found = self.blocks(name)
        if isinstance(found, Mark):
            return found
        return found[0] if found else None
