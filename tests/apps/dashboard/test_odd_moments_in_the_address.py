"""Moments at the ends of the calendar and places without an answer are no errors of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from apps.ingest import services
from apps.ingest.models import IngestRun
from tests.support.spot import answer, row

SignIn = Callable[..., Client]
RUN = "/run/?hours=8&types=m5.large&regions=us-east-1&slack_hours=4&interruptible=on"


@pytest.mark.parametrize(
    "moment", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59-14:00"]
)
def test_a_moment_without_prices_falls_back(moment: str, sign_in: SignIn, loaded: IngestRun) -> None:
    assert sign_in("viewer").get(f"/market/?at={moment}").status_code == 200


@pytest.mark.parametrize(
    "entry",
    ["earliest=9999-12-31T23:59:59Z", "earliest=0001-01-01T00:00:00%2B14:00", "checkpoint_minutes=1e26"],
)
def test_an_entry_out_of_this_world_is_named(entry: str, sign_in: SignIn, loaded: IngestRun) -> None:
    response = sign_in("viewer").get(f"{RUN}&{entry}")
    assert response.status_code == 422
    assert "1 entry has to change before there is an answer." in response.content.decode()


def test_a_region_of_a_single_observation_does_not_break_the_example(
    sign_in: SignIn, loaded: IngestRun, tmp_path: Path
) -> None:
    """One price is known for no length of time, so nothing can be run on it."""
    path = tmp_path / "one.json"
    path.write_text(answer(row("0.9", "2020-02-01T00:00:00.000Z", "af-south-1a")))
    assert services.prices_import(source=str(path), provider="aws").stored == 1
    response = sign_in("viewer").get("/run/")
    assert response.status_code == 200
    assert "af-south-1" not in response.content.decode()
