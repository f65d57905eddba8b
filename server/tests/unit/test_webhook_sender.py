"""Messages go to receivers that take them, whatever else they do, and to no network that is not allowed."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_network

import pytest

from blazar.adapters.webhooks import MOST_FOUND, AddressLookups, HttpSender, WebhookSettings, networks
from blazar.domain.errors import InvalidInput, NotDelivered
from blazar.domain.subscription import Target

from .certificates import make_certificate

LOOPBACK = [ip_network("127.0.0.0/8")]
BODY = b'{"event": "started"}'
Answer = Callable[[socket.socket], None]


class Receiver:
    """A program that takes connections on a port of this machine, and does with each what it is told."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.heard: list[bytes] = []
        self.tls: ssl.SSLContext | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            connection.settimeout(5)
            with suppress(OSError), self._entered(connection) as stream:
                self.heard.append(_request(stream))
                self._answer(stream)

    def _entered(self, connection: socket.socket) -> socket.socket:
        if self.tls is None:
            return connection
        try:
            return self.tls.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()
            raise

    def stop(self) -> None:
        with suppress(OSError):  # it was stopped before
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(10)


def _request(connection: socket.socket) -> bytes:
    found = b""
    while not found.endswith(BODY):
        some = connection.recv(65536)
        if not some:
            break
        found += some
    return found


def says(text: str) -> Answer:
    return lambda connection: connection.sendall(text.encode())


@pytest.fixture
def receivers() -> Iterator[Callable[[Answer], Receiver]]:
    made: list[Receiver] = []

    def make(answer: Answer) -> Receiver:
        made.append(Receiver(answer))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def local(timeout: float = 5.0) -> HttpSender:
    return HttpSender(WebhookSettings(allowed=LOOPBACK, timeout=timeout))


def refusal(sender: HttpSender, url: str) -> str:
    with pytest.raises(NotDelivered) as told:
        sender.post(url, {}, BODY)
    return told.value.message


def test_a_message_arrives_as_it_is(receivers: Callable[[Answer], Receiver]) -> None:
    receiver = receivers(says("HTTP/1.1 204 No Content\r\n\r\n"))
    local().post(f"http://localhost:{receiver.port}/a/b?c=d", {"webhook-id": "msg_1"}, BODY)
    head, _, body = receiver.heard[0].partition(b"\r\n\r\n")
    assert body == BODY
    assert head.split(b"\r\n") == [
        b"POST /a/b?c=d HTTP/1.1",
        f"Host: localhost:{receiver.port}".encode(),
        f"Content-Length: {len(BODY)}".encode(),
        b"Connection: close",
        b"webhook-id: msg_1",
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("HTTP/1.1 500 Oh\r\n\r\n", "The answer is 500, and not 2xx."),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n",
            "The answer is 302: redirects are not followed.",
        ),
        ("HTTP/1.1 103 Early Hints\r\n\r\n", "The answer is 103, and not 2xx."),
        ("SSH-2.0-secret\r\n", "The connection failed (the answer is not HTTP)."),
        ("", "The connection failed (the answer is not HTTP)."),
        ("HTTP/1.1 ab\r\n", "The connection failed (the answer is not HTTP)."),
    ],
)
def test_what_is_not_taken_is_told(receivers: Callable[[Answer], Receiver], answer: str, reason: str) -> None:
    receiver = receivers(says(answer))
    assert refusal(local(), f"http://127.0.0.1:{receiver.port}/") == reason
    assert len(receiver.heard) == 1


def test_of_a_huge_answer_little_is_read(receivers: Callable[[Answer], Receiver]) -> None:
    sent: list[int] = []

    def flood(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(1000):
            connection.sendall(b"x" * 100_000)
            sent.append(1)

    receiver = receivers(flood)
    local().post(f"http://127.0.0.1:{receiver.port}/", {}, BODY)
    endless = receivers(lambda connection: connection.sendall(b"x" * 10_000_000))
    assert "not HTTP" in refusal(local(), f"http://127.0.0.1:{endless.port}/")
    receiver.stop()
    assert len(sent) < 1000


@pytest.mark.slow
@pytest.mark.parametrize("pause", [60.0, 0.1])
def test_a_slow_receiver_has_its_time_and_no_more(
    receivers: Callable[[Answer], Receiver], pause: float
) -> None:
    """Also where it goes on sending a byte now and then."""
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        while not over.wait(pause):
            connection.sendall(b"H")

    receiver = receivers(drip)
    began = time.monotonic()
    assert refusal(local(1.0), f"http://127.0.0.1:{receiver.port}/") == "No answer came within 1 seconds."
    assert time.monotonic() - began < 3
    over.set()


def test_a_dead_receiver_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "refused" in refusal(local(), f"http://127.0.0.1:{port}/")


@pytest.mark.slow
def test_a_receiver_without_tls_is_refused_over_https(receivers: Callable[[Answer], Receiver]) -> None:
    receiver = receivers(says("HTTP/1.1 200 OK\r\n\r\n"))
    url = f"https://127.0.0.1:{receiver.port}/"
    assert refusal(local(1.0), url) == "No answer came within 1 seconds."


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "192.0.2.1",
        "::",
        "::1",
        "fe80::1",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:1::",
        "2001:db8::1",
    ],
)
def test_no_connection_is_made_to_a_network_that_is_not_public(address: str) -> None:
    sender = HttpSender(WebhookSettings(timeout=1.0), lambda host, port: [address])
    assert not WebhookSettings().allows(address)
    assert "a network that is not allowed" in refusal(sender, "https://innocent.example.com/")
    literal = f"[{address}]" if ":" in address else address
    with pytest.raises(InvalidInput, match="not public"):
        sender.require_allowed(f"https://{literal}/")


