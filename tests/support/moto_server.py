"""moto over HTTP for the real boto3, with a market that can be out of machines.

moto always has a machine. What EC2 answers where it has none is put in front of it: status 500 with the code
`InsufficientInstanceCapacity`, for calls of the markets that are `away`. All other calls reach moto.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl
from urllib.request import Request, urlopen

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

NO_MACHINE = (
    b"<Response><Errors><Error><Code>InsufficientInstanceCapacity</Code><Message>There is no "
    b"Spot capacity available that matches your request.</Message></Error></Errors>"
    b"<RequestID>made-up</RequestID></Response>"
)


@dataclass
class MotoCloud:
    """`away`: markets ("spot", "on-demand") without a machine now. `refused`: how many calls met that."""

    url: str = ""
    away: set[str] = field(default_factory=set)
    refused: int = 0

    def lacks(self, body: str) -> bool:
        """Whether a call asks for a machine that is not there."""
        asked = dict(parse_qsl(body))
        if asked.get("Action") != "RunInstances":
            return False
        market = asked.get("InstanceMarketOptions.MarketType", "on-demand")
        self.refused += market in self.away
        return market in self.away


@contextmanager
def moto_cloud() -> Iterator[MotoCloud]:
    """An empty moto of our own on a free port."""
    cloud, inner = MotoCloud(), DomainDispatcherApplication(create_backend_app)

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = BytesIO(body)
        if cloud.lacks(body.decode(errors="replace")):
            start("500 Internal Server Error", [("Content-Type", "text/xml")])
            return [NO_MACHINE]
        return inner(environ, start)  # type: ignore[no-any-return]

    server = make_server("127.0.0.1", 0, answer, threaded=True, request_handler=MotoRequestHandler)
    cloud.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    urlopen(Request(f"{cloud.url}/moto-api/reset", method="POST")).close()  # noqa: S310
    try:
        yield cloud
    finally:
        server.shutdown()
        thread.join()
