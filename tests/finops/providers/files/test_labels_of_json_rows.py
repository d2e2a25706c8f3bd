"""Labels and prices are told apart in one pass where all are text; the careful way gives the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finops.providers.files import FileEnd, FileSource, json_rows
from finops.providers.spot_rows import SpotContext
from tests.support.spot import row

VALUES: dict[str, list[Any]] = {
    "AvailabilityZone": ["us-east-1a", " us-east-1a", "us-east-1b", "eu-west-1c", "", None, "zoné"],
    "InstanceType": ["m5.large", "c5.large", "", 1, 1.0, True],
    "ProductDescription": ["Linux/UNIX", "Windows ", None],
    "SpotPrice": ["0.1", "0.10", "0", "-1", "", None, 0.1, 2, True, "0,1", ["0.1"]],
    "Timestamp": ["2021-05-30T20:43:22Z", "2021-05-30T20:43:22+02:00", "", "soon"],
}
ROWS = st.lists(
    st.builds(
        lambda changed, gone: {
            key: value
            for key, value in {**row("0.05", "2021-05-31T01:02:03Z"), **changed}.items()
            if key not in gone
        },
        st.fixed_dictionaries({}, optional={key: st.sampled_from(all_) for key, all_ in VALUES.items()}),
        st.sets(st.sampled_from([*VALUES]), max_size=1) | st.just(set()),
    ),
    max_size=12,
)


def read(path: Path) -> list[Any]:
    """Batches as plain values, then how each file ended."""
    return [
        event if isinstance(event, FileEnd) else (event.rows.to_pylist(), event.rejections, event.read)
        for event in FileSource(str(path), SpotContext(provider="aws")).events()
    ]


def no_labels(rows: list[dict[str, Any]], keys_of: Mapping[str, str]) -> None:
    """Never in one pass."""


def plain_prices(context: SpotContext, rows: list[dict[str, Any]], key: str) -> Any:
    """Never by what is known."""
    return json_rows._column(rows, key)


@given(rows=ROWS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_ways_give_the_same(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"SpotPriceHistory": rows}))
    fast = read(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "_labels", no_labels)
        patch.setattr(json_rows, "_prices", plain_prices)
        assert read(path) == fast


def test_a_label_that_is_a_number_is_not_taken_for_its_equal(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    odd = [{**row("0.1", "2021-05-31T01:02:03Z"), "InstanceType": kind} for kind in (1, True)]
    path.write_text(json.dumps({"SpotPriceHistory": odd}))
    (_, rejections, _), _ = read(path)
    assert [r.reason for r in rejections] == ["not an instance type: '1'", "not an instance type: 'true'"]
