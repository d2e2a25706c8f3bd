"""Jobs one by one from the two forms of traces."""

from datetime import UTC, datetime

import pytest

from finops.providers.files.demand_files import DemandFileError
from finops.providers.files.job_files import read_jobs


def test_dated_jobs_count_from_the_first_arrival() -> None:
    trace = read_jobs(
        "timestamp,duration,num_gpus\n2017-10-01 02:00:00,7200,8\n2017-10-01 00:30:00,1800,1\n"
        "2017-10-01 03:00:00,60,0\n"
    )
    assert trace.jobs == ((0.0, 0.5, 1), (1.5, 2.0, 8))
    assert trace.left_out == 1
    assert trace.began == datetime(2017, 10, 1, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("timestamp,duration,num_gpus\n2017-10-01,60,1.5\n", "row 1, num_gpus: no whole number"),
        ("timestamp,duration,num_gpus\nyesterday,60,1\n", "row 1, timestamp: no time"),
        ("arrival_time,length,cpus\n0,nan,1\n", "row 1, length: no number"),
        ("arrival_time,length,cpus\n", "no jobs"),
        ("instances\n3\n", "no header of a known form"),
    ],
    ids=["units", "time", "length", "empty", "form"],
)
def test_what_says_no_jobs_is_refused_by_row_and_column(text: str, said: str) -> None:
    with pytest.raises(DemandFileError, match=said):
        read_jobs(text)
