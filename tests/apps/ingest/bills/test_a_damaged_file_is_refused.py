"""A packed bill with a changed byte still reads; its checksum says that a cost is not what was sent.

The change lies behind the first megabytes, which are read in full to tell the kind.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from apps.billing.models import Delivery
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")


def test_a_cost_changed_on_the_way_refuses_the_delivery_and_the_old_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "bill.csv.gz"
    good = gzip.compress(cur_csv([{"lineItem/UnblendedCost": "1"}]).encode())
    assert import_text(path, good).state == "finished"
    rows = [{"lineItem/UnblendedCost": "1"}] * 20_000 + [{"lineItem/UnblendedCost": "4711"}]
    packed = bytearray(gzip.compress(cur_csv(rows).encode(), 0))
    packed[packed.index(b"4711")] = ord("9")
    run = import_text(path, bytes(packed))
    wrong = "the packed content is damaged (incorrect data check)"
    assert (run.state, run.error) == ("refused", f"bill.csv.gz: {wrong}")
    assert run.rejections.get().reason == wrong
    assert lines("CAST(billed_cost AS INT)") == [(1,)]
    assert Delivery.objects.get().state == "current"
