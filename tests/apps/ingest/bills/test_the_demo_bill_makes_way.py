"""The demo's bill: exact sums of the real one, loaded once, gone when the account's own bill comes."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from apps.accounts.models import Organisation
from apps.billing.models import Delivery
from apps.ingest.bills.demo import demo_bill_load
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import import_lines

pytestmark = pytest.mark.usefixtures("lake_folder")


def test_it_has_the_sums_of_the_real_bill_and_makes_way_for_an_own_one(tmp_path: Path) -> None:
    run = demo_bill_load()
    assert (run.state, run.rows_read, run.stored, run.rejected) == ("finished", 18_192, 18_192, 0)
    months = {one.billing_period: one for one in Delivery.objects.all()}
    october, november = months[date(2018, 10, 1)], months[date(2018, 11, 1)]
    assert (october.totals["USD"]["billed"], october.totals["USD"]["amortised"]) == (
        "4064.4831315379",
        "4195.9571093179",
    )
    assert (november.totals["USD"]["billed"], november.totals["USD"]["amortised"]) == (
        "3505.3269681268",
        "3632.5598464968",
    )
    assert (october.kind, october.stopgap) == ("demo", False)

    again = demo_bill_load()
    assert (again.state, again.stored, Delivery.objects.count()) == ("finished", 0, 2)

    own = Organisation.objects.create(name="Own", slug="own")
    import_lines(
        [{"billed_cost": "1", "billing_account_id": "111111111111", "provider_name": "AWS"}],
        tmp_path,
        period=date(2018, 10, 1),
        organisation=own,
    )
    october.refresh_from_db()
    november.refresh_from_db()
    assert (october.state, november.state) == ("superseded", "current")
    assert lines("x_month, sum(billed_cost)", "true GROUP BY 1") == [
        ("2018-10", Decimal("1")),
        ("2018-11", Decimal("3505.3269681268")),
    ]
    assert demo_bill_load().stored == 0
