"""Reading the hash chain of the audit trail: whether it holds, and its entries to check them elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import connection

from apps.accounts.models import Organisation

_STATE = """
WITH chain AS (
    SELECT s.number, s.hash, s.previous = coalesce(lag(s.hash) OVER w, repeat('0', 64))
        AND s.number = coalesce(lag(s.number) OVER w, 0) + 1
        AND s.hash = accounts_audit_hash(s.previous, accounts_audit_text(e))
        AND e.organisation_id IS NOT DISTINCT FROM s.organisation_id AS holds
    FROM accounts_auditseal s JOIN accounts_auditentry e ON e.id = s.entry_id
    WHERE s.organisation_id = %(id)s WINDOW w AS (ORDER BY s.number)
)
SELECT (SELECT count(*) FROM accounts_auditentry WHERE organisation_id = %(id)s), count(*),
    min(number) FILTER (WHERE NOT holds), (SELECT hash FROM chain ORDER BY number DESC LIMIT 1)
FROM chain
"""
_ROWS = """
SELECT s.number, s.previous, s.hash, accounts_audit_text(e) FROM accounts_auditseal s
JOIN accounts_auditentry e ON e.id = s.entry_id
WHERE s.organisation_id = %s AND s.number > %s ORDER BY s.number LIMIT %s
"""
BATCH = 1000


def chain_state(organisation: Organisation, *, expect: str = "") -> dict[str, Any]:
    """Whether every entry is in the chain as it was written: `{"entries", "sealed", "valid", "broken",
    "head", "expected"}`.

    `broken`: the first number that does not hold. `head` names the whole history: written down elsewhere and
    given as `expect` later, it tells whether the history before it is still the same (`expected`; null where
    nothing was expected). A chain that was made anew from its start cannot be told otherwise.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STATE, {"id": organisation.pk})
        entries, sealed, broken, head = cursor.fetchone()
        known: bool | None = None
        if expect:
            cursor.execute(
                "SELECT EXISTS (SELECT 1 FROM accounts_auditseal WHERE organisation_id = %s AND hash = %s)",
                [organisation.pk, expect],
            )
            known = bool(cursor.fetchone()[0])
    return {
        "entries": entries,
        "sealed": sealed,
        "valid": entries == sealed and broken is None and known is not False,
        "broken": broken,
        "head": head,
        "expected": known,
    }


def chain_rows(organisation: Organisation, *, after: int = 0, limit: int = BATCH) -> list[dict[str, Any]]:
    """Entries from the number after `after` on: `hash` is sha256(previous + line break + text), in hex."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [organisation.pk, after, limit])
        names = ("number", "previous", "hash", "text")
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def chain_all(organisation: Organisation) -> Iterator[dict[str, Any]]:
    """The whole chain, oldest first, a batch at a time."""
    after = 0
    while rows := chain_rows(organisation, after=after):
        yield from rows
        after = rows[-1]["number"]
