"""A failing feed says why, on phones too; a run of which nothing was stored does not look half done."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.test import Client

from apps.accounts.models import Organisation
from apps.ingest import services
from apps.ingest.models import FeedState
from apps.ingest.services.live import feed_create

SignIn = Callable[..., Client]
EXPIRED = (
    "The AWS credentials expired while reading Spot prices of eu-west-1, page 1. Renew them (or let the "
    "service use a role), and look at the machine's clock if they are new. AWS says RequestExpired: Gone."
)


def test_a_failing_feed_says_why_once_and_how_many_more(
    sign_in: SignIn, empty_lake: Path, organisation: Organisation
) -> None:
    feed = feed_create(
        name="Europe", regions=["eu-west-1"], interval=timedelta(minutes=15), organisation=organisation
    )
    feed.state = FeedState.FAILING
    feed.last_error = "\n".join([EXPIRED, EXPIRED.replace("eu-west-1", "eu-north-1"), "AWS is gone."])
    feed.save()
    page = sign_in("viewer").get("/data/").content.decode()
    assert page.count("AWS says RequestExpired: Gone. The same or another error in 2 more regions") == 2
    assert "of eu-north-1" not in page
    chinese = sign_in("engineer", headers={"Accept-Language": "zh-hans"}).get("/data/").content.decode()
    assert "另有 2 个区域出现相同或其他错误" in chinese
    assert "The AWS credentials expired" not in chinese


def test_a_run_of_nothing_but_rejections_says_so(
    sign_in: SignIn, empty_lake: Path, tmp_path: Path, organisation: Organisation
) -> None:
    path = tmp_path / "prices.csv"
    head = "Timestamp,AvailabilityZone,InstanceType,ProductDescription,SpotPrice"
    path.write_text(f"{head}\n2026-11-02T00:00:00Z,us-east-1a,m5.large,Linux/UNIX,0\n")
    run = services.prices_import(source=str(path), organisation=organisation)
    assert (run.state, run.rows_read, run.rejected) == ("finished", 1, 1)
    browser = sign_in("viewer")
    for address in ("/data/", f"/data/runs/{run.pk}/"):
        assert "Finished, all rejected" in browser.get(address).content.decode()
