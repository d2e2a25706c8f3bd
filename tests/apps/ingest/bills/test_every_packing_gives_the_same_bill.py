"""One bill in every packing, encoding, split, order and cut: the same totals, or a clear refusal."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.billing.models import Delivery
from apps.ingest.bills.run import bill_import
from apps.ingest.models import IngestRun
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")

ROWS = [
    {"identity/LineItemId": f"L{i}", "lineItem/ResourceId": f"i-{i}", "lineItem/UnblendedCost": cost,
     "resourceTags/user:team": "équipe" if i % 2 else ""}
    for i, cost in enumerate(["1.25", "0.1", "2.2e-09", "-3", "0.0000000001", "7"] * 20)
]  # fmt: skip
TEXT = cur_csv(ROWS)
TOTAL = sum(Decimal(row["lineItem/UnblendedCost"]) for row in ROWS)
DATA = TEXT.encode()


def _zip(data: bytes, beside: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("report-1.csv", data)
        if beside:
            archive.writestr(beside, b"\x00\x05\x16\x07")
    return out.getvalue()


def _parquet(data: bytes) -> bytes:
    """Doubles and timestamps, as Athena reports have them."""
    head, *rows = [line.split(",") for line in data.decode().splitlines()]
    columns = dict(zip(head, zip(*rows, strict=True), strict=True))
    table = {name: pa.array(values) for name, values in columns.items()}
    table["lineItem/UnblendedCost"] = pa.array([float(v) for v in columns["lineItem/UnblendedCost"]])
    out = io.BytesIO()
    pq.write_table(pa.table(table), out)
    return out.getvalue()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "csv": lambda data: data,
    "csv.gz": gzip.compress,
    "csv.zip": _zip,
    "macos.zip": lambda data: _zip(data, beside="__MACOSX/._report-1.csv"),
    "csv.xz": lzma.compress,
    "csv.bz2": bz2.compress,
    "csv.zst": zstandard.ZstdCompressor().compress,
    "parquet": _parquet,
    "utf8-mark.csv": lambda data: b"\xef\xbb\xbf" + data,
    "utf16.csv": lambda data: data.decode().encode("utf-16"),
    "utf16.csv.gz": lambda data: gzip.compress(data.decode().encode("utf-16")),
    "crlf.csv": lambda data: data.replace(b"\n", b"\r\n"),
    "semicolons.csv": lambda data: data.replace(b",", b";"),
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_the_same_bill_in_every_packing(tmp_path: Path, packing: str) -> None:
    run = import_text(tmp_path / f"bill.{packing}", PACKINGS[packing](DATA))
    assert (run.state, run.rows_read, run.error) == ("finished", len(ROWS), "")
    assert lines("sum(billed_cost), count(*), count(DISTINCT x_row), max(x_row)") == [
        (TOTAL, len(ROWS), len(ROWS), len(ROWS))
    ]
    assert lines("count(*)", "tags['user:team'] = 'équipe'") == [(len(ROWS) // 2,)]
    assert lines("x_row", "resource_id = 'i-3'") == [(4,)]


CUT = [name for name in PACKINGS if name.endswith(("gz", "zip", "xz", "bz2", "zst", "parquet"))]


@pytest.mark.parametrize("packing", CUT)
@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_file_that_is_cut_short_refuses_the_delivery(tmp_path: Path, packing: str, share: float) -> None:
    whole = PACKINGS[packing](DATA)
    run = import_text(tmp_path / f"bill.{packing}", whole[: int(len(whole) * share)])
    assert run.state == "refused", run.error
    assert f"bill.{packing}" in run.error
    assert not Delivery.objects.exists()
    assert lines("count(*)") == [(0,)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (DATA[:-20], "cut short or broken: line 121 has "),
        (DATA + b"1,2\n", "line 122 has 2 cells, the header "),
        (DATA.replace("é".encode(), "é".encode("latin-1")), "line 3 is not UTF-8"),
        (DATA.replace(b",i-1,", b',"i-1,'), "line 3 opens a quote that is never closed"),
        (DATA.replace(b"i-1", b"i" * (3 << 20), 1), "line 3 is longer than 2097152 bytes"),
        (b"", "empty"),
        (DATA.splitlines(keepends=True)[0], "no rows"),
        (b"\x00\x01\x02" * 300, "binary"),
    ],
)
def test_text_that_is_broken_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    run = import_text(tmp_path / "bill.csv", data)
    assert run.state == "refused"
    assert said in run.error
    assert not Delivery.objects.exists()


def _cleared() -> None:
    Delivery.objects.all().delete()
    IngestRun.objects.exclude(snapshots={}).update(snapshots={})


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_split_and_order_and_repetition_gives_the_same_totals(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(ROWS))))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(ROWS) - 1), max_size=3)))
    folder = tmp_path_factory.mktemp("split")
    parts = []
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(ROWS)], strict=True)):
        packing = data.draw(st.sampled_from(["csv", "csv.gz", "csv.zst"]))
        text = cur_csv([{"resourceTags/user:team": "", **ROWS[i]} for i in order[start:end]])
        # One name but for its number: what belongs together without a manifest.
        path = folder / f"part-{number}.csv"
        path.write_bytes(PACKINGS[packing](text.encode()))
        parts.append(path)
    if data.draw(st.booleans()):
        (folder / "part-99.csv").write_bytes(parts[0].read_bytes())
    run = bill_import(paths=[folder])
    try:
        assert run.state == "finished", run.error
        assert lines("sum(billed_cost), count(*)") == [(TOTAL, len(ROWS))]
        [delivery] = Delivery.objects.filter(state="current")
        assert Decimal(delivery.totals["USD"]["billed"]) == TOTAL
    finally:
        _cleared()