def test_the_operator_allows_and_forbids() -> None:
    settings = WebhookSettings(
        allowed=networks(["10.0.0.0/8"], "x"), forbidden=networks(["10.9.0.0/16", "1.1.1.0/24"], "x")
    )
    asked = ("10.1.1.1", "::ffff:10.1.1.1", "10.9.1.1", "1.1.1.1", "8.8.8.8", "192.168.1.1")
    assert [settings.allows(each) for each in asked] == [True, True, False, False, True, False]
    with pytest.raises(ValueError, match=r"\[subscriptions\] allowed_networks: "):
        networks(["example.com"], "allowed_networks")


def test_a_name_is_resolved_once_and_the_connection_goes_to_what_was_allowed(
    receivers: Callable[[Answer], Receiver],
) -> None:
    """The second answer of a name that changes its address is never asked for."""
    receiver = receivers(says("HTTP/1.1 200 OK\r\n\r\n"))
    answers = [["127.0.0.1"], ["127.0.0.2"]]
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return answers.pop(0)

    settings = WebhookSettings(allowed=networks(["127.0.0.1/32"], "x"))
    sender = HttpSender(settings, rebinding)
    sender.post(f"http://rebinding.example.com:{receiver.port}/", {}, BODY)
    assert (asked, len(receiver.heard)) == (["rebinding.example.com"], 1)
    url = f"http://rebinding.example.com:{receiver.port}/"
    assert "not allowed" in refusal(sender, url)
    assert len(receiver.heard) == 1


def test_of_several_addresses_the_allowed_ones_are_tried(receivers: Callable[[Answer], Receiver]) -> None:
    receiver = receivers(says("HTTP/1.1 200 OK\r\n\r\n"))
    found = ["10.0.0.1", "127.0.0.9", "127.0.0.1"]
    sender = HttpSender(WebhookSettings(allowed=LOOPBACK), lambda host, port: found)
    sender.post(f"http://several.example.com:{receiver.port}/", {}, BODY)
    assert len(receiver.heard) == 1


def test_a_name_without_an_address_is_told() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    sender = HttpSender(WebhookSettings(), unknown)
    assert refusal(sender, "https://gone.example.com/") == "The name of the host has no address."


@pytest.mark.slow
def test_a_resolver_that_hangs_holds_up_no_attempt_and_no_other_name() -> None:
    over = threading.Event()

    def resolve(host: str, port: int) -> list[str]:
        if host == "slow":
            over.wait(30)
        return ["127.0.0.1"]

    lookups = AddressLookups(resolve, most=3, seconds=0.2)
    try:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                lookups.find("slow", 80)
        assert lookups.find("quick", 80) == ["127.0.0.1"]
        with pytest.raises(TimeoutError):
            lookups.find("slow", 80)
        began = time.monotonic()
        with pytest.raises(TimeoutError):  # as many as may be are under way
            lookups.find("quick", 80)
        assert time.monotonic() - began < 2
    finally:
        over.set()
    pause = threading.Event()
    assert any(_found(lookups) or pause.wait(0.05) for _ in range(100))


def _found(lookups: AddressLookups) -> bool:
    try:
        return lookups.find("quick", 80) == ["127.0.0.1"]
    except TimeoutError:
        return False


def test_a_name_that_is_not_resolved_in_time_is_told_and_of_many_addresses_some_are_looked_at() -> None:
    def hang(host: str, port: int) -> list[str]:
        raise TimeoutError

    assert refusal(HttpSender(WebhookSettings(), hang), "https://slow.example.com/") == (
        "The name of the host was not resolved in time."
    )
    many = [f"10.0.0.{number}" for number in range(MOST_FOUND)] + ["127.0.0.1"]
    sender = HttpSender(WebhookSettings(allowed=LOOPBACK), lambda host, port: many)
    assert "not allowed" in refusal(sender, "https://many.example.com/")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example.com/",
        "https://",
        "https:///x",
        "//a.example.com/",
        "https://user:word@a.example.com/",
        "https://a.example.com/#x",
        "https://a.example.com:0/",
        "https://a.example.com:99999/",
        "https://a.example.com:x/",
        "https://[::1/",
        "https://a.example.com/ x",
        "https://a.example.com/\r\nX: y",
        "https://bücher.example.com/",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="The url"):
        Target.parse(url)


def test_the_parts_of_an_address() -> None:
    assert Target.parse("https://A.example.com") == Target("https", "a.example.com", 443, "/")
    assert Target.parse("http://[2001:db8::1]:8080/x?y").authority == "[2001:db8::1]:8080"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the files of a certificate of ``localhost``, which is its own authority, and of its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


def test_the_certificate_must_be_that_of_the_name(
    receivers: Callable[[Answer], Receiver], certificate: tuple[str, str]
) -> None:
    """The connection goes to an address, and the certificate is compared with the name."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate)
    receiver = receivers(says("HTTP/1.1 200 OK\r\n\r\n"))
    receiver.tls = tls
    settings = WebhookSettings(allowed=LOOPBACK, cafile=certificate[0])
    sender = HttpSender(settings, lambda host, port: ["127.0.0.1"])
    sender.post(f"https://localhost:{receiver.port}/", {}, BODY)
    assert len(receiver.heard) == 1
    for cafile, host in ((certificate[0], "other.example.com"), (None, "localhost")):
        strict = HttpSender(replace(settings, cafile=cafile), lambda host, port: ["127.0.0.1"])
        assert "The certificate is not accepted" in refusal(strict, f"https://{host}:{receiver.port}/")
    assert len(receiver.heard) == 1
