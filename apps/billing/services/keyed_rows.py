"""Small tables that people keep: one row a key, corrected in place; each change leaves a row in the audit
trail. What a table is made of stands in a `KeyedTable`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from finops.text.small_tables import Mistake, Row, TableError

Facts = Callable[[Any], dict[str, Any]]
Fields = dict[str, Any]
STORED, CHANGED, SAME = "stored", "changed", "same"


@dataclass(frozen=True)
class KeyedTable:
    """`name` in the audit trail ("exchange_rate"), the fields that make a row's `key`, the other ones, and
    what the trail keeps of a row. `stamp`: values that a correction sets beside them.
    """

    name: str
    model: type[models.Model]
    key: tuple[str, ...]
    rest: tuple[str, ...]
    facts: Facts
    stamp: Mapping[str, Any]


def row_set(table: KeyedTable, organisation: Organisation, actor: Actor, fields: Fields) -> tuple[Any, str]:
    """(the row, "stored" | "changed" | "same")."""
    key = {name: fields[name] for name in table.key}
    rest = {name: fields[name] for name in table.rest}
    with transaction.atomic():
        rows: Any = table.model._default_manager.select_for_update()
        row, made = rows.get_or_create(organisation=organisation, **key, defaults=rest)
        before = None if made else table.facts(row)
        if before is not None:
            for name, value in rest.items():
                setattr(row, name, value)
            if table.facts(row) == before:
                return row, SAME
            for name, value in table.stamp.items():
                setattr(row, name, value)
            row.save(update_fields=[*rest, *table.stamp])
            row.refresh_from_db()
        audit_record(
            organisation=organisation, actor=actor, action=f"{table.name}.set", target=row, before=before,
            after=table.facts(row),
        )  # fmt: skip
    return row, STORED if made else CHANGED


def row_remove(
    name: str, facts: Facts, row: Any, actor: Actor, also: Callable[[], Any] | None = None
) -> bool:
    """Take out a row; False when somebody else has done it already. `also` belongs to the same change."""
    with transaction.atomic():
        found = type(row)._default_manager.select_for_update().filter(pk=row.pk).first()
        if found is None:
            return False
        audit_record(
            organisation=found.organisation, actor=actor, action=f"{name}.remove", target=found,
            before=facts(found),
        )  # fmt: skip
        found.delete()
        if also is not None:
            also()
    return True


def rows_clean(
    rows: Sequence[Row],
    *,
    file: str,
    clean: Callable[[Row], Fields],
    key: tuple[str, ...],
    clash: tuple[str, str],
) -> list[Fields]:
    """The fields of each key once. Raises TableError with all mistakes; `clash`: field and reason of a row
    that gives a key other values.
    """
    cleaned: dict[tuple[Any, ...], Fields] = {}
    mistakes: list[Mistake] = []
    for row in rows:
        try:
            fields = clean(row)
        except ValidationError as error:
            mistakes += mistakes_of(file, row, error)
            continue
        if cleaned.setdefault(tuple(fields[name] for name in key), fields) != fields:
            mistakes.append(Mistake(file, row.number, *clash))
    if mistakes:
        raise TableError(mistakes)
    return list(cleaned.values())


def mistakes_of(file: str, row: Row, error: ValidationError) -> list[Mistake]:
    """One a field."""
    return [Mistake(file, row.number, name, " ".join(texts)) for name, texts in error.message_dict.items()]
