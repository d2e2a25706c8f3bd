"""The rights that a look at own commitments needs, as an IAM policy, and whether AWS grants them.

Two reading calls. `DescribeReservedInstances` is asked with DryRun; savings plans know no DryRun, so one row
is asked for, which costs nothing and is not kept. Savings plans are one service for all regions: a limit by
region would lock it out, so only the EC2 call is narrowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import boto3
from tenacity.wait import wait_base

from finops.providers.aws.client import BACK_OFF, dry_run, patiently
from finops.providers.aws.errors import DeniedError
from finops.providers.aws.owned_commitments import PLANS_REGION
from finops.providers.aws.permissions import Finding, Verdict
from finops.providers.aws.session import Access, account_id, client, ec2, open_session
from finops.providers.base import PermanentError, ProviderError, TransientError

RESERVED = "ec2:DescribeReservedInstances"
PLANS = "savingsplans:DescribeSavingsPlans"
_DARK = {
    RESERVED: "Own reservations are known from the bill only: scope, class and changes stay dark.",
    PLANS: "Own savings plans are known from the bill only.",
}


def commitment_policy(*, regions: Sequence[str] = ()) -> dict[str, Any]:
    """The IAM policy of whoever reads own commitments; with regions the EC2 call is narrowed to them."""
    reserved: dict[str, Any] = {
        "Sid": "OffpeakReadReservedInstances",
        "Effect": "Allow",
        "Action": [RESERVED],
        "Resource": "*",
    }
    if regions:
        reserved["Condition"] = {"StringEquals": {"aws:RequestedRegion": sorted(set(regions))}}
    plans = {"Sid": "OffpeakReadSavingsPlans", "Effect": "Allow", "Action": [PLANS], "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [reserved, plans]}


def check_commitments(
    access: Access,
    *,
    regions: Sequence[str],
    base: boto3.Session | None = None,
    back_off: wait_base = BACK_OFF,
) -> tuple[str, list[Finding]]:
    """(account id or "", a finding for reservations of each region and one for savings plans)."""
    findings: list[Finding] = []
    account = ""
    try:
        session = open_session(access, region=regions[0], base=base)
        account = account_id(session, access, region=regions[0])
    except (PermanentError, TransientError) as error:
        return "", [
            Finding(action, region, "unknown", True, _DARK[action], str(error))
            for action, region in ((RESERVED, regions[0]), (PLANS, PLANS_REGION))
        ]
    for region in regions:
        call = ec2(session, access, region=region).describe_reserved_instances
        try:
            granted = dry_run(call, doing=f"asking whether {RESERVED} is allowed in {region}")
        except ProviderError as error:
            findings.append(Finding(RESERVED, region, "unknown", True, _DARK[RESERVED], str(error)))
        else:
            findings.append(_finding(RESERVED, region, "allowed" if granted else "denied"))
    asked = client(session, access, "savingsplans", region=PLANS_REGION)
    try:
        patiently(
            partial(asked.describe_savings_plans, maxResults=1),
            doing=f"asking whether {PLANS} is allowed",
            back_off=back_off,
        )
    except DeniedError as error:
        findings.append(_finding(PLANS, PLANS_REGION, "denied", str(error)))
    except ProviderError as error:
        findings.append(Finding(PLANS, PLANS_REGION, "unknown", True, _DARK[PLANS], str(error)))
    else:
        findings.append(_finding(PLANS, PLANS_REGION, "allowed"))
    return account, findings


def _finding(action: str, region: str, verdict: Verdict, reason: str = "") -> Finding:
    return Finding(action, region, verdict, True, "" if verdict == "allowed" else _DARK[action], reason)
