"""A cost check of a plan of 200 resources against reading the same JSON.

`python -m bench.checks`. The plan is made here in the documented form of `terraform show -json` (instances,
volumes, security groups, buckets; a tenth of them change). Lines: `json.loads` alone; parsed and validated
against a JSON Schema of that form by the library `jsonschema`; our reader, which does the same; reader,
prices, policies and cheaper ways; the whole check with its row in PostgreSQL. Medians of 21. Limit: the whole
check at most 10x parsing and validating by `jsonschema`; the other ratios are printed beside it.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import jsonschema

from bench.pages import main
from finops.engine.checks.alternatives import alternatives, cheaper, spot_keys, volume_keys
from finops.engine.checks.policies import DEFAULT_POLICIES, judge
from finops.engine.checks.pricing import Price, PriceKey, keys_of, price_resources
from finops.engine.checks.tables import table_price
from finops.frames.cost_items import MACHINE, Range
from finops.frames.usage_file import Usage
from finops.providers.terraform.plan import read_plan

RESOURCES, LIMIT, TIMES = 200, 10.0, 21
DAY = date(2026, 11, 30)
TYPES = ("c5.4xlarge", "m5.xlarge", "r5.large")
ACTION = {"enum": ["no-op", "create", "read", "update", "delete", "forget"]}
VALUES = {"type": ["object", "null"], "additionalProperties": True}
SCHEMA = {
    "type": "object",
    "required": ["format_version", "resource_changes"],
    "properties": {
        "format_version": {"type": "string", "pattern": r"^[01]\."},
        "resource_changes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["address", "type", "change"],
                "properties": {
                    "address": {"type": "string", "minLength": 1, "maxLength": 1000},
                    "mode": {"enum": ["managed", "data"]},
                    "type": {"type": "string"},
                    "change": {
                        "type": "object",
                        "required": ["actions", "before", "after"],
                        "properties": {
                            "actions": {"type": "array", "items": ACTION, "minItems": 1, "maxItems": 2},
                            "before": VALUES,
                            "after": VALUES,
                            "after_unknown": {"type": ["object", "boolean"]},
                        },
                    },
                },
            },
        },
        "configuration": {"type": "object"},
    },
}


def instance(i: int) -> dict[str, Any]:
    """Values of an instance as the provider gives them."""
    tags = {"Name": f"n{i}", "owner": "data"}
    disk = {"volume_type": "gp3", "volume_size": 20, "iops": 3000, "throughput": 125, "encrypted": True}
    return {
        "instance_type": TYPES[i % 3], "ami": "ami-0abc", "tags": tags, "tags_all": tags, "user_data": None,
        "availability_zone": "us-east-1a", "root_block_device": [disk], "ebs_block_device": [],
        "subnet_id": "subnet-0a1b2c3d", "vpc_security_group_ids": ["sg-1", "sg-2"], "monitoring": False,
        "credit_specification": [], "metadata_options": [{"http_tokens": "required"}],
    }  # fmt: skip


def made(count: int) -> bytes:
    """The plan."""
    rules = [{"from_port": 1, "to_port": 2, "cidr_blocks": ["10.0.0.0/8"]}] * 3
    kinds: list[tuple[str, Callable[[int], dict[str, Any]]]] = [
        ("aws_instance", instance),
        ("aws_instance", instance),
        ("aws_ebs_volume", lambda i: {"type": "gp3", "size": 100 + i, "availability_zone": "us-east-1a"}),
        ("aws_security_group", lambda i: {"name": "x", "ingress": rules, "tags": {}}),
        ("aws_s3_bucket", lambda i: {"bucket": f"b{i}", "tags": {}}),
    ]
    changes = []
    for i in range(count):
        kind, values = kinds[i % len(kinds)]
        before = values(i + 1) if i % 10 == 1 else None
        change = {
            "actions": ["update"] if before else ["create"], "before": before, "after": values(i),
            "after_unknown": {"id": True, "arn": True}, "before_sensitive": False, "after_sensitive": {},
        }  # fmt: skip
        address = f"module.app.{kind}.x[{i}]"
        changes.append(
            {"address": address, "mode": "managed", "type": kind, "name": "x", "index": i, "change": change}
        )
    region = {"region": {"constant_value": "us-east-1"}}
    configuration = {"provider_config": {"aws": {"name": "aws", "expressions": region}}, "root_module": {}}
    return json.dumps(
        {"format_version": "1.2", "terraform_version": "1.9.8", "resource_changes": changes,
         "configuration": configuration}
    ).encode()  # fmt: skip


def judged(content: bytes) -> str:
    """Reader, prices (machines at a made-up one), policies and cheaper ways: the verdicts."""
    resources = read_plan(content, file="plan.json", usage=Usage()).resources
    prices: dict[PriceKey, Price] = {}
    for key in keys_of(resources) | spot_keys(resources) | volume_keys(resources):
        made_up = Price(Range.of(Decimal("0.1")), "USD", "made up", "2026-11-30")
        price = made_up if key[0].service == MACHINE else table_price("aws", key[0], DAY)
        if price is not None:
            prices[key] = price
    priced = price_resources(resources, prices)
    cheaper(alternatives(resources, prices))
    return ", ".join(judge(policy, priced).verdict.value for policy in DEFAULT_POLICIES)


def whole(content: bytes) -> float:
    """Milliseconds of the check with its row: each is a new commit, so that none is answered from a row."""
    from apps.accounts.models import Organisation
    from apps.costchecks.services import Question, cost_check_make
    from apps.prices.models import ListPrice

    at = datetime(2026, 11, 30, tzinfo=UTC)
    for name in TYPES:
        ListPrice.objects.create(
            provider="aws", region="us-east-1", instance_type=name, operating_system="linux", licence="none",
            tenancy="shared", currency="USD", effective_from=at, price=Decimal("0.1"), source="made up",
        )  # fmt: skip
    organisation, numbers = Organisation.default(), itertools.count()

    def check() -> None:
        question = Question(content, commit=str(next(numbers)))
        cost_check_make(organisation=organisation, question=question, at=at)

    check()
    return median_ms(check)


def median_ms(work: Callable[[], object]) -> float:
    """Median milliseconds of TIMES runs."""
    taken = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1000


def child() -> int:
    """Print the lines; 1 when the limit is not kept."""
    import django

    django.setup()
    content = made(RESOURCES)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    parse = median_ms(lambda: json.loads(content))
    valid = median_ms(lambda: validator.validate(json.loads(content)))
    read = median_ms(lambda: read_plan(content, file="plan.json", usage=Usage()))
    pure, all_of_it = median_ms(lambda: judged(content)), whole(content)
    print(f"plan of {RESOURCES} resources, {len(content) / 1024:.0f} KiB: {judged(content)}")
    print(
        f"json.loads {parse:.2f} ms; parsed and validated by jsonschema {valid:.2f} ms; our reader, which "
        f"validates, {read:.2f} ms; reader, prices, policies {pure:.2f} ms; whole check with its row "
        f"{all_of_it:.2f} ms"
    )
    print(
        f"whole check = {all_of_it / valid:.2f}x parsing and validating, limit {LIMIT:.0f}; "
        f"{all_of_it / read:.2f}x our reader; {all_of_it / parse:.1f}x json.loads alone"
    )
    return 0 if all_of_it <= LIMIT * valid else 1


if __name__ == "__main__":
    sys.exit(child() if "--child" in sys.argv else main("bench.checks"))
