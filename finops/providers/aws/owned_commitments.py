"""Own commitments: answers of `DescribeReservedInstances` and `DescribeSavingsPlans`, saved or live;
saved ones of `DescribeReservedInstancesListings` say which reservations are for sale already.

Quirks: reservations are answered in one page, of one region, without their account and, where they are
regional, without a region: the caller gives both; savings plans are of all regions, come in pages by
`nextToken` and name their account in the ARN; a retired reservation stays in the answer for some time, one
that was modified is retired and followed by a new id; `Duration` is in seconds; `FixedPrice` and the charges
are per reservation, those of a plan are of the whole plan and text. `UsagePrice` (hourly, of light and
medium use before 2015) is an hourly charge here, as `RecurringCharges` are. Reservations of databases, caches
and search have answers of their own and are refused by name: their use is not instance-hours.
Sources: the EC2 and Savings Plans API references, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from tenacity.wait import wait_base

from finops.frames.commitments import CommitmentKind
from finops.frames.offers import platform_of
from finops.frames.owned import LISTING_STATES, Listed, Owned, check
from finops.providers.aws.client import BACK_OFF, patiently
from finops.providers.aws.files import json_documents
from finops.providers.aws.reading import Reading
from finops.providers.aws.values import decimal_of, hourly_of, moment_of
from finops.providers.base import PermanentError

PROVIDER = "aws"
RESERVED = "ReservedInstances"
PLANS = "savingsPlans"
LISTINGS = "ReservedInstancesListings"
PAGE_ROWS = 1000
# Savings plans are answered by one address for all regions.
PLANS_REGION = "us-east-1"
OTHERS = {
    "ReservedDBInstances": "databases (RDS)",
    "ReservedCacheNodes": "caches (ElastiCache)",
    "ReservedNodes": "Redshift or MemoryDB nodes",
    "ReservedElasticsearchInstances": "search domains",
    "ReservedInstancesOfferings": "offers, which import_offers reads",
    "searchResults": "rates of savings plans",
}
KNOWN = (
    "an answer of describe-reserved-instances, describe-reserved-instances-listings or describe-savings-plans"
)
_PAYMENTS = {"All Upfront": "all-upfront", "No Upfront": "no-upfront", "Partial Upfront": "partial-upfront"}
_PLANS = {
    "Compute": "compute",
    "EC2Instance": "ec2-instance",
    "SageMaker": "sagemaker",
    "Database": "database",
}
_PLAN_FIELDS = {"Start": "start", "End": "end", "Duration": "termDurationInSeconds"}
_NO_TERM = {"Start": "no time", "End": "no time", "Duration": "neither an end nor a duration in seconds"}
LONGEST_TERM_SECONDS = 100 * 366 * 86400
_ZONE = re.compile(r"^([a-z]{2}(?:-[a-z]+)+-\d)[a-z]?$")
REGION_IN_NAME = re.compile(r"(?<![a-z])((?:us|eu|ap|sa|ca|me|af|il|mx|cn)(?:-gov)?-[a-z]+-\d)(?!\d)")
_PLAN_ARN = re.compile(r"^arn:aws[a-z-]*:savingsplans:[^:]*:(\d{12}):savingsplan/")


def owned_of(
    name: str, data: bytes, *, seen_at: datetime, region: str = "", account: str = ""
) -> Reading[Owned | Listed]:
    """Commitments and listings of one or several JSON answers. `region` and `account` hold for reservations;
    without `region` the file's name or a reservation's zone may tell it.
    """
    documents, problem = json_documents(data)
    if len(documents) == 1 and isinstance(documents[0], list):
        documents = documents[0]
    if problem or not documents:
        return Reading.unreadable(problem or "empty")
    named = REGION_IN_NAME.findall(name.rsplit("/", 1)[-1])
    region = region or (named[0] if len(set(named)) == 1 else "")
    whole: Reading[Owned | Listed] = Reading()
    row = 1
    for document in documents:
        reason = not_ours(document)
        if reason:
            return Reading.unreadable(reason)
        if LISTINGS in document:
            listed = _listings(document, seen_at=seen_at, first_row=row)
            whole.rows += listed.rows
            whole.refused += listed.refused
        else:
            part = read_owned(document, seen_at=seen_at, region=region, account=account, first_row=row)
            whole.rows += part.rows
            whole.refused += part.refused
        row += len(_rows(document))
    return whole


def not_ours(document: Any) -> str:
    """Why a JSON document is none of ours, or an empty text."""
    if not isinstance(document, Mapping):
        return f"JSON, but not {KNOWN}"
    if isinstance(document.get(RESERVED), list):
        rows = document[RESERVED]
        search = rows and isinstance(rows[0], Mapping) and "ReservedInstanceId" in rows[0]
        return _other("search domains") if search else ""
    if isinstance(document.get(PLANS), list) or isinstance(document.get(LISTINGS), list):
        return ""
    found = next((what for key, what in OTHERS.items() if key in document), None)
    return _other(found) if found else f"JSON, but not {KNOWN}"


def _other(what: str) -> str:
    return f"commitments of {what}: only those of EC2 and savings plans are read ({KNOWN})"


def _rows(document: Mapping[str, Any]) -> list[Any]:
    return list(next(document[key] for key in (RESERVED, LISTINGS, PLANS) if key in document))


def _listings(document: Mapping[str, Any], *, seen_at: datetime, first_row: int) -> Reading[Listed]:
    reading: Reading[Listed] = Reading()
    for number, row in enumerate(_rows(document), start=first_row):
        if not isinstance(row, Mapping):
            reading.refuse(number, "", "no object")
            continue
        state, name = str(row.get("Status") or "").casefold(), str(row.get("ReservedInstancesId") or "")
        if not name:
            reading.refuse(number, "ReservedInstancesId", "empty")
        elif state not in LISTING_STATES:
            reading.refuse(number, "Status", f"not known: {row.get('Status')!r}")
        else:
            reading.rows.append((number, Listed(PROVIDER, name, state, seen_at)))
    return reading


def read_owned(
    document: Mapping[str, Any],
    *,
    seen_at: datetime,
    region: str = "",
    account: str = "",
    first_row: int = 1,
) -> Reading[Owned]:
    """The commitments of one answer; one bad row is one refusal."""
    reading: Reading[Owned] = Reading()
    reserved = RESERVED in document
    for number, row in enumerate(_rows(document), start=first_row):
        if not isinstance(row, Mapping):
            reading.refuse(number, "", "no object")
            continue
        found = _reserved(row, seen_at, region, account) if reserved else _plan(row, seen_at)
        problem = found if isinstance(found, tuple) else check(found)
        if problem is not None:
            reading.refuse(number, *problem)
        elif isinstance(found, Owned):
            reading.rows.append((number, found))
    return reading


def _reserved(
    row: Mapping[str, Any], seen_at: datetime, region: str, account: str
) -> Owned | tuple[str, str]:
    zone = str(row.get("AvailabilityZone") or "")
    at_zone = _ZONE.match(zone)
    platform = platform_of(str(row.get("ProductDescription") or ""))
    if not platform:
        return "ProductDescription", f"not known: {row.get('ProductDescription')!r}"
    term = _term(row.get("Start"), row.get("End"), row.get("Duration"))
    if isinstance(term, str):
        return term, _NO_TERM[term]
    count = decimal_of(row.get("InstanceCount"))
    if count is None or count != count.to_integral_value():
        return "InstanceCount", "no whole number"
    fixed, hourly = decimal_of(row.get("FixedPrice")), hourly_of(row.get("RecurringCharges"))
    if hourly is None:
        return "RecurringCharges", "a frequency other than Hourly, or no amount"
    usage = decimal_of(row.get("UsagePrice") or 0)
    if usage is None:
        return "UsagePrice", "no number"
    return Owned(
        provider=PROVIDER,
        id=str(row.get("ReservedInstancesId") or ""),
        kind=CommitmentKind.RESERVED,
        account=account,
        region=region or (at_zone[1] if at_zone else ""),
        zone=zone,
        platform=platform,
        tenancy=str(row.get("InstanceTenancy") or "default"),
        instance_type=str(row.get("InstanceType") or ""),
        plan="",
        family="",
        offering_class=str(row.get("OfferingClass") or "unknown").casefold(),
        payment=_payment(row.get("OfferingType")),
        count=int(count),
        commitment_per_hour=None,
        fixed=fixed,
        hourly=hourly + usage,
        currency=str(row.get("CurrencyCode") or "USD"),
        start=term[0],
        end=term[1],
        state=str(row.get("State") or "").casefold(),
        seen_at=seen_at,
    )


def _plan(row: Mapping[str, Any], seen_at: datetime) -> Owned | tuple[str, str]:
    arn = str(row.get("savingsPlanArn") or "")
    owner = _PLAN_ARN.match(arn)
    if owner is None:
        return "savingsPlanArn", f"no ARN of a savings plan: {arn!r}"
    kind = _PLANS.get(str(row.get("savingsPlanType") or ""))
    if kind is None:
        return "savingsPlanType", f"not known: {row.get('savingsPlanType')!r}"
    term = _term(row.get("start"), row.get("end"), row.get("termDurationInSeconds"))
    if isinstance(term, str):
        return _PLAN_FIELDS[term], _NO_TERM[term]
    commitment = decimal_of(row.get("commitment"))
    if commitment is None:
        return "commitment", "no number"
    return Owned(
        provider=PROVIDER,
        id=str(row.get("savingsPlanId") or arn.rpartition("/")[2]),
        kind=CommitmentKind.SAVINGS_PLAN,
        account=owner[1],
        region=str(row.get("region") or ""),
        zone="",
        platform="",
        tenancy="",
        instance_type="",
        plan=kind,
        family=str(row.get("ec2InstanceFamily") or ""),
        offering_class="",
        payment=_payment(row.get("paymentOption")),
        count=None,
        commitment_per_hour=commitment,
        fixed=decimal_of(row.get("upfrontPaymentAmount")),
        hourly=decimal_of(row.get("recurringPaymentAmount")),
        currency=str(row.get("currency") or ""),
        start=term[0],
        end=term[1],
        state=str(row.get("state") or "").casefold(),
        seen_at=seen_at,
    )


def _payment(text: Any) -> str:
    return _PAYMENTS.get(str(text or ""), "other")


def _term(start: Any, end: Any, seconds: Any) -> tuple[datetime, datetime] | str:
    """(start, end), or the field that is wrong. A queued one may have no end yet: start and duration give
    it.
    """
    begun = moment_of(start)
    if begun is None:
        return "Start"
    ends = moment_of(end)
    if ends is None and end not in (None, ""):
        return "End"
    if ends is None:
        length = decimal_of(seconds)
        if length is None or not 0 < length <= LONGEST_TERM_SECONDS:
            return "Duration"
        ends = begun + timedelta(seconds=int(length))
    return begun, ends


def reserved_page(client: Any, *, region: str, back_off: wait_base = BACK_OFF) -> Mapping[str, Any]:
    """All reservations of the account in the region. Raises TransientError or PermanentError."""
    answer: Mapping[str, Any] = patiently(
        client.describe_reserved_instances, doing=f"reading own reservations in {region}", back_off=back_off
    )
    return answer


def plan_pages(client: Any, *, back_off: wait_base = BACK_OFF) -> Iterator[Mapping[str, Any]]:
    """All pages of savings plans in any state. Raises TransientError or PermanentError."""
    seen: set[str] = set()
    token, number = "", 0
    while True:
        number += 1
        more = {"nextToken": token} if token else {}
        answer = patiently(
            partial(client.describe_savings_plans, maxResults=PAGE_ROWS, **more),
            doing=f"reading own savings plans, page {number}",
            back_off=back_off,
        )
        yield answer
        token = answer.get("nextToken") or ""
        if not token:
            return
        if token in seen:
            raise PermanentError(f"AWS repeats a page token of savings plans (page {number}): stopped.")
        seen.add(token)
