"""A browser of each role, and five made-up weeks of prices in a lake of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from apps.accounts.models import Membership, Organisation, User
from apps.ingest import services
from apps.ingest.models import IngestRun
from tests.support.lake import fresh_lake
from tests.support.spot import Row, answer, row

START = datetime(2020, 1, 6, tzinfo=UTC)
WEEKS = 5
LEVELS = {"us-east-1a": 1.00, "us-east-1b": 1.20, "us-west-2a": 0.90}


@pytest.fixture(autouse=True)
def _fresh_cache() -> None:
    cache.clear()


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


@pytest.fixture
def sign_in(organisation: Organisation) -> Callable[..., Client]:
    """`sign_in("viewer")` is a browser of a person with this role."""

    def make(role: str, **options: Any) -> Client:
        user = User.objects.create_user(f"{role}@example.test", "correct horse battery", name="Ada Byron")
        Membership.objects.create(user=user, organisation=organisation, role=role)
        client = Client(**options)
        client.force_login(user)
        return client

    return make


@pytest.fixture
def empty_lake(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder


def price_rows() -> list[Row]:
    """A change every six hours, a tenth of a percent up and down, in three zones of two regions."""
    rows = []
    for zone, level in LEVELS.items():
        for step in range(WEEKS * 28 + 1):
            at = START + timedelta(hours=6 * step)
            price = level * (1.001 if step % 2 else 1.0)
            rows.append(row(f"{price:.4f}", at.strftime("%Y-%m-%dT%H:%M:%S.000Z"), zone, "m5.large"))
    return rows


@pytest.fixture
def loaded(empty_lake: Path, tmp_path: Path) -> IngestRun:
    """The rows, and one that is rejected: its text would be a formula in a spreadsheet."""
    path = tmp_path / "prices.json"
    path.write_text(answer(*price_rows(), row("=1+1", "2020-01-07T00:00:00.000Z", kind="m5.large")))
    run = services.prices_import(source="prices.json", location=str(path), provider="aws")
    assert (run.state, run.rejected) == ("finished", 1)
    return run
