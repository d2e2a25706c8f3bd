"""The stated default of how long a day of a bill may still grow."""

from __future__ import annotations

from finops.providers.settling import settling


def test_each_default_has_a_date_and_a_source() -> None:
    found = settling("aws")
    assert (found.days, found.as_of) == (2, "2026-11-30")
    assert "AWS Data Exports" in found.source


def test_a_provider_without_a_statement_gets_the_longest() -> None:
    assert settling("elsewhere").days == max(settling(p).days for p in ("aws", "azure", "gcp"))
