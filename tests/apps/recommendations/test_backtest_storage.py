"""The command backtest_storage: files of reads in, costs relative to Standard and to the optimum out."""

from __future__ import annotations

import json
import lzma
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from finops.providers.files.object_reads import read_days


def ask(*words: str) -> dict[str, Any]:
    out = StringIO()
    call_command("backtest_storage", *words, "--json", stdout=out, stderr=StringIO())
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def test_reads_by_day_give_every_policy_and_the_optimum(tmp_path: Path) -> None:
    lines = ["dataset,date,bytes_read", "a,2025-01-01,5000000", "b,2025-01-01,10", "b,2025-04-30,7000000"]
    lines += ["a,2025-02-30,1", "a,2025-02-03,many", ",2025-02-03,4"]
    file = tmp_path / "reads.csv.xz"
    file.write_bytes(lzma.compress("\n".join(lines).encode()))
    answer = ask(str(file), "--object-bytes", "1073741824")
    policies = answer["policies"]
    assert sorted(policies) == [
        "advice", "age_rule", "intelligent_tiering", "optimum", "ski_rental", "stay",
    ]  # fmt: skip
    assert policies["stay"]["cost_share_of_standard"] == 1.0
    assert policies["optimum"]["ratio_to_optimum"] == 1.0
    assert all(one["ratio_to_optimum"] >= 1.0 for one in policies.values())
    data = answer["data"]
    assert (data["objects"], data["days"], data["reads"]) == (2, 120, 2)
    assert (data["rows_read"], data["rejected"]) == (6, 3)
    assert [(r["row"], r["field"], r["reason"]) for r in data["rejections"]] == [
        (4, "date", "not a day like 2025-05-13: '2025-02-30'"),
        (5, "bytes_read", "not a number from 0: 'many'"),
        (6, "object", "no object: ''"),
    ]


def test_cumulative_counts_become_reads_and_falls_are_told(tmp_path: Path) -> None:
    file = tmp_path / "snapshots.csv"
    file.write_text(
        "snapshot_date,dandiset,asset_path,cumulative_bytes_sent\n"
        "2025-05-13,1,x,100\n2025-05-14,1,x,150\n2025-05-15,1,x,120\n2025-05-14,1,y,7\n"
    )
    found = read_days([str(file)])
    rows = [(key.replace("\x1f", "/"), f"{day:%d}", count) for key, day, count in found.frame.to_numpy()]
    assert rows == [("1/x", "13", 0.0), ("1/x", "14", 50.0), ("1/x", "15", 0.0), ("1/y", "14", 0.0)]
    assert (found.rows_read, found.rejected, found.falls) == (4, 0, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "reads.csv: no column for each of object, day and bytes"),
        ("", "reads.csv: not a CSV file in UTF-8"),
    ],
)
def test_a_file_of_no_known_form_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    file = tmp_path / "reads.csv"
    file.write_text(text)
    out = StringIO()
    with pytest.raises(SystemExit) as end:
        call_command("backtest_storage", str(file), "--json", stdout=out, stderr=StringIO())
    assert end.value.code == 3
    assert json.loads(out.getvalue())["error"]["message"].startswith(told)


def test_a_day_outside_the_reads_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "reads.csv"
    file.write_text("object,day,bytes\na,2025-01-01,5000000\n")
    out = StringIO()
    with pytest.raises(SystemExit) as end:
        call_command(
            "backtest_storage", str(file), "--decide-until", "2026-01-01", "--json",
            stdout=out, stderr=StringIO(),
        )  # fmt: skip
    assert end.value.code == 2
    assert json.loads(out.getvalue())["error"]["field"] == "decide_until"
