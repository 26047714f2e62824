"""Whatever a peer sends before the broker knows it: nothing is served, memory stays, others are answered in time."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest

from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from system_tests.conftest import Note
from system_tests.neighbour import Neighbour
from system_tests.secured_cluster import PASSWORD, USER, SecuredCluster
from system_tests.security_fuzz import (
    MAX_RECEIVE_SIZE,
    Attack,
    Attempt,
    attempts,
    authenticate,
    client_hello,
    handshake,
    metadata,
    sized,
)
from system_tests.services import HOST, TIME_LIMIT_FACTOR, wait_until

pytestmark = [pytest.mark.timeout(600)]

MB = 1 << 20
MAX_GROWTH_MB = 50
MAX_P99_MS = 250
SETTLE_SECONDS = 120
OF_CONNECTIONS = (
    "kafkapy.network.channel.KafkaChannel",
    "kafkapy.network.sasl_connection.SaslConnection",
    "kafkapy.network.tls_transport.TlsTransport",
    "kafkapy.network.transport.PlaintextTransport",
    "kafkapy.security.tls.session.TlsSession",
    "socket.socket",
    "twisted.internet.base.DelayedCall",
)
SPARE = 5
"""Timers and connections of the broker's own come and go meanwhile."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with SecuredCluster(tmp_path_factory.mktemp("secured")) as made:
        attack = Attack(made)
        attack.make(attempts(300, random.Random(0), client_hello(made)))  # caches are full, modules are imported
        yield made
        log = made.cluster.log()
        assert " ERROR " not in log
        assert "Traceback" not in log
        assert PASSWORD not in log


@contextmanager
def nothing_stays(secured: SecuredCluster, note: Note, beside: int = 0) -> Iterator[None]:
    """What happens inside costs little memory at any time, and none of its connections, descriptors and timers is left; a
    neighbour is served in time. `beside`: megabytes that are allowed more, for what is held open on purpose."""
    process = psutil.Process(secured.pid)
    before, descriptors, alive = process.memory_info().rss, process.num_fds(), _alive(secured)
    peak = before
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    neighbour = Neighbour(secured.ports["SASLS"], secured.ca, USER, PASSWORD)
    try:
        with neighbour:
            yield
    finally:
        done.set()
        watcher.join()
    waits, growth = neighbour.waits, (peak - before) / MB
    note("memory at its peak", f"{growth:+.0f} MB")
    note("neighbour's p99 of", f"{waits.answers}: {waits.p99} ms (p50 {waits.p50}, longest {waits.longest})")
    assert growth < MAX_GROWTH_MB + beside
    assert waits.answers > 20
    assert waits.p99 < MAX_P99_MS * TIME_LIMIT_FACTOR

    def is_level() -> bool:
        now = _alive(secured)
        return process.num_fds() <= descriptors + SPARE and all(now[k] <= alive[k] + SPARE for k in OF_CONNECTIONS)

    wait_until(is_level, SETTLE_SECONDS, lambda: f"{process.num_fds()} descriptors, {_alive(secured)}; {alive} before")


def _alive(secured: SecuredCluster) -> dict[str, int]:
    counted = secured.order("count_alive")
    return {name: counted.get(name, 0) for name in OF_CONNECTIONS}


@pytest.mark.timeout(7200)
def test_no_input_is_served(secured: SecuredCluster, fuzz_inputs: int, pytestconfig: pytest.Config, note: Note) -> None:
    attack = Attack(secured)
    draw = random.Random(pytestconfig.getoption("--seed"))
    with nothing_stays(secured, note):
        attack.make(attempts(fuzz_inputs, draw, client_hello(secured)))
    note("inputs", attack.made.total())
    assert attack.served == []
    assert attack.made.total() == fuzz_inputs
    assert attack.answered["sasl tokens"] and attack.answered["tls hello and more"]


