"""The rights that the product needs, as an IAM policy, and whether AWS grants them.

Least privilege: two read-only calls on prices and zones. Neither supports limits by resource (Service
Authorization Reference for EC2), so the policy narrows them by region. Checked by DryRun: AWS answers
DryRunOperation where the call would be allowed and UnauthorizedOperation where not, and does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import boto3

from finops.providers.aws.client import dry_run
from finops.providers.aws.session import Access, account_id, ec2, open_session
from finops.providers.base import PermanentError, TransientError

Verdict = Literal["allowed", "denied", "unknown"]


@dataclass(frozen=True)
class Right:
    """One action; `dark` says what is missing without it; `needed` = the feed cannot work."""

    action: str
    needed: bool
    dark: str
    method: str


RIGHTS = (
    Right(
        "ec2:DescribeSpotPriceHistory",
        True,
        "No live Spot prices: advice rests on imported files and grows stale.",
        "describe_spot_price_history",
    ),
    Right(
        "ec2:DescribeAvailabilityZones",
        True,
        "Zone names cannot be told from zone ids: prices of two accounts cannot be compared zone by zone.",
        "describe_availability_zones",
    ),
)


@dataclass(frozen=True)
class Finding:
    """The verdict on one action in one region, and why it is not known or what stays dark."""

    action: str
    region: str
    verdict: Verdict
    needed: bool
    dark: str
    reason: str = ""


def policy(*, regions: Sequence[str] = (), take_role: str = "") -> dict[str, Any]:
    """The IAM policy of whoever reads the prices; with regions only calls to them.

    With `take_role` the policy of the service's own identity instead, which then needs no more than to take
    that role (the first form belongs to the role).
    """
    if take_role:
        statement: dict[str, Any] = {
            "Sid": "OffpeakTakeRole",
            "Effect": "Allow",
            "Action": ["sts:AssumeRole"],
            "Resource": take_role,
        }
    else:
        statement = {
            "Sid": "OffpeakReadSpotPrices",
            "Effect": "Allow",
            "Action": sorted(right.action for right in RIGHTS),
            "Resource": "*",
        }
        if regions:
            statement["Condition"] = {"StringEquals": {"aws:RequestedRegion": sorted(set(regions))}}
    return {"Version": "2012-10-17", "Statement": [statement]}


def check(
    access: Access, *, regions: Sequence[str], base: boto3.Session | None = None
) -> tuple[str, list[Finding]]:
    """(account id or "", a finding per region and action; one for taking the role where there is one)."""
    findings: list[Finding] = []
    account = ""
    for region in regions:
        try:
            session = open_session(access, region=region, base=base)
            account = account or account_id(session, access, region=region)
        except (PermanentError, TransientError) as error:
            return account, findings + _nothing_known(region, access, error)
        if access.role_arn:
            findings.append(Finding("sts:AssumeRole", region, "allowed", True, ""))
        client = ec2(session, access, region=region)
        findings += [_finding(right, region, getattr(client, right.method)) for right in RIGHTS]
    return account, findings


def _finding(right: Right, region: str, call: Callable[..., Mapping[str, Any]]) -> Finding:
    try:
        allowed = dry_run(call, doing=f"asking whether {right.action} is allowed in {region}")
    except (PermanentError, TransientError) as error:
        return Finding(right.action, region, "unknown", right.needed, right.dark, str(error))
    return Finding(
        right.action, region, "allowed" if allowed else "denied", right.needed, "" if allowed else right.dark
    )


def _nothing_known(region: str, access: Access, error: PermanentError | TransientError) -> list[Finding]:
    """Without a session nothing can be asked; where the role was refused, that is the finding."""
    denied = bool(access.role_arn) and isinstance(error, PermanentError)
    first = (
        [
            Finding(
                "sts:AssumeRole", region, "denied", True, "Nothing of this account can be read.", str(error)
            )
        ]
        if denied
        else []
    )
    return first + [
        Finding(right.action, region, "unknown", right.needed, right.dark, str(error)) for right in RIGHTS
    ]
