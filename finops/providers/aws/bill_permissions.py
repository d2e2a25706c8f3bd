"""Whether the role for bills may do what it needs: every action tried for real, reading only.

S3 knows no dry run. Listing asks for one key; reading takes the first byte of the newest manifest or, before
the first delivery, of a key that is not there (S3 answers 403 without the right and 404 with it). Cost
Explorer takes money for each request, so it is tried only where that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

import boto3
from botocore.exceptions import ClientError

from finops.providers.aws import cost_explorer, organizations
from finops.providers.aws.bill_bucket import GET_OBJECT, LIST_BUCKET, BillPlace
from finops.providers.aws.errors import DENIED, DeniedError, error_code, translated
from finops.providers.aws.permissions import Finding, Verdict
from finops.providers.aws.session import Access, account_id, client, open_session
from finops.providers.base import PermanentError, TransientError

PROBE = "offpeak-permission-check"
DARK = {
    LIST_BUCKET: "No delivery is found: no bills by S3. Files can still be uploaded.",
    GET_OBJECT: "Deliveries are seen and cannot be read: no bills by S3. Files can still be uploaded.",
    cost_explorer.GET_COST: "No daily totals until the first export arrives, which takes up to a day.",
    organizations.LIST_ACCOUNTS: "Accounts show their numbers only, until a file with names is loaded.",
}
NEEDED = frozenset({LIST_BUCKET, GET_OBJECT})


@dataclass
class Checked:
    """What was found; `paid_requests` counts calls that AWS charges for."""

    account: str
    findings: list[Finding]
    paid_requests: int = 0


def check_bills(
    access: Access,
    place: BillPlace,
    *,
    today: date,
    pay: bool = False,
    base: boto3.Session | None = None,
) -> Checked:
    """A finding per action; one for taking the role where there is one. `pay`: try Cost Explorer too."""
    try:
        session = open_session(access, region=place.region, base=base)
        account = account_id(session, access, region=place.region)
    except (PermanentError, TransientError) as error:
        return Checked("", _nothing_known(access, place.region, error))
    found = Checked(account, [])
    if access.role_arn:
        found.findings.append(Finding("sts:AssumeRole", place.region, "allowed", True, ""))
    s3 = client(session, access, "s3", region=place.region)
    listing, manifest = _list(s3, place)
    found.findings.append(listing)
    found.findings.append(_read(s3, place, manifest))
    accounts = client(session, access, "organizations", region=organizations.REGION)
    found.findings.append(
        _try(organizations.LIST_ACCOUNTS, organizations.REGION, partial(accounts.list_accounts, MaxResults=1))
    )
    found.findings.append(_cost_explorer(session, access, today if pay else None, found))
    return found


def _list(s3: Any, place: BillPlace) -> tuple[Finding, str]:
    """(the finding, a key that is there or "")."""
    prefix = f"{place.prefix}/" if place.prefix else ""
    keys: list[str] = []

    def call() -> None:
        answer = s3.list_objects_v2(Bucket=place.bucket, Prefix=prefix, MaxKeys=1)
        keys.extend(str(item["Key"]) for item in answer.get("Contents", []))

    return _try(LIST_BUCKET, place.region, call), keys[0] if keys else ""


def _read(s3: Any, place: BillPlace, key: str) -> Finding:
    probe = f"{place.prefix}/{PROBE}" if place.prefix else PROBE

    def call() -> None:
        try:
            s3.get_object(Bucket=place.bucket, Key=key or probe, Range="bytes=0-0")
        except ClientError as error:
            # Not there, or empty: both are told only to somebody who may read.
            if error_code(error) not in {"NoSuchKey", "404", "InvalidRange"}:
                raise

    return _try(GET_OBJECT, place.region, call)


def _cost_explorer(session: boto3.Session, access: Access, today: date | None, found: Checked) -> Finding:
    action, region = cost_explorer.GET_COST, cost_explorer.REGION
    if today is None:
        price, _day = cost_explorer.request_price()
        reason = f"Not tried: a request costs {price.amount} {price.currency}."
        return Finding(action, region, "unknown", False, DARK[action], reason)
    found.paid_requests += 1
    costs = client(session, access, "ce", region=region)
    return _try(action, region, partial(costs.get_cost_and_usage, **cost_explorer.smallest_question(today)))


def _try(action: str, region: str, call: Callable[[], Any]) -> Finding:
    needed = action in NEEDED
    try:
        with translated(f"trying {action}"):
            try:
                call()
            except ClientError as error:
                if error_code(error) in DENIED | {"403"}:
                    said = error.response.get("Error", {}).get("Message", "")
                    return Finding(action, region, "denied", needed, DARK[action], str(said))
                raise
    except (PermanentError, TransientError) as error:
        return Finding(action, region, "unknown", needed, DARK[action], str(error))
    return Finding(action, region, "allowed", needed, "")


def _nothing_known(access: Access, region: str, error: PermanentError | TransientError) -> list[Finding]:
    """Without a session nothing can be asked; where the role was refused, that is the finding."""
    refused = access.role_arn and isinstance(error, DeniedError)
    verdict: Verdict = "denied" if refused else "unknown"
    first = (
        [Finding("sts:AssumeRole", region, verdict, True, "Nothing of this account can be read.", str(error))]
        if access.role_arn
        else []
    )
    rest = [
        Finding(action, region, "unknown", action in NEEDED, dark, str(error))
        for action, dark in DARK.items()
    ]
    return first + rest
