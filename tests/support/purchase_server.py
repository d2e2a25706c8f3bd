"""A small EC2 that sells reservations over HTTP, for the real boto3: it keeps what was bought and every call.

It can fail the way a market does: an order carried out whose answer never arrives, an error after it, one
before it, a refusal. `lag` looks do not show a new reservation yet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

ACCOUNT = "111122223333"
_EC2 = "http://ec2.amazonaws.com/doc/2016-11-15/"


@dataclass
class Listing:
    """A second-hand listing: price of one and how many."""

    price: Decimal
    count: int


@dataclass
class Sold:
    """A reservation that came of an order."""

    id: str
    price: Decimal
    count: int
    start: datetime
    state: str = "active"
    hidden: int = 0
    kind: str = "m5.large"


@dataclass
class Market:
    """The account's market: one offering with listings, what was sold, what was asked."""

    url: str = ""
    account: str = ACCOUNT
    listings: list[Listing] = field(
        default_factory=lambda: [Listing(Decimal(100), 2), Listing(Decimal(120), 3)]
    )
    market: bool = True
    duration: int = 8 * 730 * 3600
    hourly: str = "0"
    allowed: bool = True
    state: str = "active"
    lag: int = 0
    sold: list[Sold] = field(default_factory=list)
    calls: list[dict[str, str]] = field(default_factory=list)
    # For the next orders: "hang", "cut", "500 after", "500 before", "throttle", "refuse".
    faults: list[str] = field(default_factory=list)
    before_order: Callable[[], None] | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    lock: threading.Lock = field(default_factory=threading.Lock)
    release: threading.Event = field(default_factory=threading.Event)

    def orders(self) -> list[dict[str, str]]:
        """The orders that were sent, dry runs left out."""
        return [c for c in self.calls if c["Action"].startswith("Purchase") and c.get("DryRun") != "true"]

    def sell(self, quantity: int) -> str:
        """Fill an order from the cheapest listing on."""
        first, left = "", quantity
        for one in sorted(self.listings, key=lambda listing: listing.price):
            take = min(left, one.count) if self.market else left
            if take <= 0:
                continue
            one.count -= take if self.market else 0
            left -= take
            made = Sold(f"r-{len(self.sold) + 1:04d}", one.price, take, self.clock(), self.state, self.lag)
            self.sold.append(made)
            first = first or made.id
        self.listings = [one for one in self.listings if one.count > 0]
        return first


