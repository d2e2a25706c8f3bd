"""Backup and restore of a whole installation, through the verbs."""

import json
import os
import shutil
import stat
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from finops.embedded.servers import Servers

CHECKOUT = Path(__file__).resolve().parents[2]
QUESTION = (
    *("prices", "--provider", "aws", "--region", "us-east-1", "--type", "p3.2xlarge", "--zone", "us-east-1b"),
    *("--product", "Linux/UNIX", "--from", "2020-01-01T00:00:00Z", "--to", "2020-02-01T00:00:00Z", "--json"),
)


def manage(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith("_URL")
        and name not in ("SECRET_KEY", "LAKE_WAREHOUSE", "DJANGO_SETTINGS_MODULE")
    }
    command = [sys.executable, str(CHECKOUT / "manage.py"), *words]
    env = {**kept, "OFFPEAK_HOME": str(home)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def prices(home: Path) -> dict[str, Any]:
    done = manage(home, *QUESTION)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    answer["evidence"].pop("at")
    return answer


BILL = (
    "identity/LineItemId,identity/TimeInterval,bill/PayerAccountId,bill/BillingEntity,bill/InvoiceId,"
    "bill/BillingPeriodStartDate,bill/BillingPeriodEndDate,lineItem/UsageAccountId,lineItem/LineItemType,"
    "lineItem/UsageStartDate,lineItem/UsageEndDate,lineItem/ProductCode,lineItem/UsageType,"
    "lineItem/UsageAmount,lineItem/CurrencyCode,lineItem/UnblendedRate,lineItem/UnblendedCost\n"
    "a,2026-01-01T00:00:00Z/2026-01-02T00:00:00Z,111122223333,AWS,1,2026-01-01T00:00:00Z,"
    "2026-02-01T00:00:00Z,111122223333,Usage,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z,AmazonEC2,"
    "BoxUsage:m5.large,24,USD,0.096,2.304\n"
)
SPEND = ("spend", "--from", "2026-01-01", "--to", "2026-02-01", "--by", "service", "--json")


def running(home: Path) -> AbstractContextManager[object]:
    """The servers of a home kept running, so that not every verb starts and stops them."""
    return Servers.of(home, durable=False).held()


def document(home: Path, *words: str) -> dict[str, Any]:
    done = manage(home, *words)
    assert done.returncode == 0, done.stderr + done.stdout
    answer: dict[str, Any] = json.loads(done.stdout)
    answer.get("evidence", {}).pop("at", None)
    return answer


@dataclass(frozen=True)
class Saved:
    """A home with prices and a bill, its backup, and what it answered."""

    home: Path
    folder: Path
    prices: dict[str, Any]
    spend: dict[str, Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    base = tmp_path_factory.mktemp("backup")
    home, folder, bill = base / "home", base / "backup", base / "january.csv"
    bill.write_text(BILL)
    with running(home):
        assert manage(home, "demo").returncode == 0
        document(home, "import_bill", str(bill), "--json")
        answers = prices(home), document(home, *SPEND)
        assert answers[0]["opening_price"]
        assert answers[1]["total"]
        written = document(home, "backup", str(folder), "--json")
        assert written["lake"] == str(home / "lake")
        again = manage(home, "backup", str(folder))
        assert again.returncode == 3
        assert "is not an empty folder" in again.stderr
        over = manage(home, "restore", str(folder))
        assert over.returncode == 3
        assert "already holds data" in over.stderr
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["backup.json", "database.dump", "lake"]
    return Saved(home, folder, *answers)


def test_a_backup_restores_to_the_same_place(saved: Saved) -> None:
    lost = saved.home.with_name("lost")
    saved.home.rename(lost)
    try:
        with running(saved.home):
            document(saved.home, "restore", str(saved.folder), "--json")
            assert (prices(saved.home), document(saved.home, *SPEND)) == (saved.prices, saved.spend)
    finally:
        shutil.rmtree(saved.home)
        lost.rename(saved.home)


def test_a_backup_restores_to_another_place_and_goes_on_there(saved: Saved, tmp_path: Path) -> None:
    other, bill, later = tmp_path / "away from home", tmp_path / "january.csv", tmp_path / "later.csv"
    gone = saved.home.with_name("gone")
    saved.home.rename(gone)  # nothing of the old place can be read by mistake
    try:
        with running(other):
            restored = document(other, "restore", str(saved.folder), "--json")
            assert restored["lake"] == str(other / "lake")
            assert (prices(other), document(other, *SPEND)) == (saved.prices, saved.spend)
            lake = other / "lake"
            assert [p for p in lake.rglob("*.json") if str(saved.home / "lake") in p.read_text()] == []
            assert list(lake.rglob("*.moving")) == []

            # What is loaded there lands there: a price, the same bill again, a corrected one.
            later.write_text(
                "AvailabilityZone,InstanceType,ProductDescription,SpotPrice,Timestamp\n"
                "us-east-1b,p3.2xlarge,Linux/UNIX,0.9999,2026-11-01T00:00:00Z\n"
            )
            run = document(other, "import_prices", str(later), "--region", "us-east-1", "--json")["runs"][0]
            assert run["stored"] == 1
            assert prices(other)["changes"] == saved.prices["changes"]
            bill.write_text(BILL)
            again = document(other, "import_bill", str(bill), "--json")
            assert again["deliveries"][0]["unchanged"] is True
            bill.write_text(BILL.replace("2.304", "3.000"))
            document(other, "import_bill", str(bill), "--json")
            corrected = document(other, *SPEND)
            assert corrected["total"] != saved.spend["total"]
            document(other, "backup", str(tmp_path / "second"), "--json")
    finally:
        gone.rename(saved.home)

    third = tmp_path / "third"
    with running(third):
        document(third, "restore", str(tmp_path / "second"), "--json")
        assert prices(third)["changes"] == saved.prices["changes"]
        assert document(third, *SPEND)["total"] == corrected["total"]


def test_a_broken_or_foreign_backup_is_refused_and_leaves_nothing(saved: Saved, tmp_path: Path) -> None:
    folder, other = tmp_path / "backup", tmp_path / "other"
    shutil.copytree(saved.folder, folder)
    facts = json.loads((folder / "backup.json").read_text())
    assert sorted(facts["files"]) == sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "backup.json"
    )
    data, cut = next(folder.rglob("*.parquet")), folder / "database.dump"

    def refused(words: str) -> None:
        done = manage(other, "restore", str(folder), "--json")
        assert done.returncode == 3, done.stderr
        assert words in json.loads(done.stdout)["error"]["message"]
        assert list((other / "lake").iterdir()) == []

    with running(other):
        for path in (data, cut):
            whole = path.read_bytes()
            path.write_bytes(whole[:-10])
            refused(f"{path.relative_to(folder).as_posix()} is cut or was changed")
            path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
            refused("is cut or was changed")
            path.unlink()
            refused(f"{path.relative_to(folder).as_posix()} is missing")
            path.write_bytes(whole)
        (folder / "lake" / "more.parquet").write_bytes(b"x")
        refused("lake/more.parquet is not part of this backup")
        (folder / "lake" / "more.parquet").unlink()
        (folder / "backup.json").write_text(json.dumps({**facts, "version": "99.0.0"}))
        refused("This backup is of version 99.0.0")
        # Without its list of files (a backup of before) a lake that cannot be read is refused too.
        old = {name: value for name, value in facts.items() if name != "files"}
        (folder / "backup.json").write_text(json.dumps(old))
        next(folder.rglob("metadata/*.avro")).write_bytes(b"Obj\x01cut")
        refused("cannot be read")
        (folder / "backup.json").write_text("{")
        refused("holds no whole backup")
