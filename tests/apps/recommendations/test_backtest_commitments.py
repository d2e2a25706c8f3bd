"""`backtest_commitments`: one demand in, the cost of every policy out."""

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
    options = {"--term-hours": "100", "--upfront": "3", "--on-demand": "0.1", "--horizon-hours": "400"} | more
    words = [word for pair in options.items() for word in pair]
    try:
        call_command(
            "backtest_commitments", "--demand", str(path), *words, "--json", stdout=out, stderr=io.StringIO()
        )
    except SystemExit as error:
        code = int(str(error.code))
    return code, json.loads(out.getvalue())


def demand(folder: Path, text: str = "instances\n" + "2\n" * 200) -> Path:
    path = folder / "demand.csv"
    path.write_text(text)
    return path


def test_a_steady_demand_has_its_optimum_in_full_terms(tmp_path: Path) -> None:
    code, document = asked(demand(tmp_path))
    policies = document["policies"]
    assert code == 0
    assert set(policies) == {"advice", "deterministic", "randomised", "all_on_demand", "optimum"}
    # 400 h x 2 x 0.1 = 80 on demand; 4 terms x 2 x 3 = 24 bought
    assert (policies["all_on_demand"]["cost"], policies["optimum"]["cost"]) == ("80", "24")
    assert policies["optimum"]["cost_share"] == 0.3
    assert policies["all_on_demand"]["ratio_to_optimum"] == round(80 / 24, 6)
    assert policies["advice"]["ratio_to_optimum"] < policies["deterministic"]["ratio_to_optimum"] <= 2
    assert document["demand"]["repeated"] is True
    assert document["demand"]["hours_seen"] == 200
    assert document["commitment"]["break_even_utilisation_pct"] == 30.0
    assert document["currency"] == "USD"


def test_hourly_charges_are_part_of_the_price(tmp_path: Path) -> None:
    _, document = asked(demand(tmp_path), **{"--upfront": "0", "--hourly": "0.03"})
    assert document["policies"]["optimum"]["cost"] == "24"


def test_wrong_numbers_are_wrong_usage_and_a_wrong_file_is_refused(tmp_path: Path) -> None:
    code, document = asked(demand(tmp_path), **{"--on-demand": "0"})
    assert (code, document["error"]["field"]) == (2, "on_demand")
    code, document = asked(demand(tmp_path), **{"--upfront": "0"})
    assert (code, document["error"]["field"]) == (2, "upfront")
    code, document = asked(demand(tmp_path, "instances\nmany\n"))
    assert (code, document["error"]["field"]) == (3, "demand")
    assert document["error"]["message"] == "row 1, instances: no number from 0: 'many'"
