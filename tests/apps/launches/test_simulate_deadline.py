"""`simulate_deadline`: a trace and a job in, the cost of every strategy out."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

pytestmark = pytest.mark.django_db


def asked(path: Path, **more: str) -> tuple[int, dict[str, Any]]:
    out, code = io.StringIO(), 0
    options = {"--work-hours": "6", "--deadline-hours": "8", "--overhead-hours": "0.1"} | more
    words = [word for pair in options.items() for word in pair]
    try:
        call_command(
            "simulate_deadline", "--trace", str(path), *words, "--json", stdout=out, stderr=io.StringIO()
        )
    except SystemExit as error:
        code = int(str(error.code))
    return code, json.loads(out.getvalue())


def trace(folder: Path, data: list[int]) -> Path:
    path = folder / "trace.json"
    path.write_text(json.dumps({"metadata": {"gap_seconds": 600}, "data": data}))
    return path


def test_on_a_market_that_is_always_there_all_run_on_spot(tmp_path: Path) -> None:
    code, document = asked(trace(tmp_path, [1] * 100), **{"--starts": "2", "--on-demand-ratio": "4"})
    assert code == 0
    assert document["strategies"] == {
        "advice": {"cost_share": 0.25, "missed": 0},
        "greedy": {"cost_share": 0.25, "missed": 0},
        "uniform_progress": {"cost_share": 0.25, "missed": 0},
        "on_demand": {"cost_share": 1.0, "missed": 0},
        "optimum": {"cost_share": 0.25, "missed": 0},
    }
    assert document["starts"] == 2
    assert document["trace"] == {
        "hours": 16.666667, "gap_seconds": 600, "available_share": 1.0, "count": 1,
    }  # fmt: skip


def test_a_market_that_is_never_there_costs_on_demand(tmp_path: Path) -> None:
    _code, document = asked(trace(tmp_path, [0] * 100))
    assert {one["cost_share"] for one in document["strategies"].values()} == {1.0}


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"--work-hours": "0"}, "work_hours"),
        ({"--work-hours": "nan"}, "work_hours"),
        ({"--deadline-hours": "6.05"}, "deadline_hours"),
        ({"--overhead-hours": "-1"}, "overhead_hours"),
        ({"--starts": "0"}, "starts"),
        ({"--on-demand-ratio": "inf"}, "on_demand_ratio"),
        ({"--deadline-hours": "17"}, "trace"),
    ],
)
def test_wrong_input_names_its_field(tmp_path: Path, more: dict[str, str], field: str) -> None:
    code, document = asked(trace(tmp_path, [1] * 100), **more)
    assert (code, document["error"]["field"]) == (2, field)


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}")
    code, document = asked(path)
    assert (code, document["error"]["field"]) == (3, "trace")
