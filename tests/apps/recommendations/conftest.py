"""Loaded prices for the tests of advice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command

from apps.ingest import services
from apps.ingest.models import IngestRun
from tests.support.lake import fresh_lake

T0 = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _lake(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    cache.clear()
    with fresh_lake(settings, tmp_path / "lake"):
        yield


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., IngestRun]:
    """Imports rows of the provider's API; `options` as of `ImportOptions`."""

    def run(rows: list[dict[str, str]], **options: Any) -> IngestRun:
        path = tmp_path / f"prices-{len(list(tmp_path.glob('prices-*')))}.json"
        path.write_text(json.dumps({"SpotPriceHistory": rows}))
        done = services.prices_import(
            source=str(path), provider="aws", options=services.ImportOptions(**options)
        )
        assert done.state in {"finished", "refused"}, done.error
        return done

    return run


def row(at: str | datetime, price: str, zone: str, kind: str, product: str = "Linux/UNIX") -> dict[str, str]:
    """One row as the API gives it."""
    moment = at if isinstance(at, str) else at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "Timestamp": moment,
        "SpotPrice": price,
        "AvailabilityZone": zone,
        "InstanceType": kind,
        "ProductDescription": product,
    }


@pytest.fixture
def market(load: Callable[..., IngestRun]) -> datetime:
    """Seventy days: 1b costs 1.25 of 1a, us-west-2a 0.90 of it, each day the same swing. Returns the end."""
    rows, days = [], 70
    for day in range(days):
        level = 1.0 + 0.002 * (day % 5)
        for zone, factor in (("us-east-1a", 1.0), ("us-east-1b", 1.25), ("us-west-2a", 0.9)):
            rows.append(row(T0 + timedelta(days=day, hours=5), f"{level * factor:.4f}", zone, "m5.large"))
    end = T0 + timedelta(days=days)
    load(rows, request_start=T0, request_end=end)
    return end


def verb(capsys: pytest.CaptureFixture[str], name: str, *words: str) -> dict[str, Any]:
    """The document that a verb prints, alone on standard output."""
    capsys.readouterr()
    call_command(name, *words, "--json")
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document
