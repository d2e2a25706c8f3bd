"""Reads the Spot archives of `OFFPEAK_BENCH_DATA` straight into one frame of change points, for benches of
the engine.

The product's own readers (`finops.providers.files`) are measured elsewhere: here only the numbers matter, so
rows that are no price are skipped without a word. Grain: one row per series and change.
"""

from __future__ import annotations

import io
import json
import lzma
import tarfile
from pathlib import Path

import pandas as pd

COLUMNS = ["provider", "region", "zone_key", "instance_type", "product", "currency", "at", "price"]
_KEY = ["provider", "region", "zone_key", "instance_type", "product", "currency"]
_API_FIELDS = ["SpotPrice", "Timestamp", "InstanceType", "ProductDescription", "AvailabilityZone"]
_CLI_COLUMNS = ["price", "at", "instance_type", "product", "zone_key"]


def _frame(rows: pd.DataFrame, source: str) -> pd.DataFrame:
    """Adds the constant columns, parses times and prices, drops what is no price."""
    frame = rows.assign(
        provider="aws",
        currency="USD",
        region=rows["zone_key"].str.replace(r"[a-z]$", "", regex=True),
        at=pd.to_datetime(rows["at"], utc=True, format="ISO8601").astype("datetime64[us, UTC]"),
        price=pd.to_numeric(rows["price"], errors="coerce"),
        source=source,
    )
    frame = frame[frame["price"] > 0]
    return frame.drop_duplicates([*_KEY, "at"], keep="first")[[*COLUMNS, "source"]]


def _documents(texts: list[bytes]) -> pd.DataFrame:
    rows: list[tuple[str, ...]] = []
    for text in texts:
        try:
            history = json.loads(text)["SpotPriceHistory"]
        except (ValueError, KeyError):
            continue
        rows += [tuple(row[name] for name in _API_FIELDS) for row in history]
    return pd.DataFrame(rows, columns=_CLI_COLUMNS)


def gpu_2020(root: Path) -> pd.DataFrame:
    """p2 and p3, 2019-12..2020-03, two regions (training_on_a_dime, MIT)."""
    files = sorted((root / "spot" / "gpu-2020").glob("*/*.json"))
    return _frame(_documents([f.read_bytes() for f in files]), "gpu-2020")


def us_east_1_2021(root: Path) -> pd.DataFrame:
    """us-east-1, 2021-03..2021-05, 253 types."""
    texts = []
    with tarfile.open(root / "spot" / "us-east-1_2021-03-02_2021-05-31.json.tar.xz") as archive:
        for member in archive:
            handle = archive.extractfile(member) if member.name.endswith(".json") else None
            if handle is not None:
                texts.append(handle.read())
    return _frame(_documents(texts), "us-east-1-2021")


def _cli_text(path: Path) -> pd.DataFrame:
    text = lzma.decompress(path.read_bytes())
    columns = ["tag", *_CLI_COLUMNS]
    frame = pd.read_csv(io.BytesIO(text), sep="\t", names=columns, header=None, dtype=str)
    return frame[_CLI_COLUMNS].dropna()


def eu_west_1_2021_12(root: Path) -> pd.DataFrame:
    """eu-west-1, 2021-12..2022-03, 478 types."""
    return _frame(_cli_text(root / "spot" / "eu-west-1_2021-12-13_2022-03-13.tsv.xz"), "eu-west-1-2021-12")


def eu_west_1_2021_08(root: Path) -> pd.DataFrame:
    """eu-west-1, 31 daily dumps of 2021-08."""
    files = sorted((root / "spot" / "eu-west-1_2021-08").glob("*.xz"))
    return _frame(pd.concat([_cli_text(f) for f in files], ignore_index=True), "eu-west-1-2021-08")


def auction_2016(root: Path) -> pd.DataFrame:
    """us-east-1b, 2016-02..2016-04, 20 types, auction-era prices."""
    frame = pd.read_csv(root / "spot" / "us-east-1b_2016-02_2016-04_auction-era.csv.xz", dtype=str)
    names = {
        "Timestamp": "at",
        "AvailabilityZone": "zone_key",
        "InstanceType": "instance_type",
        "ProductDescription": "product",
        "SpotPrice": "price",
    }
    return _frame(frame.rename(columns=names), "auction-2016")


def known_ranges(changes: pd.DataFrame) -> pd.DataFrame:
    """One range a series: from its first row to the newest row of its source in its region."""
    end = changes.groupby(["source", "region"])["at"].transform("max")
    frame = changes.assign(known_to=end).groupby(_KEY, sort=False)
    return frame.agg(known_from=("at", "min"), known_to=("known_to", "max")).reset_index()
