"""After a load the pages are computed ahead of their readers; what is kept is one organisation's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from kombu.exceptions import OperationalError

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.billing.services.rates import rate_add, rate_remove
from apps.dashboard import tasks, warm
from apps.ingest import finished
from apps.ingest.models import IngestRun, RunKind
from apps.prices.selectors import books
from apps.recommendations.models import Advice
from apps.workloads.models import Workload
from tests.apps.recommendations.test_field_cases_of_prices import list_price

Make = Callable[..., Client]
RUN = "/run/?hours=8&types=m5.large&regions=us-east-1&home_zone=us-east-1b&slack_hours=24&interruptible=on"


@pytest.fixture(autouse=True)
def _warm(settings: Any) -> None:
    settings.WARM_UP_SECONDS = 60


def saved_workload(organisation: Organisation) -> Workload:
    return Workload.objects.create(
        organisation=organisation, name="Nightly", provider="aws", hours=8, types=["m5.large"],
        regions=["us-east-1"], product="Linux/UNIX", slack_hours=4, interruptible=True,
    )  # fmt: skip


def test_the_first_reader_finds_everything_kept(
    loaded: IngestRun, sign_in: Make, organisation: Organisation
) -> None:
    client = sign_in("viewer")
    workload = saved_workload(organisation)
    assert warm.warm_up(run_id=loaded.pk) == 3
    rows = Advice.objects.count()
    assert rows == 2
    books._kept.clear()
    for address in ("/market/", "/run/", f"/run/?workload={workload.pk}"):
        with CaptureQueriesContext(connection) as seen:
            assert client.get(address, follow=True).status_code == 200
        assert not [q for q in seen.captured_queries if "recommendations_advice" in q["sql"]]
    assert Advice.objects.count() == rows


def test_a_repeat_and_an_older_run_do_nothing(
    loaded: IngestRun, sign_in: Make, organisation: Organisation, settings: Any
) -> None:
    sign_in("viewer")
    warm.warm_up(run_id=loaded.pk)
    kept = set(Advice.objects.values_list("pk", flat=True))
    warm.warm_up(run_id=loaded.pk)
    assert set(Advice.objects.values_list("pk", flat=True)) == kept
    assert warm.warm_up(run_id=loaded.pk + 1000) == 0
    settings.WARM_UP_SECONDS = 0
    assert warm.warm_up(run_id=loaded.pk) == 0


def test_a_live_collection_warms_prices_and_gives_no_advice(loaded: IngestRun, sign_in: Make) -> None:
    sign_in("viewer")
    IngestRun.objects.filter(pk=loaded.pk).update(kind=RunKind.LIVE)
    assert warm.warm_up(run_id=loaded.pk) == 1
    assert not Advice.objects.exists()


def test_it_stops_when_its_time_is_over(loaded: IngestRun, sign_in: Make) -> None:
    sign_in("viewer")
    ticks = iter([0.0, 1.0, 100.0, 200.0])
    assert warm.warm_up(run_id=loaded.pk, clock=lambda: next(ticks)) == 1


def test_a_page_that_fails_is_left_to_its_reader(
    loaded: IngestRun, sign_in: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in("viewer")

    def broken(_request: Any) -> Any:
        raise RuntimeError("made up")

    monkeypatch.setattr(warm, "market_page", broken)
    assert warm.warm_up(run_id=loaded.pk) == 1


def test_languages_and_zones_of_the_readers_each_have_their_pages(
    loaded: IngestRun, organisation: Organisation
) -> None:
    for number, (language, zone) in enumerate([("", "UTC"), ("zh-hans", "Asia/Shanghai"), ("", "UTC")]):
        user = User.objects.create_user(f"u{number}@example.test", language=language, time_zone=zone)
        Membership.objects.create(user=user, organisation=organisation, role="viewer")
    assert warm.warm_up(run_id=loaded.pk) == 4
    assert len(warm._readers()) == 2


@pytest.mark.django_db(transaction=True)
def test_it_is_queued_once_the_run_is_stored(
    loaded: IngestRun, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    queued: list[Any] = []
    monkeypatch.setattr(
        tasks.dashboard_warm_up, "apply_async", lambda args, **options: queued.append((args, options))
    )
    finished.tell(loaded.pk)
    assert queued == [((loaded.pk,), {"expires": 600})]
    settings.WARM_UP_SECONDS = 0
    finished.tell(loaded.pk)
    assert len(queued) == 1


def test_without_a_broker_the_load_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_args: Any, **_options: Any) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(tasks.dashboard_warm_up, "apply_async", away)
    tasks.warm_up_hand_out(1)


def test_a_contract_is_seen_by_its_own_organisation_only_and_at_once(
    loaded: IngestRun, sign_in: Make, organisation: Organisation
) -> None:
    assert loaded.known_to is not None
    list_price("m5.large", "2.00", loaded.known_to)
    mine = sign_in("viewer")
    other = Organisation.objects.create(name="Other", slug="other")
    user = User.objects.create_user("cy@example.test")
    Membership.objects.create(user=user, organisation=other, role="viewer")
    theirs = Client()
    theirs.force_login(user)
    row = rate_add(
        organisation=organisation, actor=Actor.system("test"), provider="aws", service="AmazonEC2",
        valid_from="2020-01-01", source="secret contract", percent="50",
    )  # fmt: skip
    assert "8.00" in mine.get(RUN).content.decode()
    assert "16.00" in theirs.get(RUN).content.decode()
    assert "16.00" not in mine.get(RUN).content.decode()
    rate_remove(row=row, actor=Actor.system("test"))
    assert "16.00" in mine.get(RUN).content.decode()
