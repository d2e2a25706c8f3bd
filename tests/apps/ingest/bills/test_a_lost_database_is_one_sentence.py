"""A database that goes away in the middle of an import: one sentence in the log, no traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from apps.ingest.bills import run as bills
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")


def test_the_failure_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def gone(*_args: Any, **_options: Any) -> None:
        raise OperationalError("server closed the connection\n\tunexpectedly")

    monkeypatch.setattr(bills.swap, "decide", gone)
    run = import_text(tmp_path / "b.csv", cur_csv([{"lineItem/UnblendedCost": "1"}]))
    assert (run.state, run.error) == ("failed", "server closed the connection unexpectedly")
    told = [record.getMessage() for record in caplog.records if "bill_run_failed" in record.getMessage()]
    assert len(told) == 1
    assert "Traceback" not in told[0]
