"""`simulate_pool`: a trace of jobs and pools in, cost, wait and missed deadlines of each policy out."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

JOBS = "timestamp,duration,num_gpus\n2026-03-02 12:00:00,14400,2\n2026-03-02 12:00:00,3600,1\n"
POOLS = "name,kind,hourly,currency,units\nown,own,0.5,USD,2\nlist,on_demand,3,USD,\n"


def asked(folder: Path, *words: str, jobs: str = JOBS, pools: str = POOLS) -> tuple[int, dict[str, Any]]:
    (folder / "jobs.csv").write_text(jobs)
    (folder / "pools.csv").write_text(pools)
    out, code = io.StringIO(), 0
    given = ["--jobs", str(folder / "jobs.csv"), "--pools", str(folder / "pools.csv"), *words, "--json"]
    try:
        call_command("simulate_pool", *given, stdout=out, stderr=io.StringIO())
    except SystemExit as error:
        code = int(str(error.code))
    return code, json.loads(out.getvalue())


def test_each_policy_has_its_cost_wait_and_deadlines(tmp_path: Path) -> None:
    code, document = asked(tmp_path, "--on-demand-limit", "2")
    assert code == 0
    table = {
        name: (one["cost"], one["wait_hours"]["max"], one["missed_deadlines"])
        for name, one in document["strategies"].items()
    }
    # The small job takes an own unit for an hour. Four hours of backlog are above the limit of one, so the
    # large one starts on demand and falls back after that hour, six minutes to be back: 0.5 + 6 + 3.1.
    assert table == {
        "advice": ("9.6", 0.0, 0),
        "first_come_first_served": ("27", 1.0, 0),
        "on_demand_at_once": ("27", 0.0, 0),
        "cheapest_free": ("24.5", 0.0, 0),
    }
    assert document["saving_vs_first_come_first_served_pct"] == 64.444
    assert document["cost_floor"] == "4.5"
    assert document["jobs"] == {
        "count": 2, "left_out": 0, "began": "2026-03-02T12:00:00Z", "hours": 0.0, "largest_units": 2,
    }  # fmt: skip


def test_without_pools_the_example_is_taken_and_said_so(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(JOBS)
    out = io.StringIO()
    call_command("simulate_pool", "--jobs", str(tmp_path / "jobs.csv"), "--json", stdout=out)
    document = json.loads(out.getvalue())
    assert document["terms"]["pools"] == "example"
    assert [one["kind"] for one in document["pools"]] == [
        "own", "commitment", "device", "spot", "spot", "on_demand",
    ]  # fmt: skip
    assert document["strategies"]["advice"]["pools"]["spare hours of a commitment"]["cost"] == "0"


@pytest.mark.parametrize(
    ("words", "jobs", "pools", "code", "field", "said"),
    [
        ([], "a,b\n1,2\n", POOLS, 3, "jobs", "no header of a known form"),
        ([], JOBS, "name,kind,hourly,currency\nx,rented,1,USD\n", 3, "pools", "row 1, kind"),
        ([], JOBS, "name,kind,hourly,currency\nx,own,1,USD\n", 2, "pools", "on demand"),
        (["--slack-hours", "-1"], JOBS, POOLS, 2, "slack_hours", "Out of range"),
        (["--burst-stop", "3"], JOBS, POOLS, 2, "burst_stop", "Out of range"),
        (["--on-demand-limit", "1"], JOBS, POOLS, 2, "pools", "does not fit"),
    ],
    ids=["jobs", "pools", "no on demand", "slack", "burst", "limit"],
)
def test_wrong_input_is_refused_by_name(
    tmp_path: Path, words: list[str], jobs: str, pools: str, code: int, field: str, said: str
) -> None:
    found, document = asked(tmp_path, *words, jobs=jobs, pools=pools)
    assert found == code
    assert document["error"]["field"] == field
    assert said in document["error"]["message"]