def test_handshakes_that_come_and_go(secured: SecuredCluster, short: bool, note: Note) -> None:
    """As fast as one thread begins them, each hello costing the broker a signature; 200 are open at any time. Some say nothing,
    some half a hello, some garbage."""
    hello = client_hello(secured)
    said = (b"", hello, hello[:100], random.Random(0).randbytes(300), hello)
    listeners = ("TLS", "SASLS", "MTLS", "SASL")
    opened: deque[socket.socket] = deque()
    count = 0
    with nothing_stays(secured, note):
        began = time.monotonic()
        while time.monotonic() < began + (2 if short else 10):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex((HOST, secured.ports[listeners[count % len(listeners)]]))
            with suppress(OSError):  # there was no room in the kernel's queue
                one.send(said[count % len(said)])
            count += 1
            opened.append(one)
            if len(opened) > 200:
                opened.popleft().close()
        note("a second", f"{count / (time.monotonic() - began):.0f}")
        while opened:
            opened.pop().close()


def test_half_handshakes_are_held_open(secured: SecuredCluster, short: bool, note: Note) -> None:
    """OpenSSL and the kernel hold some KB of each."""
    count = 100 if short else 500
    hello = client_hello(secured)
    begun = {"TLS": hello, "SASLS": hello[:100], "MTLS": b"", "SASL": sized(b"\0\x24\0\2", MAX_RECEIVE_SIZE)}
    opened: list[socket.socket] = []
    with nothing_stays(secured, note):
        for _ in range(count // len(begun)):
            for listener, data in begun.items():
                one = socket.create_connection((HOST, secured.ports[listener]), timeout=60)
                one.sendall(data)
                opened.append(one)
        time.sleep(1)
        for one in opened:
            one.close()


def test_large_frames_before_authentication(secured: SecuredCluster, short: bool, note: Note) -> None:
    """What is allowed is kept while it arrives, and no more than has arrived."""
    with nothing_stays(secured, note):
        for size in (MAX_RECEIVE_SIZE + 1, 1 << 30, (1 << 31) - 1, -1):
            with socket.create_connection((HOST, secured.ports["SASL"]), timeout=60) as one:
                one.sendall(sized(bytes(1000), size))
                assert _read_all(one) == b""
        attack = Attack(secured)
        token = b"\0alice\0" + b"x" * (MAX_RECEIVE_SIZE - 1000)
        attack.make(
            Attempt("large", "SASL", [handshake("PLAIN", 1), authenticate(token, 2), metadata()])
            for _ in range(50 if short else 500)
        )
        assert attack.served == []


def test_a_frame_that_comes_byte_by_byte_is_understood(secured: SecuredCluster) -> None:
    with socket.create_connection((HOST, secured.ports["SASL"]), timeout=60) as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in handshake("PLAIN", 1):
            one.sendall(bytes([byte]))
        assert one.recv(1000)[8:10] == b"\0\0"


GARBAGE = {
    "ff": b"\xff" * 100,
    "zeros": bytes(100),
    "no request": sized(b"\7" * 40),
    "negative": sized(b"", -5),
    "1 GB": sized(b"x", 1 << 30),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_after_authentication_ends_the_connection(secured: SecuredCluster, garbage: bytes) -> None:
    with socket.create_connection((HOST, secured.ports["SASL"]), timeout=60) as one:
        one.sendall(handshake("PLAIN", 1))
        one.recv(1000)
        one.sendall(authenticate(f"\0{USER}\0{PASSWORD}".encode(), 2))
        answer = one.recv(1000)
        assert SaslAuthenticateResponse.decode(answer, 2, 9).error_code == 0
        one.sendall(garbage)
        assert _read_all(one) == b""


def _read_all(connection: socket.socket) -> bytes:
    """Until the broker hangs up; what it had to say is lost if more has come than it has read."""
    data = b""
    try:
        while more := connection.recv(1 << 16):
            data += more
    except ConnectionResetError:
        pass
    return data
