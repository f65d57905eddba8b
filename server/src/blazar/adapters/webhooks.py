"""How messages reach receivers that users name: over a connection to an address that was looked at, so that
no user can make the service call what only the service can reach.

The name of the host is resolved once, and the connection is made to the very address that was allowed.
Redirects are not followed, no proxy of the environment is used, and of the answer the first line is read."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from blazar.domain.errors import InvalidInput, NotDelivered
from blazar.domain.subscription import Target

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Sequence[str]]

TRANSLATED: tuple[Network, ...] = tuple(
    ip_network(each)
    for each in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "192.88.99.0/24")
)
"""Addresses behind which a gateway may put any address of IPv4."""
MOST_ADDRESSES = 3
"""Addresses of one name that are tried."""
MOST_FOUND = 32
"""Addresses of one name that are looked at."""
LONGEST_LOOKUP = 3.0
"""Seconds for which an attempt waits for the addresses of a name."""
LOOKUPS = 64
"""Look-ups that may be under way at once. The system gives each up after some seconds, and until then it
cannot be stopped."""
LONGEST_LINE = 512
"""Bytes of an answer that are read, at the most."""


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Where messages may go. What the operator forbids counts more than what the operator allows."""

    allowed: Sequence[Network] = ()
    """Networks that are allowed although they are not public."""
    forbidden: Sequence[Network] = ()
    timeout: float = 10.0
    """Seconds for one attempt, after the name of the host is resolved."""
    cafile: str | None = None

    def allows(self, text: str) -> bool:
        """Return whether a connection to the address may be made."""
        address = _unwrapped(ipaddress.ip_address(text))
        if _is_in(address, self.forbidden):
            return False
        return _is_in(address, self.allowed) or _is_public(address)


