"""Stored advice: to the letter, for so long, and with the prices it rests on."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.accounts.actors import Actor
from apps.accounts.services import audit_record
from apps.ingest import selectors, services
from apps.ingest.models import IngestRun
from apps.ingest.services import upkeep
from apps.recommendations.models import Advice
from apps.recommendations.services import advise_launch
from apps.recommendations.services.retention import advice_forget, advice_snapshots, cited_advice
from apps.recommendations.tasks import recommendations_advice_forget
from finops.beat import SCHEDULE
from finops.lake import SPOT_CHANGES
from tests.apps.recommendations.conftest import T0, row, verb
from tests.apps.recommendations.test_launch_advice_is_one_answer import ASKED, words

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def kept(digest: str, **more: Any) -> Advice:
    given: dict[str, Any] = {
        "digest": digest, "at": NOW, "verdict": "now", "sentence": "s", "parameters": {},
        "document": {"verdict": "now"}, "engine": "0", **more,
    }  # fmt: skip
    return Advice.objects.create(**given)


def test_page_api_and_command_get_the_document_letter_by_letter(
    market: datetime, capsys: pytest.CaptureFixture[str]
) -> None:
    first = json.dumps(advise_launch(**ASKED, at=market))
    cache.clear()
    assert json.dumps(advise_launch(**ASKED, at=market)) == first
    assert json.dumps(verb(capsys, "advise_launch", *words(market))) == first
    with connection.cursor() as cursor:
        cursor.execute("SELECT document FROM recommendations_advice")
        assert json.dumps(json.loads(cursor.fetchone()[0])) == first


@pytest.mark.parametrize(
    "document",
    [{"b": 1, "a": {"z": None, "c": [0.1, 16.2]}}, {"zh": "等待", "empty": {}}, {"2": "a", "10": "b"}],
)
def test_a_document_comes_back_in_its_order(document: dict[str, Any]) -> None:
    row_ = kept("a" * 64, document=document)
    row_.refresh_from_db()
    assert json.dumps(row_.document) == json.dumps(document)


@pytest.mark.django_db(transaction=True)
def test_the_column_changes_its_type_and_back_with_rows_in_place() -> None:
    before, after = ("recommendations", "0001_initial"), ("recommendations", "0002_document_to_the_letter")
    document = {"b": {"y": 1.5, "x": "等"}, "a": [None, True]}
    try:
        old = MigrationExecutor(connection).migrate([before]).apps.get_model("recommendations", "Advice")
        old.objects.create(
            digest="b" * 64, at=NOW, verdict="now", sentence="s", parameters={}, document=document,
            engine="0",
        )  # fmt: skip
        MigrationExecutor(connection).migrate([after])
        assert Advice.objects.get().document == document
        Advice.objects.update(document={"later": 1})
        back = MigrationExecutor(connection).migrate([before]).apps.get_model("recommendations", "Advice")
        assert back.objects.get().document == {"later": 1}
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert Advice.objects.get().document == {"later": 1}


def test_old_advice_goes_what_is_cited_stays(settings: Any) -> None:
    rows = {name: kept(name * 64) for name in "abcd"}
    for name, days in {"a": 401, "b": 399, "c": 401, "d": 401}.items():
        Advice.objects.filter(pk=rows[name].pk).update(created_at=NOW - timedelta(days=days))
    audit_record(organisation=None, actor=Actor.system("t"), action="advice.accept", target=rows["c"])
    cited_advice.append(lambda: {rows["d"].pk})
    try:
        assert advice_forget(now=NOW, keep_days=0) == 0
        assert advice_forget(now=NOW, keep_days=402) == 0
        assert Advice.objects.count() == 4
        assert advice_forget(now=NOW, keep_days=400) == 1
        assert set(Advice.objects.values_list("digest", flat=True)) == {n * 64 for n in "bcd"}
        assert advice_forget(now=NOW, keep_days=400) == 0
    finally:
        cited_advice.pop()
    settings.ADVICE_KEEP_DAYS = 0
    recommendations_advice_forget()
    assert Advice.objects.count() == 3
    settings.ADVICE_KEEP_DAYS = 1
    Advice.objects.update(created_at=NOW - timedelta(days=900))
    recommendations_advice_forget()
    assert set(Advice.objects.values_list("digest", flat=True)) == {"c" * 64}


def test_the_clock_forgets_advice_before_it_tidies_the_lake() -> None:
    times = {
        entry["task"]: (min(entry["schedule"].hour), min(entry["schedule"].minute))
        for entry in SCHEDULE.values()
        if hasattr(entry["schedule"], "hour")
    }
    assert times["recommendations.advice_forget"] < times["ingest.lake_upkeep"]


def still_there(snapshot: int) -> bool:
    """Asked of the catalog: the lake keeps plans of its own."""
    return selectors.lake()._catalog.load_table(SPOT_CHANGES).snapshot_by_id(snapshot) is not None


def test_the_lake_keeps_what_advice_cites_and_forgets_the_rest(load: Callable[..., IngestRun]) -> None:
    assert advice_snapshots in upkeep.cited_snapshots

    def loaded(days: int) -> int:
        rows = [
            row(T0 + timedelta(days=days, hours=5), f"1.{days:04d}", zone, "m5.large")
            for zone in ("us-east-1a", "us-east-1b")
        ]
        load(rows, request_start=T0 + timedelta(days=days), request_end=T0 + timedelta(days=days + 1))
        return selectors.current_snapshots()[SPOT_CHANGES]

    uncited, cited = loaded(0), loaded(1)
    answer = advise_launch(
        hours=1.0, types=["m5.large"], regions=["us-east-1"], product="Linux/UNIX", slack_hours=0.0,
        at=T0 + timedelta(days=2),
    )  # fmt: skip
    assert answer["evidence"]["snapshots"][SPOT_CHANGES] == str(cited)
    newest = loaded(2)
    assert services.lake_expire(now=datetime.now(UTC)) == 0

    in_two_months = datetime.now(UTC) + timedelta(days=60)
    assert services.lake_expire(now=in_two_months) >= 1
    lake = selectors.lake()
    assert [still_there(one) for one in (uncited, cited, newest)] == [False, True, True]
    for snapshot, changes in ((cited, 4), (newest, 6)):
        with lake.connect({SPOT_CHANGES: snapshot}) as con:
            assert con.execute("SELECT count(*) FROM prices.spot_changes").fetchone() == (changes,)
    Advice.objects.all().delete()
    assert services.lake_expire(now=in_two_months) >= 1
    assert [still_there(one) for one in (cited, newest)] == [False, True]
