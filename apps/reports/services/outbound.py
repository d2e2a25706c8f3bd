"""One POST to an address that somebody typed in: never into a private network, never twice by redirect.

The name is resolved once, every address that it resolves to is judged, and the connection goes to one of the
judged ones: a name that answers otherwise a moment later (DNS rebinding) changes nothing. TLS is checked
against the name. Redirects are not followed, proxies of the environment are not used, answers are read to a
limit.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

# Seconds for each step and for the whole answer: a server that drips a byte at a time must not keep a worker.
TIMEOUT, WHOLE, MOST = 10.0, 20.0, 2000
Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# Prefixes of IPv6 in which an IPv4 address travels: 6to4, NAT64 (RFC 6052, RFC 8215).
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))


class AddressRefusedError(Exception):
    """The address may not be called; the text says why."""


class NoConnectionError(Exception):
    """Nothing was sent: the other side could not be reached."""


class NoResponseError(Exception):
    """The request left and no answer came."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and the beginning of the text."""

    status: int
    text: str
    retry_after: int | None = None


def check_address(url: str) -> SplitResult:
    """The parts of an address that may be called. Raises AddressRefusedError. Names are not resolved here."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressRefusedError("not an address") from error
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise AddressRefusedError("write an address that begins with https://")
    if parts.username is not None or parts.password is not None:
        raise AddressRefusedError("leave user and password out of the address")
    if parts.fragment or any(ord(char) <= 32 or ord(char) > 126 for char in url):
        raise AddressRefusedError("the address holds characters that it may not")
    if port == 0:
        raise AddressRefusedError("there is no port 0")
    literal = _literal(parts.hostname)
    if literal is not None:
        _judge([literal], parts.scheme)
    elif parts.scheme == "http" and not allowed_networks():
        raise AddressRefusedError("write an address that begins with https://")
    return parts


def allowed_networks() -> list[Network]:
    """WEBHOOK_ALLOWED_NETWORKS; what is no network allows nothing."""
    found: list[Network] = []
    for text in settings.WEBHOOK_ALLOWED_NETWORKS:
        try:
            found.append(ipaddress.ip_network(text.strip(), strict=False))
        except ValueError:
            continue
    return found


def _literal(host: str) -> Ip | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def inner(address: Ip) -> Ip:
    """The IPv4 address that travels inside an IPv6 one, else the address itself."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if any(address in network for network in _NAT64):
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_public(address: Ip) -> bool:
    """Whether an address belongs to the open internet."""
    found = inner(address)
    # Site-local addresses (fec0::/10, RFC 3879) are of a private network, and Python calls them global.
    local = isinstance(found, ipaddress.IPv6Address) and found.is_site_local
    return found.is_global and not found.is_multicast and not found.is_reserved and not local


def _judge(addresses: Sequence[Ip], scheme: str) -> list[Ip]:
    """The addresses, if all may be called. Raises AddressRefusedError."""
    networks = allowed_networks()
    for address in addresses:
        inside = any(
            one.version == network.version and one in network
            for network in networks
            for one in (address, inner(address))
        )
        if not inside and not is_public(address):
            raise AddressRefusedError("the address leads into a private network (WEBHOOK_ALLOWED_NETWORKS)")
        if not inside and scheme != "https":
            raise AddressRefusedError("write an address that begins with https://")
    return list(addresses)


def resolve(host: str, port: int, scheme: str) -> list[Ip]:
    """Every address of a name, judged. Raises AddressRefusedError, NoConnectionError."""
    literal = _literal(host)
    if literal is not None:
        return _judge([literal], scheme)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NoConnectionError(f"the name {host} cannot be resolved") from error
    texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    if not texts:
        raise NoConnectionError(f"the name {host} has no address")
    return _judge([ipaddress.ip_address(text) for text in texts], scheme)


class _Pinned(http.client.HTTPConnection):
    """A connection to an address that was judged; `host` stays the name, for Host and TLS."""

    def __init__(self, host: str, port: int, address: Ip, context: ssl.SSLContext | None) -> None:
        super().__init__(host, port, timeout=TIMEOUT)
        self._address, self._context = address, context

    def connect(self) -> None:
        """To the judged address, whatever the name says by now."""
        self.sock = socket.create_connection((str(self._address), self.port), self.timeout)
        if self._context is not None:
            self.sock = self._context.wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            with _watched(self.sock):
                self.sock.do_handshake()


def post(url: str, body: bytes, headers: dict[str, str]) -> Answer:
    """Send it. Raises AddressRefusedError, NoConnectionError (nothing left), NoResponseError (it may)."""
    parts = check_address(url)
    secure = parts.scheme == "https"
    host, port = str(parts.hostname), parts.port or (443 if secure else 80)
    addresses = resolve(host, port, parts.scheme)
    context = ssl.create_default_context() if secure else None
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    last: OSError | None = None
    for address in addresses[:3]:
        connection = _Pinned(host, port, address, context)
        try:
            connection.connect()
        except OSError as error:
            last = error
            connection.close()
            continue
        try:
            return _exchange(connection, target, body, headers)
        finally:
            connection.close()
    raise NoConnectionError(f"{host} cannot be reached: {type(last).__name__}")


def _cut(sock: socket.socket) -> None:
    """End a conversation that takes too long: whoever reads gets an error."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


@contextmanager
def _watched(sock: socket.socket) -> Iterator[None]:
    """Cut the connection off when what is done inside takes too long as a whole: each step may be short."""
    watch = threading.Timer(WHOLE, _cut, [sock])
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _exchange(connection: _Pinned, target: str, body: bytes, headers: dict[str, str]) -> Answer:
    told = {**headers, "User-Agent": f"Offpeak/{settings.OFFPEAK_VERSION}"}
    try:
        with _watched(connection.sock):
            connection.request("POST", target, body, told)
            response = connection.getresponse()
            text = response.read(MOST).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        raise NoResponseError(type(error).__name__) from error
    wait = response.headers.get("Retry-After", "")
    return Answer(response.status, " ".join(text.split())[:300], int(wait[:6]) if wait.isdecimal() else None)