class _Lookup:
    """One look-up: what it has found, once that is known."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.found: Sequence[str] = ()
        self.failure: OSError | UnicodeError | None = None


class AddressLookups:
    """Resolves names, each in a thread of its own, for which an attempt waits ``seconds`` at the most.

    The resolver of the system can neither be stopped nor given a limit. A name whose servers do not answer
    holds its thread until the resolver gives up, and no attempt; ``most`` bounds such threads."""

    def __init__(self, resolve: Resolve, most: int, seconds: float) -> None:
        self._resolve = resolve
        self._lock = threading.Lock()
        self._free = most
        self._seconds = seconds

    def find(self, host: str, port: int) -> Sequence[str]:
        """Raises TimeoutError where no answer comes in time, or too many look-ups are under way, and OSError
        or UnicodeError where there is no address."""
        with self._lock:
            if not self._free:
                raise TimeoutError
            self._free -= 1
        lookup = _Lookup()
        threading.Thread(target=self._look, args=(host, port, lookup), name="lookup", daemon=True).start()
        if not lookup.is_over.wait(self._seconds):
            raise TimeoutError
        if lookup.failure is not None:
            raise lookup.failure
        return lookup.found

    def _look(self, host: str, port: int, lookup: _Lookup) -> None:
        try:
            lookup.found = self._resolve(host, port)
        except (OSError, UnicodeError) as failure:
            lookup.failure = failure
        finally:
            with self._lock:
                self._free += 1
            lookup.is_over.set()


class HttpSender:
    """The WebhookSender over HTTP."""

    def __init__(self, settings: WebhookSettings, resolve: Resolve | None = None) -> None:
        self._settings = settings
        self._lookups = AddressLookups(resolve or _resolved, LOOKUPS, LONGEST_LOOKUP)
        self._tls = _tls(settings.cafile)

    def require_allowed(self, url: str) -> None:
        host = Target.parse(url).host
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return  # a name, whose addresses may be others each time
        if not self._settings.allows(host):
            raise InvalidInput("The url must not lead to a network that is not public.")

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        target = Target.parse(url)
        addresses = self._allowed(target)
        end = time.monotonic() + self._settings.timeout
        try:
            with closing(self._connected(target, addresses, end)) as connection:
                connection.settimeout(_left(end))
                connection.sendall(_request(target, headers, body))
                status = _status(_first_line(connection, end))
        except TimeoutError:
            raise NotDelivered(reason=f"No answer came within {self._settings.timeout:g} seconds.") from None
        except ssl.SSLCertVerificationError as failure:
            raise NotDelivered(reason=f"The certificate is not accepted: {failure.verify_message}.") from None
        except (OSError, ValueError) as failure:
            raise NotDelivered(reason=f"The connection failed ({_words(failure)}).") from None
        if 300 <= status < 400:
            raise NotDelivered(reason=f"The answer is {status}: redirects are not followed.")
        if not 200 <= status < 300:
            raise NotDelivered(reason=f"The answer is {status}, and not 2xx.")

    def _allowed(self, target: Target) -> Sequence[str]:
        """Return the addresses of the host that may be connected to. Raises NotDelivered without one."""
        try:
            found = self._lookups.find(target.host, target.port)[:MOST_FOUND]
        except TimeoutError:
            raise NotDelivered(reason="The name of the host was not resolved in time.") from None
        except (OSError, UnicodeError):
            raise NotDelivered(reason="The name of the host has no address.") from None
        allowed = [each for each in found if self._settings.allows(each)]
        if not allowed:
            raise NotDelivered(reason="The address of the host is in a network that is not allowed.")
        return allowed[:MOST_ADDRESSES]

    def _connected(self, target: Target, addresses: Sequence[str], end: float) -> socket.socket:
        """Return a connection to the first address that takes one. Raises OSError."""
        for number, address in enumerate(addresses, 1):
            try:
                plain = socket.create_connection((address, target.port), _left(end))
                break
            except OSError:
                if number == len(addresses):
                    raise
        if target.scheme == "http":
            return plain
        try:
            plain.settimeout(_left(end))
            return self._tls.wrap_socket(plain, server_hostname=target.host)
        except BaseException:
            plain.close()
            raise


@cache
def _tls(cafile: str | None) -> ssl.SSLContext:
    """Return one context for all senders: to read the authorities takes some hundredths of a second."""
    return ssl.create_default_context(cafile=cafile)


def networks(texts: Sequence[str], option: str) -> Sequence[Network]:
    """Raises ValueError where a text is not a network."""
    try:
        return [ip_network(each) for each in texts]
    except ValueError as failure:
        raise ValueError(f"[subscriptions] {option}: {failure}") from None


def _resolved(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _unwrapped(address: Address) -> Address:
    """Return the address of IPv4 that an address of IPv6 stands for."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in each for each in networks)


def _is_public(address: Address) -> bool:
    is_special = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not is_special and not _is_in(address, TRANSLATED)


def _left(end: float) -> float:
    """Return the seconds that are left. Raises TimeoutError where none are."""
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _request(target: Target, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [
        f"POST {target.path} HTTP/1.1",
        f"Host: {target.authority}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _first_line(connection: socket.socket, end: float) -> bytes:
    """Return what comes up to the end of the first line, however slowly it comes."""
    found = b""
    while b"\n" not in found and len(found) < LONGEST_LINE:
        connection.settimeout(_left(end))
        some = connection.recv(LONGEST_LINE - len(found))
        if not some:
            break
        found += some
    return found.partition(b"\n")[0]


def _status(line: bytes) -> int:
    """Raises ValueError where it is not the first line of an answer."""
    protocol, _, rest = line.partition(b" ")
    code = rest[:3]
    if not protocol.startswith(b"HTTP/1.") or len(code) != 3 or not code.isdigit():
        raise ValueError("the answer is not HTTP")
    return int(code)


def _words(failure: Exception) -> str:
    """Return what failed, without anything that the receiver has sent."""
    if isinstance(failure, ssl.SSLError):
        return "TLS"
    if isinstance(failure, OSError):
        return failure.strerror or type(failure).__name__
    return str(failure)
