"""Calls to EC2. A client is passed in; what comes back is AWS's own shape, page by page (`parse.py` reads
it).

Quirks of `DescribeSpotPriceHistory`: newest first; at most 90 days back; a page may be
empty and not the last, only an empty NextToken ends it; each series also gets the one row before StartTime
that was in force then; prices appear only when they change; several product names may be asked at once; a
page has at most 1,000 rows. `DescribeAvailabilityZones`: names are shuffled per account, ids are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from botocore.exceptions import ClientError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential
from tenacity.wait import wait_base

from finops.providers.aws.errors import DENIED, DRY_RUN_ALLOWED, error_code, from_client_error, translated
from finops.providers.base import PermanentError, TransientError

PAGE_ROWS = 1000
HISTORY_DAYS = 90
# On top of botocore's own attempts within a call: a throttled minute should not lose the pages before it.
CALL_ATTEMPTS = 5
BACK_OFF: wait_base = wait_random_exponential(multiplier=1, max=60)

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class SpotPriceQuestion:
    """Half-open range of times in one region; empty types or products mean all of them."""

    region: str
    start: datetime
    end: datetime
    instance_types: tuple[str, ...] = ()
    products: tuple[str, ...] = ()


def spot_price_pages(
    client: Any, question: SpotPriceQuestion, *, back_off: wait_base = BACK_OFF
) -> Iterator[list[Mapping[str, Any]]]:
    """All pages, empty ones too, until NextToken is empty. Raises TransientError or PermanentError.

    Rows: {Timestamp: aware datetime, SpotPrice: str, AvailabilityZone, InstanceType, ProductDescription}.
    """
    wanted: dict[str, Any] = {"StartTime": question.start, "EndTime": question.end, "MaxResults": PAGE_ROWS}
    if question.instance_types:
        wanted["InstanceTypes"] = list(question.instance_types)
    if question.products:
        wanted["ProductDescriptions"] = list(question.products)
    seen: set[str] = set()
    token, number = "", 0
    while True:
        number += 1
        answer = patiently(
            partial(client.describe_spot_price_history, **wanted, **({"NextToken": token} if token else {})),
            doing=f"reading Spot prices of {question.region}, page {number}",
            back_off=back_off,
        )
        yield list(answer.get("SpotPriceHistory", []))
        token = answer.get("NextToken") or ""
        if not token:
            return
        if token in seen:
            raise PermanentError(f"AWS repeats a page token in {question.region} (page {number}): stopped.")
        seen.add(token)


def availability_zones(
    client: Any, *, region: str, back_off: wait_base = BACK_OFF
) -> list[Mapping[str, Any]]:
    """Every zone of the account in the region, local ones and those not opted in too."""
    answer = patiently(
        partial(client.describe_availability_zones, AllAvailabilityZones=True),
        doing=f"reading the zones of {region}",
        back_off=back_off,
    )
    return list(answer.get("AvailabilityZones", []))


def dry_run(call: Callable[..., Any], *, doing: str, arguments: Mapping[str, Any] | None = None) -> bool:
    """Whether the call would be allowed. Raises when the answer tells nothing about permission."""
    try:
        with translated_unless_told(doing):
            call(DryRun=True, **(arguments or {}))
    except ClientError as error:
        return error_code(error) in DRY_RUN_ALLOWED
    return True


class translated_unless_told:  # noqa: N801 - reads as a verb, like contextlib's own
    """As `errors.translated`, but the two answers that a dry run is asked for pass as they are."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            return
        if isinstance(error, ClientError):
            if error_code(error) in DRY_RUN_ALLOWED | DENIED:
                return
            raise from_client_error(error, self._doing) from error
        if isinstance(error, Exception):
            with translated(self._doing):
                raise error


def patiently(call: Callable[[], Answer], *, doing: str, back_off: wait_base) -> Answer:
    """Repeats a call that failed in a way that may pass, with jittered exponential back-off.

    Raises the last TransientError, or a PermanentError at once.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(TransientError),
        stop=stop_after_attempt(CALL_ATTEMPTS),
        wait=back_off,
        reraise=True,
    )
    for attempt in retrying:
        with attempt, translated(doing):
            return call()
    raise AssertionError("tenacity ends by returning or raising")
