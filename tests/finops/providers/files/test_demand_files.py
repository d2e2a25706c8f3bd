"""Demand by the hour from hourly values and from traces of jobs."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest

from finops.providers.files.archives import UnreadableError
from finops.providers.files.demand_files import DemandFileError, demand_of, read_demand


def test_a_job_counts_for_the_part_of_each_hour_it_runs() -> None:
    # 2 units from 0:30 to 2:15; 4 units from 2:00 to 2:30; the trace ends with the hour of the last arrival
    text = "arrival_time,length,cpus\n10.5,1.75,2\n12.0,0.5,4\n"
    np.testing.assert_allclose(read_demand(text), [1.0, 2.0, 0.5 + 2.0])


def test_times_and_seconds_give_the_same_as_hours() -> None:
    text = (
        "timestamp,duration,num_gpus,cluster\n"
        "2017-09-04 10:30:00,6300,2,a\n"
        "2017-09-04T14:00:00+02:00,1800,4,b\n"
    )
    np.testing.assert_allclose(read_demand(text), [1.0, 2.0, 2.5])


def test_hourly_values_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "demand.csv.xz"
    path.write_bytes(lzma.compress(b"hour,instances\n0,1\n1,2.5\n2,0\n"))
    np.testing.assert_array_equal(demand_of(str(path)), [1.0, 2.5, 0.0])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "no header of a known form"),
        ("instances\n1\nx\n", "row 2, instances: no number from 0: 'x'"),
        ("instances\n-1\n", "row 1, instances: no number from 0: '-1'"),
        ("instances\n", "no rows"),
        ("arrival_time,length,cpus\n", "no jobs"),
        ("timestamp,duration,num_gpus\nyesterday,1,1\n", "row 1, timestamp: no time: 'yesterday'"),
    ],
)
def test_what_is_no_demand_is_refused_with_its_row(text: str, told: str) -> None:
    with pytest.raises(DemandFileError, match=told):
        read_demand(text)


def test_a_folder_of_files_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("instances\n1\n")
    with pytest.raises(DemandFileError, match="2 are there"):
        demand_of(str(tmp_path))
    with pytest.raises(UnreadableError):
        demand_of(str(tmp_path / "none.csv"))
