"""Zone names belong to an account; the id is the place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from apps.catalog.models import Region, Zone
from apps.catalog.selectors import zone_ids, zone_names
from apps.catalog.services import zones_store

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def store(account: str, zones: dict[str, str]) -> None:
    zones_store(
        provider="aws",
        account_id=account,
        region="us-east-1",
        region_name="US East (N. Virginia)",
        zones=zones,
        seen_at=NOW,
    )


def test_two_accounts_may_name_the_same_place_differently() -> None:
    store("111122223333", {"us-east-1a": "use1-az4", "us-east-1b": "use1-az6"})
    store("444455556666", {"us-east-1a": "use1-az6"})
    assert zone_ids(account_id="444455556666") == {"us-east-1a": "use1-az6"}
    assert zone_names() == {
        "use1-az4": [("111122223333", "us-east-1a")],
        "use1-az6": [("111122223333", "us-east-1b"), ("444455556666", "us-east-1a")],
    }
    assert Region.objects.get().name == "US East (N. Virginia)"


def test_a_map_that_is_told_again_is_one_map_even_when_names_swap() -> None:
    store("111122223333", {"us-east-1a": "use1-az4", "us-east-1b": "use1-az6"})
    store("111122223333", {"us-east-1a": "use1-az6", "us-east-1b": "use1-az4"})
    assert zone_ids(account_id="111122223333", region="us-east-1") == {
        "us-east-1a": "use1-az6",
        "us-east-1b": "use1-az4",
    }
    assert Zone.objects.count() == 2
