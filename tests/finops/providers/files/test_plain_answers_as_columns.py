"""An ordinary answer is read as columns; every other one by the careful way, and both give the same rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finops.providers.files import FileEnd, FileSource, json_rows
from finops.providers.files.json_columns import answer_columns
from finops.providers.spot_rows import PRICE_TYPE, Reject, SpotContext, _plain_decimals, parse_price
from tests.support.spot import answer, row

ROWS = [row(f"0.0{i}36", f"2021-05-3{i % 2}T01:02:0{i}Z", zone=f"us-east-1{'abc'[i % 3]}") for i in range(6)]
PLAIN = answer(*ROWS)
TOKENS = ["{", "}", "[", "]", "null", "true", "1", '"', '""', ",", ":", "\n", "\\", "\0", "é", "{}", "[]"]


def columns(text: str | bytes) -> dict[str, pa.Array] | None:
    data = text.encode() if isinstance(text, str) else text
    return answer_columns(bytearray(data), len(data))


def read(folder: Path) -> list[Any]:
    """Rows, rejections and ends of the files of a folder."""
    return [
        event if isinstance(event, FileEnd) else (event.rows.to_pylist(), event.rejections, event.read)
        for event in FileSource(str(folder), SpotContext(provider="aws")).events()
    ]


def carefully(folder: Path) -> list[Any]:
    """The same without columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "answer_columns", lambda room, size: None)
        return read(folder)


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_the_columns_are_the_values_of_the_rows(indent: int | None) -> None:
    found = columns(answer(*ROWS, indent=indent))
    assert found is not None
    assert {key: column.to_pylist() for key, column in found.items()} == {
        key: [given[key] for given in ROWS] for key in ROWS[0]
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "null null",
        "[]",
        "{}",
        '{"SpotPriceHistory": null}',
        '{"SpotPriceHistory": []}',
        PLAIN + PLAIN,
        PLAIN + "null",
        PLAIN + "\0",
        PLAIN[:-30],
        PLAIN.replace('"SpotPriceHistory"', '"Prices"'),
        PLAIN.replace('"SpotPrice"', '"Price"', 1),
        PLAIN.replace('"0.0136"', "0.0136"),
        PLAIN.replace('"0.0136"', "null"),
        PLAIN.replace("Linux/UNIX", "Linux\\/UNIX"),
        PLAIN.replace("Linux/UNIX", "Linux/ÜNIX"),
        PLAIN.replace("Linux/UNIX", "Linux\nUNIX"),
        PLAIN.replace("{\n", "{", 1).replace("}", "", 1),
        json.dumps({"SpotPriceHistory": [*ROWS, None]}),
        json.dumps({"SpotPriceHistory": [*ROWS, {}]}),
        json.dumps({"SpotPriceHistory": [*ROWS, {**ROWS[0], "Tier": "x"}]}),
        '{"SpotPriceHistory":' + "[" * 100_000,
        '{"SpotPriceHistory":[' + '{"SpotPrice":' * 100_000,
    ],
)
def test_what_is_not_plain_is_left_to_the_careful_way(text: str) -> None:
    assert columns(text) is None


@given(st.lists(st.tuples(st.integers(0, len(PLAIN)), st.integers(0, 12), st.sampled_from(["", *TOKENS]))))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mangled_answer_gives_the_same_either_way(tmp_path: Path, cuts: list[tuple[int, int, str]]) -> None:
    text = PLAIN
    for place, gone, put in cuts[:3]:
        text = text[:place] + put + text[place + gone :]
    (tmp_path / "a.json").write_bytes(text.encode())
    assert read(tmp_path) == carefully(tmp_path)


def test_a_file_never_shows_through_the_one_after_it(tmp_path: Path) -> None:
    many = answer(*(row("0.5", f"2021-05-01T00:{i // 60:02}:{i % 60:02}Z") for i in range(3000)), indent=30)
    assert len(many) > 1 << 20  # more than the room to begin with
    for name, text in {"a": PLAIN, "b": many, "c": PLAIN, "d": many[:-9], "e": answer(ROWS[0])}.items():
        (tmp_path / f"{name}.json").write_text(text)
    found = read(tmp_path)
    assert found == carefully(tmp_path)
    assert [event.refused is None for event in found if isinstance(event, FileEnd)] == [1, 1, 1, 0, 1]
    assert [len(event[0]) for event in found if not isinstance(event, FileEnd)] == [6, 3000, 6, 1]


DIGITS = ["0", "7", "9", ".", "00000000000", "12345678"]


@given(st.lists(st.sampled_from([*DIGITS, "e", "+", "-", " ", "٣", "inf"]), max_size=9).map("".join))
@settings(max_examples=500)
def test_a_price_that_arrow_reads_is_the_price(text: str) -> None:
    try:
        want = parse_price(text)
    except Reject:
        want = 0
    found = _plain_decimals(pa.array(["1", text, "0.5"], pa.string())[1:2])
    if found is not None:
        assert found.type == PRICE_TYPE
        assert int(found[0].as_py().scaleb(10)) == want


def test_plain_prices_are_read_by_arrow() -> None:
    found = _plain_decimals(pa.array(["0.0416", "12345678.0123456789"], pa.string()))
    assert found is not None
    assert found.to_pylist() == [Decimal("0.0416"), Decimal("12345678.0123456789")]
    assert _plain_decimals(pa.array(["0.1", "1e-3"], pa.string())) is None
    assert _plain_decimals(pa.array(["0.00000000001"], pa.string())) is None


def test_keys_missing_in_some_rows_are_rejected_row_by_row(tmp_path: Path) -> None:
    def without(given: Mapping[str, str], key: str) -> dict[str, str]:
        return {k: v for k, v in given.items() if k != key}

    text = json.dumps({"SpotPriceHistory": [ROWS[0], without(ROWS[1], "SpotPrice"), ROWS[2]]})
    (tmp_path / "a.json").write_text(text)
    (rows, rejections, _), _ = read(tmp_path)
    assert [r["row"] for r in rows] == [1, 3]
    assert [(r.row, r.field) for r in rejections] == [(2, "SpotPrice")]
