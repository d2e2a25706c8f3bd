"""A seeded CUR of realistic cardinalities: 115 columns, split in files as AWS splits them.

Cardinalities after a mid-size organisation: 60 accounts, 40 services, 20 regions, 30,000 resources, 400 usage
types, five tag keys; 8 % of lines under reservations, 12 % under a savings plan with their negations.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from isal import igzip

HEADERS_FILLED = (
    "identity/LineItemId", "identity/TimeInterval", "bill/InvoiceId", "bill/BillingEntity", "bill/BillType",
    "bill/PayerAccountId", "bill/BillingPeriodStartDate", "bill/BillingPeriodEndDate",
    "lineItem/UsageAccountId", "lineItem/LineItemType", "lineItem/UsageStartDate", "lineItem/UsageEndDate",
    "lineItem/ProductCode", "lineItem/UsageType", "lineItem/Operation", "lineItem/AvailabilityZone",
    "lineItem/ResourceId", "lineItem/UsageAmount", "lineItem/NormalizationFactor",
    "lineItem/NormalizedUsageAmount", "lineItem/CurrencyCode", "lineItem/UnblendedRate",
    "lineItem/UnblendedCost", "lineItem/BlendedRate", "lineItem/BlendedCost",
    "lineItem/LineItemDescription", "lineItem/TaxType", "lineItem/LegalEntity", "product/ProductName",
    "product/instanceType", "product/location", "product/locationType", "product/operatingSystem",
    "product/productFamily", "product/region", "product/servicecode", "product/sku", "product/tenancy",
    "product/usagetype", "product/vcpu", "product/memory", "pricing/RateId", "pricing/currency",
    "pricing/publicOnDemandCost", "pricing/publicOnDemandRate", "pricing/term", "pricing/unit",
    "reservation/AmortizedUpfrontCostForUsage", "reservation/EffectiveCost",
    "reservation/RecurringFeeForUsage", "reservation/ReservationARN",
    "reservation/UnusedAmortizedUpfrontFeeForBillingPeriod", "reservation/UnusedRecurringFee",
    "savingsPlan/SavingsPlanARN", "savingsPlan/SavingsPlanRate", "savingsPlan/SavingsPlanEffectiveCost",
    "savingsPlan/TotalCommitmentToDate", "savingsPlan/UsedCommitment", "resourceTags/user:team",
    "resourceTags/user:environment", "resourceTags/user:CostCenter", "resourceTags/user:app",
    "resourceTags/aws:createdBy",
)  # fmt: skip
COLUMNS = 115
HEADERS = HEADERS_FILLED + tuple(f"product/attribute{i:02d}" for i in range(COLUMNS - len(HEADERS_FILLED)))
_PLACE = {name: i for i, name in enumerate(HEADERS)}
CODES = (
    "AmazonEC2", "AmazonS3", "AmazonRDS", "AWSLambda", "AmazonCloudWatch", "AmazonVPC", "AWSELB",
    "AmazonDynamoDB", "AmazonCloudFront", "AmazonECS", "AmazonEKS", "AWSQueueService", "AmazonSNS",
    "AmazonElastiCache", "AmazonRedshift", "AmazonES", "awskms", "AWSCloudTrail", "AmazonRoute53", "AWSGlue",
)  # fmt: skip
REGIONS = (
    ("us-east-1", "US East (N. Virginia)"), ("eu-west-1", "EU (Ireland)"), ("us-west-2", "US West (Oregon)"),
    ("eu-central-1", "EU (Frankfurt)"), ("ap-northeast-1", "Asia Pacific (Tokyo)"),
)  # fmt: skip
FLUSH_ROWS = 4_000


def write_cur(
    folder: Path, rows: int, *, files: int = 1, seed: int = 7, month: str = "2026-03"
) -> list[Path]:
    """`rows` lines in `files` gzip files; the same seed gives the same bytes."""
    random_ = random.Random(seed)
    world = _World(random_, month)
    paths = []
    for number in range(1, files + 1):
        path = folder / f"report-{number:05d}.csv.gz"
        share = rows * number // files - rows * (number - 1) // files
        with igzip.open(path, "wb", compresslevel=2) as out:
            out.write((",".join(HEADERS) + "\n").encode())
            for chunk in world.chunks(share):
                out.write(chunk)
        paths.append(path)
    return paths


class _World:
    """Accounts, resources and rates that lines are drawn from."""

    def __init__(self, random_: random.Random, month: str) -> None:
        self._random = random_
        self._month = month
        year, number = int(month[:4]), int(month[5:])
        self._next = f"{year + number // 12}-{number % 12 + 1:02d}"
        accounts = [f"{random_.randrange(10**11, 10**12)}" for _ in range(60)]
        plans = [f"arn:aws:savingsplans::{accounts[0]}:savingsplan/{i:08x}" for i in range(6)]
        reserved = [f"arn:aws:ec2:us-east-1:{accounts[0]}:reserved-instances/{i:08x}" for i in range(40)]
        self._templates = [self._template(accounts, plans, reserved) for _ in range(30_000)]
        self._serial = 0

    def _template(
        self, accounts: list[str], plans: list[str], reserved: list[str]
    ) -> tuple[list[str], float]:
        pick = self._random
        region, location = pick.choice(REGIONS)
        code = pick.choices(CODES, weights=range(len(CODES), 0, -1))[0]
        size = pick.choice(("m5.large", "c5.xlarge", "r5.2xlarge", "t3.medium"))
        usage = (
            f"{region[:3].upper()}-BoxUsage:{size}"
            if code == "AmazonEC2"
            else f"{region[:3]}-{pick.randrange(20)}"
        )
        rate = round(pick.uniform(0.0001, 0.5), 10)
        kind = pick.choices(("Usage", "DiscountedUsage", "SavingsPlanCoveredUsage"), weights=(80, 8, 12))[0]
        row = [""] * COLUMNS
        told = {
            "bill/BillingEntity": "AWS", "bill/BillType": "Anniversary", "bill/PayerAccountId": accounts[0],
            "bill/BillingPeriodStartDate": f"{self._month}-01T00:00:00Z",
            "bill/BillingPeriodEndDate": f"{self._next}-01T00:00:00Z",
            "lineItem/UsageAccountId": pick.choice(accounts), "lineItem/LineItemType": kind,
            "lineItem/ProductCode": code, "lineItem/UsageType": usage,
            "lineItem/Operation": pick.choice(("RunInstances", "GetObject", "PutObject", "Invoke")),
            "lineItem/AvailabilityZone": f"{region}{pick.choice('abc')}" if code == "AmazonEC2" else "",
            "lineItem/ResourceId": f"arn:aws:{code.lower()}:{region}:res/{pick.randrange(16**12):012x}",
            "lineItem/CurrencyCode": "USD", "lineItem/UnblendedRate": f"{rate:.10f}",
            "lineItem/LineItemDescription": f"${rate:.4f} per unit of {usage} in {location}",
            "lineItem/LegalEntity": "Amazon Web Services, Inc.", "product/ProductName": f"Amazon {code}",
            "product/instanceType": size if code == "AmazonEC2" else "", "product/location": location,
            "product/locationType": "AWS Region", "product/operatingSystem": "Linux",
            "product/productFamily": "Compute Instance", "product/region": region,
            "product/servicecode": code, "product/sku": f"{pick.randrange(36**8):X}",
            "product/tenancy": "Shared", "product/usagetype": usage, "product/vcpu": "4",
            "product/memory": "16 GiB", "pricing/RateId": f"{pick.randrange(10**9)}",
            "pricing/currency": "USD", "pricing/publicOnDemandRate": f"{rate:.10f}",
            "pricing/term": "OnDemand", "pricing/unit": "Hrs",
            "reservation/ReservationARN": pick.choice(reserved) if kind == "DiscountedUsage" else "",
            "savingsPlan/SavingsPlanARN": pick.choice(plans) if kind.startswith("Savings") else "",
            "resourceTags/user:team": pick.choice(("web", "data", "ml", "ops", "", "")),
            "resourceTags/user:environment": pick.choice(("prod", "dev", "test", "")),
            "resourceTags/user:CostCenter": pick.choice(("", f"CC{pick.randrange(30)}")),
            "resourceTags/user:app": f"app-{pick.randrange(200)}",
        }  # fmt: skip
        for name, value in told.items():
            row[_PLACE[name]] = f'"{value}"' if "," in value else value
        for place in range(len(HEADERS_FILLED), COLUMNS, 6):
            row[place] = f"value-{pick.randrange(12)}"
        return row, rate

    def chunks(self, rows: int) -> Iterator[bytes]:
        """CSV text of so many lines, a few thousand at a time."""
        lines: list[str] = []
        for _ in range(rows):
            lines.append(self._line())
            if len(lines) == FLUSH_ROWS:
                yield ("\n".join(lines) + "\n").encode()
                lines.clear()
        if lines:
            yield ("\n".join(lines) + "\n").encode()

    def _line(self) -> str:
        template, rate = self._templates[self._random.randrange(len(self._templates))]
        row = list(template)
        self._serial += 1
        hour = self._random.randrange(28 * 24)
        start = f"{self._month}-{hour // 24 + 1:02d}T{hour % 24:02d}:00:00Z"
        amount = round(self._random.expovariate(1.0), 10)
        cost = f"{amount * rate:.10f}"
        row[0] = f"{self._serial:026x}{self._random.randrange(16**26):026x}"
        row[1] = f"{start}/{start}"
        row[_PLACE["lineItem/UsageStartDate"]] = start
        row[_PLACE["lineItem/UsageEndDate"]] = f"{start[:14]}59:59Z"
        row[_PLACE["lineItem/UsageAmount"]] = f"{amount:.10f}"
        kind = row[_PLACE["lineItem/LineItemType"]]
        row[_PLACE["lineItem/UnblendedCost"]] = "0.0000000000" if kind == "DiscountedUsage" else cost
        row[_PLACE["lineItem/BlendedCost"]] = cost
        row[_PLACE["pricing/publicOnDemandCost"]] = cost
        if kind == "DiscountedUsage":
            row[_PLACE["reservation/EffectiveCost"]] = f"{amount * rate * 0.6:.10f}"
        elif kind == "SavingsPlanCoveredUsage":
            row[_PLACE["savingsPlan/SavingsPlanEffectiveCost"]] = f"{amount * rate * 0.7:.10f}"
        return ",".join(row)
