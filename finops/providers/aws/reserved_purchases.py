"""Ordering Reserved Instances: `PurchaseReservedInstancesOffering`, and looking before and after it.

Quirks: the call takes no client token, so it is made once, never repeated by the client, and what came of it
is looked up where no answer came; an order of a second-hand offering is filled from the cheapest listing on
and `LimitPrice` caps the whole order, new offerings take no limit; the answer names one reservation, an
order filled at several prices may bring several; a reservation is payment-pending before it is active or
payment-failed. Rights: ec2:PurchaseReservedInstancesOffering, ec2:DescribeReservedInstances and
ec2:DescribeReservedInstancesOfferings. Source: the EC2 API reference, read 2026-11.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
)
from botocore.parsers import ResponseParserError
from tenacity.wait import wait_base

from finops.frames.offers import Offer
from finops.frames.owned import Owned
from finops.frames.purchases import Order
from finops.providers.aws.client import BACK_OFF, dry_run
from finops.providers.aws.errors import THROTTLED, UNAVAILABLE, error_code, from_client_error, translated
from finops.providers.aws.owned_live import OwnAccount, open_account
from finops.providers.aws.reading import Reading
from finops.providers.aws.reserved_offers import OFFERINGS, offering_pages, read_offerings
from finops.providers.aws.session import Access, client_config, ec2
from finops.providers.base import PermanentError, ProviderError

ACTIONS = (
    "ec2:DescribeReservedInstances",
    "ec2:DescribeReservedInstancesOfferings",
    "ec2:PurchaseReservedInstancesOffering",
)


def buying_policy() -> dict[str, Any]:
    """The IAM policy of a role that buys and does nothing else. These calls take no limits by resource."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "OffpeakBuyReserved", "Effect": "Allow", "Action": list(ACTIONS), "Resource": "*"}
        ],
    }


class OutcomeUnknownError(ProviderError):
    """The order was sent and no answer tells whether it was carried out: look, never send it again."""


@dataclass(frozen=True)
class Desk:
    """The desk of one account and region."""

    own: OwnAccount
    region: str

    def listings(self, offer: str, *, seen_at: datetime) -> list[Offer]:
        """The offering's listings as they are now; none when it is gone. Raises as `errors.translated`."""
        client = ec2(self.own.session, self.own.access, region=self.region)
        rows: list[Any] = []
        asked = {"reserved-instances-offering-id": [offer]}
        for page in offering_pages(client, region=self.region, filters=asked, back_off=self.own.back_off):
            rows += page.get(OFFERINGS) or []
        reading = read_offerings({OFFERINGS: rows}, seen_at=seen_at, region=self.region)
        _whole(reading, f"The offering {offer} cannot be read")
        return [one for _, one in reading.rows if one.offer == offer]

    def held(self, *, seen_at: datetime) -> list[Owned]:
        """All reservations of the region; one that cannot be read is an error, since it may be the one."""
        reading = self.own.reserved(self.region, seen_at=seen_at)
        _whole(reading, f"A reservation in {self.region} cannot be read")
        return [one for _, one in reading.rows]

    def allowed(self, order: Order) -> bool:
        """Whether the account may order; a dry run, nothing is bought. Raises as `errors.translated`."""
        call = self._purchaser().purchase_reserved_instances_offering
        return dry_run(call, doing=f"trying an order in {self.region}", arguments=_arguments(order))

    def purchase(self, order: Order) -> str:
        """Send the order once; the id of the reservation. This spends money.

        Raises OutcomeUnknownError when the order may have been carried out, TransientError or PermanentError
        when it was not.
        """
        doing = f"ordering in {self.region}"
        try:
            answer = self._purchaser().purchase_reserved_instances_offering(**_arguments(order))
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            code = error_code(error)
            if code not in THROTTLED and (code in UNAVAILABLE or status >= 500):
                raise _unknown(error) from error
            raise from_client_error(error, doing) from error
        except (ConnectTimeoutError, EndpointConnectionError):
            # No connection came about, so nothing was sent.
            with translated(doing):
                raise
        except (HTTPClientError, ResponseParserError, BotoCoreError) as error:
            raise _unknown(error) from error
        found = str(answer.get("ReservedInstancesId") or "")
        if not found:
            raise OutcomeUnknownError("AWS answered the order without naming a reservation.")
        return found

    def _purchaser(self) -> Any:
        """A client that sends each call once."""
        return self.own.session.client(
            "ec2",
            region_name=self.region,
            endpoint_url=self.own.access.endpoint_url or None,
            config=client_config(attempts=1),
        )


def open_desk(access: Access, *, region: str, account: str, back_off: wait_base | None = None) -> Desk:
    """The desk of `account`. Raises PermanentError where the credentials are another account's."""
    own = open_account(access, region=region, back_off=back_off or BACK_OFF)
    if own.account != account:
        raise PermanentError(
            f"The credentials belong to account {own.account}, the purchase is for {account}: "
            "nothing was bought."
        )
    return Desk(own, region)


def _arguments(order: Order) -> dict[str, Any]:
    limit = (
        {"Amount": float(order.limit), "CurrencyCode": order.currency} if order.limit is not None else None
    )
    return {
        "ReservedInstancesOfferingId": order.offer,
        "InstanceCount": order.quantity,
        **({"LimitPrice": limit} if limit else {}),
    }


def _unknown(error: Exception) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"The order was sent and no clear answer came ({type(error).__name__}): it may have been carried out."
    )


def _whole(reading: Reading[Any], what: str) -> None:
    if reading.refused:
        row, field, reason = reading.refused[0]
        raise PermanentError(f"{what} (row {row}, {field}: {reason}).")
