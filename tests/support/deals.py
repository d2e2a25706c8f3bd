"""A small bill and price list for tests of deals: 2.5 m5.large on demand for 48 hours, made up."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.management import call_command

from apps.accounts.models import Organisation
from apps.billing.models import OwnedCommitment, SeenOffer
from apps.prices.models import ListPrice, ReservedPrice, SavingsPlanPrice
from tests.support.bill_lake import put_bill

START = datetime(2018, 11, 1, tzinfo=UTC)
AT = datetime(2018, 11, 3, tzinfo=UTC)
LISTED = datetime(2018, 11, 1, tzinfo=UTC)
COMMON = {
    "provider": "aws", "region": "us-east-1", "operating_system": "linux", "licence": "none",
    "tenancy": "shared", "currency": "USD", "effective_from": LISTED, "source": "made up",
}  # fmt: skip


def bill(organisation: Organisation | None = None, quantity: str = "2.5", kind: str = "m5.large") -> None:
    """Two days of one type on demand."""
    rows = []
    for hour in range(48):
        at = START + timedelta(hours=hour)
        rows.append(
            {
                "x_day": at.date(), "x_product_code": "AmazonEC2", "x_line_item_type": "Usage",
                "x_operation": "RunInstances", "x_usage_type": f"BoxUsage:{kind}",
                "x_operating_system": "Linux", "x_tenancy": "Shared", "x_instance_type": kind,
                "x_quantity": quantity, "billed_cost": "1", "list_cost": "1",
                "availability_zone": "us-east-1a", "region_id": "us-east-1", "sub_account_id": "1",
                "charge_period_start": at, "charge_period_end": at + timedelta(hours=1),
                "billing_currency": "USD",
            }
        )  # fmt: skip
    put_bill(rows, period=date(2018, 11, 1), organisation=organisation)


def prices(kind: str = "m5.large", factor: int = 1) -> None:
    """On demand 0.1; a year all upfront 500, or 0.065 an hour."""
    ListPrice.objects.create(**COMMON, instance_type=kind, price=Decimal("0.1") * factor)
    for payment, fixed, hourly in (("all-upfront", 500, "0"), ("no-upfront", 0, "0.065")):
        ReservedPrice.objects.create(
            **COMMON, instance_type=kind, offering_class="standard", payment=payment, term_months=12,
            fixed=fixed * factor, hourly=Decimal(hourly) * factor,
        )  # fmt: skip


def plan_price(rate: str = "0.05", **more: Any) -> SavingsPlanPrice:
    """A rate of a savings plan for m5, a year, paid hourly."""
    given = {
        **COMMON, "plan": "ec2-instance", "family": "m5", "instance_type": "m5.large",
        "payment": "no-upfront", "term_months": 12, **more,
    }  # fmt: skip
    return SavingsPlanPrice.objects.create(**given, hourly=Decimal(rate))


def seen(offer: str = "o-1", fixed: str = "150", **more: Any) -> SeenOffer:
    """A second-hand m5.large with 5,840 hours left, seen at `AT`."""
    at = more.pop("at", AT)
    given = {
        "provider": "aws", "offer": offer, "kind": "second-hand", "region": "us-east-1", "zone": "",
        "platform": "Linux/UNIX", "tenancy": "default", "instance_type": "m5.large",
        "offering_class": "standard", "payment": "all-upfront", "duration_hours": Decimal(5840),
        "hourly": Decimal(0), "currency": "USD", "count": 1, "first_seen_at": at, "seen_at": at,
        "source": "made up", **more,
    }  # fmt: skip
    return SeenOffer.objects.create(**given, fixed=Decimal(fixed))


def asked(verb: str, *words: str) -> dict[str, Any]:
    """The JSON of a verb at `AT`."""
    out = io.StringIO()
    call_command(verb, *words, "--at", "2018-11-03T00:00:00Z", "--json", stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue())  # type: ignore[no-any-return]


def owned(name: str, count: int = 3, **more: Any) -> OwnedCommitment:
    """Partly paid m5.large reservations with 3,650 hours left at `AT`."""
    given = {
        "provider": "aws", "kind": "reserved", "account": "1", "region": "us-east-1",
        "platform": "Linux/UNIX", "tenancy": "default", "instance_type": "m5.large",
        "offering_class": "standard", "payment": "partial-upfront", "fixed": Decimal(300),
        "hourly": Decimal("0.01"),
        "currency": "USD", "start": AT - timedelta(hours=5110), "end": AT + timedelta(hours=3650),
        "state": "active", "first_seen_at": START, "seen_at": START, "source": "made up", **more,
    }  # fmt: skip
    return OwnedCommitment.objects.create(
        **given, commitment=name, count=count, organisation=Organisation.default()
    )
