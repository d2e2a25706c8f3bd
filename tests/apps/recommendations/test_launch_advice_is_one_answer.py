"""Launch advice through its ways in: the same document, stored once, wrong input named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import api_key_create
from apps.catalog.models import InstanceType
from apps.ingest.selectors import database_url
from apps.recommendations.models import Advice
from apps.recommendations.services import advise_launch, backtest_launch, backtests
from finops.engine.workload import WorkloadError
from tests.apps.recommendations.conftest import verb
from tests.apps.recommendations.test_field_cases_of_prices import list_price

Capture = pytest.CaptureFixture[str]
FACTS: dict[str, Any] = {
    "provider": "aws", "vcpus": 2, "memory_mib": 8192, "architectures": ["x86_64"], "source": "test",
}  # fmt: skip
ASKED: dict[str, Any] = {
    "hours": 8.0, "types": ["m5.large"], "regions": ["us-east-1", "us-west-2"], "home_zone": "us-east-1b",
    "product": "Linux/UNIX", "slack_hours": 24.0,
}  # fmt: skip


def words(at: datetime, **changes: Any) -> list[str]:
    """The question for the command line."""
    found = []
    for name, value in {**ASKED, **changes, "at": at.isoformat()}.items():
        flag = "--" + name.replace("_", "-")
        found += [flag, ",".join(value) if isinstance(value, list) else str(value)]
    return found


@pytest.fixture
def program(db: None) -> Client:
    _key, token = api_key_create(
        organisation=Organisation.default(),
        actor=Actor.system("test"),
        name="program",
        scopes=["read:prices", "read:advice"],
        now=datetime.now().astimezone(),
    )
    return Client(headers={"Authorization": f"Bearer {token}"})


def post(client: Client, address: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{address}", json.dumps(body), content_type="application/json")


def test_costs_add_up_and_savings_compare_with_home(market: datetime) -> None:
    answer = advise_launch(**ASKED, at=market)
    assert answer["verdict"] == "now"
    assert answer["home"]["zone_name"] == "us-east-1b"
    assert answer["plans"][0]["zone_name"] == "us-west-2a"
    assert answer["plans"][0]["saving_vs_home_pct"] == pytest.approx(28.0)
    for plan in answer["plans"]:
        assert plan["transfer_cost"] is None
        assert plan["rework_cost"] is None or plan["market"] == "on-demand"
        assert float(plan["cost"]) == pytest.approx(
            float(plan["compute_cost"]) + float(plan["rework_cost"] or 0)
        )
        assert float(plan["cost_low"]) <= float(plan["cost"]) <= float(plan["cost_high"])
    assert "before moving data" in answer["sentence"]
    assert "no interruption data" in answer["sentence"]
    zone = next(c for c in answer["flexibility"] if (c["wait_hours"], c["where"]) == (0, "zone"))
    assert zone["saving_pct"] == pytest.approx(20.0)
    assert answer["backtest"]["decisions"] > 500
    assert answer["backtest"]["lost_share"] == 0.0


def test_command_line_and_rest_give_the_same_document(
    market: datetime, capsys: Capture, program: Client
) -> None:
    by_verb = verb(capsys, "advise_launch", *words(market))
    by_rest = post(program, "advice/launch", {**ASKED, "at": market.isoformat()})
    assert by_rest.status_code == 200
    assert by_rest.json() == by_verb

    series = {"region": "us-east-1", "zone": "us-east-1a", "type": "m5.large", "product": "Linux/UNIX"}
    flags = [word for name, value in series.items() for word in (f"--{name}", value)]
    at = {"at": market.isoformat()}
    assert program.get("/api/v1/prices", {**series, **at}).json() == verb(
        capsys, "prices", *flags, "--at", market.isoformat()
    )
    run = {"start": "2026-02-01T00:00:00Z", "hours": "8"}
    assert program.get("/api/v1/run-cost", {**series, **at, **run}).json() == verb(
        capsys, "run_cost", *flags, "--at", at["at"], "--start", run["start"], "--hours", "8"
    )
    assert program.get("/api/v1/profile", {**series, **at}).json() == verb(
        capsys, "profile", *flags, "--at", at["at"]
    )


def test_back_tests_are_the_same_by_command_line_and_rest(
    market: datetime, capsys: Capture, program: Client
) -> None:
    body = {
        "regions": ["us-east-1"], "types": ["m5.large"], "product": "Linux/UNIX",
        "from": "2026-02-10T00:00:00Z",
        "to": "2026-03-01T00:00:00Z", "hours": [1.0], "slack_hours": [4.0], "at": market.isoformat(),
    }  # fmt: skip
    by_rest = post(program, "backtests/launch", body).json()
    by_verb = verb(
        capsys, "backtest_launch", "--regions", "us-east-1", "--types", "m5.large", "--product", "Linux/UNIX",
        "--from", body["from"], "--to", body["to"], "--hours", "1", "--slack-hours", "4",
        "--at", market.isoformat(),
    )  # fmt: skip
    assert by_rest == by_verb
    (cell,) = by_verb["cells"]
    assert cell["series"] == 2
    assert by_verb["left_out"] == [
        {
            "strategies": ["type_zone_now", "advice_type", "clairvoyant_type"],
            "types": ["m5.large"],
            "reason": "No facts about these types are loaded. Load them with import_instance_types.",
        }
    ]
    # Home takes its turn: 1a saves nothing, 1b a fifth by moving to 1a.
    assert cell["strategies"]["zone_now"]["saving_vs_home_pct"] == pytest.approx(10.0)


def test_the_same_question_is_answered_from_its_row(market: datetime) -> None:
    first = advise_launch(**ASKED, at=market)
    again = advise_launch(**ASKED, at=market)
    assert first == again
    assert Advice.objects.count() == 1
    kept = Advice.objects.get()
    assert all(isinstance(one, str) and int(one) for one in kept.snapshots.values())
    assert (kept.verdict, kept.snapshots) == ("now", first["evidence"]["snapshots"])


def test_nothing_after_the_decision_time_is_looked_at(market: datetime, load: Any) -> None:
    from tests.apps.recommendations.conftest import row

    before = advise_launch(**ASKED, at=market)
    load([row("2026-03-20T00:00:00Z", "9.0", zone, "m5.large") for zone in ("us-east-1a", "us-east-1b")])
    after = advise_launch(**ASKED, at=market)
    assert before["evidence"]["snapshots"] != after["evidence"]["snapshots"]
    assert {k: v for k, v in before.items() if k != "evidence"} == {
        k: v for k, v in after.items() if k != "evidence"
    }


def test_work_that_may_not_be_interrupted_runs_on_demand_less_the_discount(market: datetime) -> None:
    judged = advise_launch(**ASKED, at=market, interruptible=False)
    assert judged["verdict"] == "cannot judge"
    assert "no on-demand price" in judged["sentence"]
    list_price("m5.large", "2.00", market)
    answer = advise_launch(**ASKED, at=market, interruptible=False, discount_pct=10.0, count=2)
    best = next(plan for plan in answer["plans"] if plan["rank"] == 1)
    assert (best["market"], best["cost"], best["rework_cost"]) == ("on-demand", "28.8", "0")
    spot = [plan for plan in answer["plans"] if plan["market"] == "spot"]
    assert all(plan["rank"] is None for plan in spot)


def test_moving_data_and_rework_are_lines_of_their_own(market: datetime) -> None:
    answer = advise_launch(
        **ASKED, at=market, data_gib=500.0, data_region="us-east-1", hazard_per_hour=0.05,
        checkpoint_minutes=60.0, restart_minutes=6.0,
    )  # fmt: skip
    west = next(plan for plan in answer["plans"] if plan["region"] == "us-west-2")
    assert west["transfer_cost"] == "10"
    east = answer["plans"][0]
    assert (east["zone_name"], east["transfer_cost"]) == ("us-east-1a", "0")
    # 8 pieces of (e**0.05 - 1) * (20 + 0.1) h of work, less the 8 h
    share = (8 * 0.0512710964 * 20.1 - 8) / 8
    assert float(east["rework_cost"]) == pytest.approx(float(east["compute_cost"]) * share, rel=1e-6)


def test_repeating_work_gets_a_fixed_local_start(market: datetime, capsys: Capture, program: Client) -> None:
    repeat = {"repeat": "daily", "done_by": "08:00", "timezone": "Europe/Berlin"}
    by_verb = verb(capsys, "advise_launch", *words(market, slack_hours=4, **repeat))
    by_rest = post(program, "advice/launch", {**ASKED, "slack_hours": 4, **repeat, "at": market.isoformat()})
    assert by_rest.json() == by_verb
    assert by_verb["schedule"]["start"] == "20:00 Europe/Berlin"
    assert "no other hour is worth it" in by_verb["schedule"]["sentence"]
    with pytest.raises(WorkloadError, match="Give both"):
        advise_launch(**ASKED, at=market, repeat="daily")


@pytest.mark.parametrize(
    ("field", "changes", "words_"),
    [
        ("regions", {"regions": ["us-east-9"]}, "us-east-1"),
        ("types", {"types": ["m5.larg"]}, "m5.large"),
        ("home_zone", {"home_zone": "us-east-1z"}, "us-east-1a"),
        ("home_zone", {"home_zone": "us-west-2a", "regions": ["us-east-1"]}, "us-west-2"),
        ("hours", {"hours": 0}, "above 0"),
        ("provider", {"provider": "mars"}, "aws, azure, gcp"),
    ],
)
def test_wrong_input_names_the_field_and_the_nearest_known(
    market: datetime, field: str, changes: dict[str, Any], words_: str
) -> None:
    with pytest.raises(WorkloadError) as refused:
        advise_launch(**{**ASKED, **changes}, at=market)
    assert refused.value.field == field
    assert words_ in refused.value.message


def test_wrong_input_ends_with_two_and_rest_says_400(
    market: datetime, capsys: Capture, program: Client
) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("advise_launch", *words(market, regions=["us-east-9"]), "--json")
    assert ended.value.code == 2
    assert json.loads(capsys.readouterr().out)["error"]["field"] == "regions"
    answer = post(program, "advice/launch", {**ASKED, "regions": ["us-east-9"], "colour": "blue"})
    assert answer.status_code == 400
    assert "colour" in answer.content.decode()
    answer = post(program, "advice/launch", {**ASKED, "regions": ["us-east-9"]})
    assert (answer.status_code, answer.json()["error"]["fields"][0]["field"]) == (400, "regions")


def test_without_json_a_person_gets_the_sentence_and_a_table(market: datetime, capsys: Capture) -> None:
    call_command("advise_launch", *words(market))
    printed = capsys.readouterr().out
    assert "Moving to us-west-2a now saves 28.0" in printed
    assert "us-east-1b" in printed


def test_with_nothing_loaded_the_answer_is_cannot_judge(capsys: Capture, market: datetime) -> None:
    answer = advise_launch(**{**ASKED, "provider": "gcp"}, at=market)
    assert (answer["verdict"], answer["plans"]) == ("cannot judge", [])


@pytest.mark.django_db(transaction=True)
def test_the_verb_runs_as_a_program_of_its_own() -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "finops.settings.test",
        "DATABASE_URL": database_url(),
        "LAKE_WAREHOUSE": str(settings.LAKE_WAREHOUSE),
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "run_cost", "--region", "r", "--zone", "z", "--type", "t",
         "--product", "p",
         "--start", "2026-01-01T00:00:00Z", "--hours", "1", "--json"],
        cwd=Path(settings.BASE_DIR), env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cost"] is None


def test_a_type_whose_only_price_was_refused_says_so(load: Any) -> None:
    from tests.apps.recommendations.conftest import T0, row

    load(
        [row(T0, "0.031", "us-east-1a", "r5.large"), row(T0, "0.000000", "us-east-1a", "m5.large")],
        request_start=T0,
        request_end=T0 + timedelta(hours=2),
    )
    answer = advise_launch(
        hours=1.0, types=["c5.large", "m5.large", "r5.large"], regions=["us-east-1"], slack_hours=0.0,
        product="Linux/UNIX", at=T0 + timedelta(hours=1),
    )  # fmt: skip
    assert (answer["plans"][0]["type"], answer["plans"][0]["price"]) == ("r5.large", "0.031")
    assert {one["type"]: one["reason"] for one in answer["excluded"]} == {
        "c5.large": "unknown: no Spot price is loaded for it",
        "m5.large": "invalid price: 0.000000 is not above zero",
    }


def test_splitting_is_answered_with_its_number(market: datetime) -> None:
    answer = advise_launch(**ASKED, at=market, splittable=True, restart_minutes=5.0)
    told = answer["splitting"]
    assert (told["worth_it"], told["saving_pct"], told["split_share"]) == (False, 0.0, 0.0)
    assert "Splitting is not worth it: 0.0" in answer["sentence"]
    assert all(plan["pieces"] == [] for plan in answer["plans"])
    assert advise_launch(**ASKED, at=market)["splitting"] is None


def test_moving_that_saves_nothing_is_not_told_as_a_saving(market: datetime) -> None:
    answer = advise_launch(**{**ASKED, "home_zone": "us-east-1a"}, at=market, zones=["us-east-1b"])
    assert "saves" not in answer["sentence"]
    assert "25.0\u202f% more than where it runs today" in answer["sentence"]


def test_a_region_of_the_data_that_nobody_knows_is_refused(market: datetime) -> None:
    with pytest.raises(WorkloadError, match="us-east-1") as refused:
        advise_launch(**ASKED, at=market, data_gib=5.0, data_region="us-est-1")
    assert refused.value.field == "data_region"
    assert advise_launch(**ASKED, at=market, data_gib=5.0, data_region="eu-west-1")["plans"]


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("hours", ["--hours", "nan"]),
        ("hours", ["--hours", "inf"]),
        ("slack_hours", ["--slack-hours", "inf"]),
        ("every_hours", ["--every-hours", "0"]),
    ],
)
def test_a_back_test_of_impossible_numbers_is_refused(
    market: datetime, capsys: Capture, field: str, options: list[str]
) -> None:
    window = ["--from", "2026-02-20T00:00:00Z", "--to", "2026-03-01T00:00:00Z"]
    with pytest.raises(SystemExit) as ended:
        call_command(
            "backtest_launch", "--regions=us-east-1", "--product=Linux/UNIX", *window, *options, "--json"
        )
    assert ended.value.code == 2
    assert json.loads(capsys.readouterr().out)["error"]["field"] == field


def test_a_back_test_tells_its_progress_on_standard_error(market: datetime, capsys: Capture) -> None:
    call_command(
        "backtest_launch", "--regions=us-east-1", "--product=Linux/UNIX", "--from=2026-02-20T00:00:00Z",
        "--to=2026-03-01T00:00:00Z", "--hours=1,4", "--slack-hours=4", "--json",
    )  # fmt: skip
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)["cells"]) == 2
    assert printed.err.count("us-east-1, ") == 2


@pytest.mark.parametrize(
    ("field", "words_"),
    [
        ("zone", ["--region=us-east-1", "--type=m5.large", "--zone=us-east-1z"]),
        ("type", ["--region=us-east-1", "--type=m5.larg", "--zone=us-east-1a"]),
        ("region", ["--region=us-east-9", "--type=m5.large", "--zone=us-east-1a"]),
    ],
)
def test_wrong_input_of_a_price_names_its_own_field(
    market: datetime, capsys: Capture, field: str, words_: list[str]
) -> None:
    with pytest.raises(SystemExit):
        call_command("prices", *words_, "--product=Linux/UNIX", "--json")
    assert json.loads(capsys.readouterr().out)["error"]["field"] == field


def test_few_series_decide_every_hour_and_many_less_often(
    market: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {
        "regions": ["us-east-1"], "product": "Linux/UNIX", "hours": [4.0], "slack_hours": [4.0],
        "start": market - timedelta(days=10), "end": market,
    }  # fmt: skip
    few = backtest_launch(**asked)
    # Two series, 240 h less 8 h of slack and work: decisions at 0..232.
    assert (few["every_hours"], few["cells"][0]["decisions"]) == (1, 2 * 233)
    monkeypatch.setattr(backtests, "MAX_REQUEST_DECISIONS", 200)
    assert backtest_launch(**asked)["every_hours"] == 3
    assert backtest_launch(**asked, every_hours=5)["every_hours"] == 5


def test_back_tests_say_which_types_nothing_stands_in_for(market: datetime) -> None:
    window = {"start": market - timedelta(days=20), "end": market - timedelta(days=17)}
    asked: dict[str, Any] = {
        "regions": ["us-east-1"], "product": "Linux/UNIX", "hours": [1.0], "slack_hours": [4.0],
        "types": ["m5.large"], "every_hours": 24, **window,
    }  # fmt: skip
    InstanceType.objects.create(name="m5.large", **FACTS)
    (alone,) = backtest_launch(**asked)["left_out"]
    assert (alone["types"], alone["reason"]) == ([], "No other type can do the work of these.")
    assert alone["strategies"] == ["type_zone_now", "advice_type", "clairvoyant_type"]

    InstanceType.objects.create(name="m5a.large", **FACTS)
    answer = backtest_launch(**asked)
    assert answer["left_out"] == []
    assert "clairvoyant_type" in answer["cells"][0]["strategies"]