@contextmanager
def market() -> Iterator[Market]:
    """A running server on a free port of this machine."""
    shop = Market()

    class Handler(_Handler):
        market = shop

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    shop.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield shop
    finally:
        shop.release.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    market: Market

    def do_POST(self) -> None:
        asked = dict(parse_qsl(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode(), True))
        shop = self.market
        with shop.lock:
            shop.calls.append(asked)
        action = asked["Action"]
        if action == "GetCallerIdentity":
            return self._send(200, _caller(shop.account))
        if action == "DescribeReservedInstancesOfferings":
            return self._send(200, _offerings(shop, asked))
        if action == "DescribeReservedInstances":
            return self._send(200, _reserved(shop))
        return self._order(asked)

    def _order(self, asked: dict[str, str]) -> None:
        shop = self.market
        if not shop.allowed:
            return self._send(403, _error("UnauthorizedOperation"))
        if asked.get("DryRun") == "true":
            return self._send(412, _error("DryRunOperation"))
        if shop.before_order is not None:
            shop.before_order()
        fault = shop.faults.pop(0) if shop.faults else ""
        if fault in {"500 before", "throttle", "refuse"}:
            code = {"throttle": "RequestLimitExceeded", "refuse": "ReservationCapacityExceeded"}
            status = {"refuse": 400, "throttle": 503}.get(fault, 500)
            return self._send(status, _error(code.get(fault, "InternalError")))
        with shop.lock:
            limit = Decimal(asked.get("LimitPrice.Amount", "1e9"))
            quantity = int(asked["InstanceCount"])
            cost = _cost(shop, quantity)
            if cost is None or cost > limit:
                return self._send(400, _error("InvalidParameterValue"))
            bought = shop.sell(quantity)
        if fault == "hang":
            shop.release.wait(30)
        if fault in {"hang", "cut"}:
            self.close_connection = True
            return None
        if fault == "500 after":
            return self._send(500, _error("InternalError"))
        return self._send(
            200,
            f'<PurchaseReservedInstancesOfferingResponse xmlns="{_EC2}"><requestId>r</requestId>'
            f"<reservedInstancesId>{bought}</reservedInstancesId></PurchaseReservedInstancesOfferingResponse>",
        )

    def _send(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/xml;charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


def _cost(shop: Market, quantity: int) -> Decimal | None:
    left, cost = quantity, Decimal(0)
    for one in sorted(shop.listings, key=lambda listing: listing.price):
        take = min(left, one.count) if shop.market else left
        cost, left = cost + take * one.price, left - take
    return None if left else cost


def _caller(account: str) -> str:
    return (
        '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
        f"<GetCallerIdentityResult><Arn>arn:aws:iam::{account}:user/x</Arn><UserId>X</UserId>"
        f"<Account>{account}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"
    )


def _error(code: str) -> str:
    return (
        f"<Response><Errors><Error><Code>{code}</Code><Message>made up</Message></Error></Errors></Response>"
    )


def _offerings(shop: Market, asked: dict[str, str]) -> str:
    wanted = asked.get("Filter.1.Value.1", "offer-1")
    items = ""
    if shop.listings and wanted == "offer-1":
        details = "".join(
            f"<item><price>{one.price}</price><count>{one.count}</count></item>" for one in shop.listings
        )
        charges = f"<item><frequency>Hourly</frequency><amount>{shop.hourly}</amount></item>"
        items = (
            f"<item><reservedInstancesOfferingId>offer-1</reservedInstancesOfferingId><instanceType>m5.large"
            f"</instanceType><duration>{shop.duration}</duration><fixedPrice>{shop.listings[0].price}"
            "</fixedPrice><usagePrice>0.0</usagePrice><productDescription>Linux/UNIX</productDescription>"
            "<instanceTenancy>default</instanceTenancy><currencyCode>USD</currencyCode><offeringType>All "
            f"Upfront</offeringType><recurringCharges>{charges}</recurringCharges><marketplace>"
            f"{str(shop.market).lower()}</marketplace><offeringClass>standard</offeringClass><scope>Region"
            f"</scope><pricingDetailsSet>{details if shop.market else ''}</pricingDetailsSet></item>"
        )
    return (
        f'<DescribeReservedInstancesOfferingsResponse xmlns="{_EC2}"><requestId>r</requestId>'
        f"<reservedInstancesOfferingsSet>{items}</reservedInstancesOfferingsSet>"
        "</DescribeReservedInstancesOfferingsResponse>"
    )


def _reserved(shop: Market) -> str:
    items = ""
    for one in shop.sold:
        if one.hidden > 0:
            one.hidden -= 1
            continue
        items += (
            f"<item><reservedInstancesId>{one.id}</reservedInstancesId><instanceType>{one.kind}</instanceType>"
            f"<start>{one.start:%Y-%m-%dT%H:%M:%S.000Z}</start><duration>{shop.duration}</duration>"
            f"<fixedPrice>{one.price}</fixedPrice><usagePrice>0.0</usagePrice><instanceCount>{one.count}"
            "</instanceCount><productDescription>Linux/UNIX</productDescription><state>"
            f"{one.state}</state><instanceTenancy>default</instanceTenancy><currencyCode>USD</currencyCode>"
            "<offeringClass>standard</offeringClass><offeringType>All Upfront</offeringType>"
            f"<recurringCharges><item><frequency>Hourly</frequency><amount>{shop.hourly}</amount></item>"
            "</recurringCharges><scope>Region</scope></item>"
        )
    return (
        f'<DescribeReservedInstancesResponse xmlns="{_EC2}"><requestId>r</requestId><reservedInstancesSet>'
        f"{items}</reservedInstancesSet></DescribeReservedInstancesResponse>"
    )
