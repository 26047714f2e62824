"""What a peer may send before the broker knows it, and what must not come of it.

An `Attempt` is a connection that tries to be served without credentials. `attempts` draws them, `Attack` makes them, many at a
time, and keeps what was answered to each.
"""

from __future__ import annotations

import base64
import json
import random
import selectors
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import encode_request
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafkapy.security.tls.session import TlsSession
from system_tests.secured_cluster import HIDDEN_TOPIC, MECHANISMS, USER, SecuredCluster
from system_tests.services import HOST

Step = bytes | Callable[[bytes], bytes]
"""Bytes to send, or what makes them of what was answered so far."""

AT_ONCE = 40
"""Connections of an attack."""
SECONDS_FOR_ANSWER = 0.06
"""Until the next step follows though nothing was answered."""
SECONDS_FOR_ALL = 2.0

MAX_RECEIVE_SIZE = 524_288


@dataclass
class Attempt:
    """One connection: `steps` in order, each when the one before was answered or has not been for a while."""

    kind: str
    listener: str
    steps: list[Step]
    in_tls: bool = False
    """The steps are said in TLS, after its handshake."""
    answer: bytearray = field(default_factory=bytearray)


class Attack:
    """Makes attempts. `answered` counts, by kind, those that got any answer; `served` has those that were told too much."""

    def __init__(self, secured: SecuredCluster) -> None:
        self._secured = secured
        self._tls = secured.tls_context()
        self.made: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.served: list[Attempt] = []

    def make(self, attempts: Iterable[Attempt], at_once: int = AT_ONCE) -> None:
        """Returns when all have ended."""
        waiting = iter(attempts)
        with selectors.DefaultSelector() as selector:
            open_ones: dict[socket.socket, _Connection] = {}
            while True:
                while len(open_ones) < at_once and (attempt := next(waiting, None)) is not None:
                    connection = _Connection(attempt, self._secured.ports[attempt.listener], self._tls)
                    open_ones[connection.socket] = connection
                    selector.register(connection.socket, selectors.EVENT_READ)
                if not open_ones:
                    return
                for key, _ in selector.select(0.005):
                    open_ones[key.fileobj].read()  # type: ignore[index]
                for connection in [c for c in open_ones.values() if c.go_on()]:
                    selector.unregister(connection.socket)
                    del open_ones[connection.socket]
                    connection.socket.close()
                    self._count(connection.attempt)

    def _count(self, attempt: Attempt) -> None:
        self.made[attempt.kind] += 1
        if attempt.answer:
            self.answered[attempt.kind] += 1
        if HIDDEN_TOPIC.encode() in attempt.answer:
            self.served.append(attempt)


class _Connection:
    def __init__(self, attempt: Attempt, port: int, tls: object) -> None:
        self.attempt = attempt
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex((HOST, port))  # one that waits for it would keep the others
        self._session = TlsSession(tls, server_hostname="localhost") if attempt.in_tls else None  # type: ignore[arg-type]
        self._steps = iter(attempt.steps)
        self._unsent = memoryview(b"")
        self._connected = False
        self._ended = False
        self._finished = False
        self._began = self._at = time.monotonic()
        self._answered = attempt.in_tls is False
        if self._session is not None:
            self._session.start()

    def read(self) -> None:
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._ended = True
            return
        self._answered = True
        if self._session is None:
            self.attempt.answer += data
            return
        self._session.received(data)
        buffer = bytearray(1 << 16)
        while count := self._session.read_into(buffer):
            self.attempt.answer += buffer[:count]
        if self._session.failure is not None:
            self._ended = True

    def go_on(self) -> bool:
        """Send what is due; is it over?"""
        now = time.monotonic()
        if self._ended or now - self._began > SECONDS_FOR_ALL:
            return True
        session = self._session
        if not self._connected and self._unsent:
            self._began = self._at = now
        if session is not None and not self._unsent:
            self._unsent = memoryview(session.take_outgoing())
        if not self._unsent and (session is None or session.handshake_complete):
            if self._finished:
                return now - self._at > 5 * SECONDS_FOR_ANSWER
            if self._answered or now - self._at > SECONDS_FOR_ANSWER:
                self._next_step()
        try:
            if self._unsent:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
                self._connected = True
        except BlockingIOError:
            pass
        except OSError:
            return True
        return False

    def _next_step(self) -> None:
        self._at = time.monotonic()
        self._answered = False
        step = next(self._steps, None)
        if step is None:
            self._finished = True
            return
        data = step(bytes(self.attempt.answer)) if callable(step) else step
        if self._session is None:
            self._unsent = memoryview(data)
        elif data:
            self._session.write([data])
            self._unsent = memoryview(self._session.take_outgoing())


# --- drawing attempts


def attempts(count: int, draw: random.Random, hello: bytes) -> Iterator[Attempt]:
    """`hello`: a ClientHello as clients send it."""
    for _ in range(count):
        if draw.random() < 0.4:
            yield _tls_attempt(draw, hello)
        else:
            yield _sasl_attempt(draw)


def client_hello(secured: SecuredCluster) -> bytes:
    session = TlsSession(secured.tls_context(), server_hostname="localhost")
    session.start()
    return session.take_outgoing()


def _tls_attempt(draw: random.Random, hello: bytes) -> Attempt:
    kind = draw.choice(list(_TLS))
    return Attempt(f"tls {kind}", draw.choice(("TLS", "MTLS", "SASLS")), _TLS[kind](draw, hello))


def _record(kind: int, body: bytes, version: int = 0x0303, size: int | None = None) -> bytes:
    return struct.pack(">BHH", kind, version, len(body) if size is None else size) + body


def _damaged(draw: random.Random, data: bytes, most: int = 6) -> bytes:
    damaged = bytearray(data)
    for _ in range(draw.randint(1, most)):
        if damaged:
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    return bytes(damaged)


def _cut(draw: random.Random, data: bytes) -> bytes:
    return data[: draw.randrange(len(data))]


def _many_records(draw: random.Random, hello: bytes) -> list[Step]:
    kinds = (0x14, 0x15, 0x16, 0x17, 0x18, 0x80, draw.randrange(256))
    bodies = [draw.randbytes(draw.choice((0, 1, 2, 6, 100, 5000))) for _ in range(draw.randint(1, 20))]
    return [b"".join(_record(draw.choice(kinds), body, draw.choice((0x0300, 0x0301, 0x0303))) for body in bodies)]


def _hello_and_more(draw: random.Random, hello: bytes) -> list[Step]:
    more = draw.choice(
        (
            hello,  # in TLS 1.2 a renegotiation, here too early
            _record(0x15, b"\1\0"),
            _record(0x15, b"\2\x28"),
            _record(0x14, b"\1") * draw.randint(1, 200),
            _record(0x17, draw.randbytes(64)),
            _record(0x16, b"\x14\0\0\x0c" + draw.randbytes(12)),
            _record(0x16, b"\x18\0\0\1\1"),
            _record(0x17, draw.randbytes(1 << 14), size=0x4FFF),
        )
    )
    return [hello, more, metadata()]


def _huge_message(draw: random.Random, hello: bytes) -> list[Step]:
    """A handshake message that says it has up to 16 MB, in records of 16 KB."""
    size = draw.choice((1 << 17, 1 << 20, (1 << 24) - 1))
    head = b"\1" + size.to_bytes(3, "big")
    body = draw.randbytes(1 << 14)
    return [_record(0x16, head + body[4:]), *[_record(0x16, body)] * draw.randint(1, 20)]


_TLS: dict[str, Callable[[random.Random, bytes], list[Step]]] = {
    "garbage": lambda draw, hello: [draw.randbytes(draw.choice((1, 5, 100, 3000)))],
    "truncated hello": lambda draw, hello: [_cut(draw, hello)],
    "damaged hello": lambda draw, hello: [_damaged(draw, hello)],
    "hello in pieces": lambda draw, hello: [*(hello[i : i + 40] for i in range(0, len(hello), 40)), metadata()],
    "hello and more": _hello_and_more,
    "records": _many_records,
    "huge message": _huge_message,
    "huge record": lambda draw, hello: [_record(0x16, draw.randbytes(20_000), size=0xFFFF)],
    "no TLS": lambda draw, hello: [draw.choice((b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n", metadata(), bytes(99)))],
}


def request(message: Message, version: int, client_id: str = "fuzz") -> bytes:
    return encode_request(ApiKey(message.API_KEY), version, 1, client_id, message)


def metadata() -> bytes:
    """Of all topics."""
    return request(MetadataRequest(topics=None), 9)


def handshake(mechanism: str, version: int) -> bytes:
    return request(SaslHandshakeRequest(mechanism=mechanism), version)


def authenticate(token: bytes, version: int) -> bytes:
    return request(SaslAuthenticateRequest(auth_bytes=token), version)


def sized(data: bytes, size: int | None = None) -> bytes:
    return struct.pack(">i", len(data) if size is None else size) + data


def _sasl_attempt(draw: random.Random) -> Attempt:
    kind = draw.choice(list(_SASL))
    in_tls = draw.random() < 0.1  # a handshake costs more than all that is said in it
    steps = [*_SASL[kind](draw), metadata()]
    return Attempt(f"sasl {kind}", "SASLS" if in_tls else "SASL", steps, in_tls)


def _frames(draw: random.Random) -> list[Step]:
    sizes = (-1, 0, 1, 4, 100, MAX_RECEIVE_SIZE, MAX_RECEIVE_SIZE + 1, (1 << 31) - 1, -(1 << 31))
    return [sized(draw.randbytes(draw.choice((0, 3, 50, 2000))), draw.choice(sizes)) for _ in range(draw.randint(1, 4))]


def _any_request(draw: random.Random) -> list[Step]:
    """An API and version of any number, and what may be no body of it."""
    head = struct.pack(">hhih", draw.randint(-2, 80), draw.randint(-1, 20), 1, draw.choice((-1, 0, 3, 2000)))
    first = [] if draw.random() < 0.5 else [handshake(draw.choice(MECHANISMS), draw.randint(0, 1))]
    return [*first, sized(head + draw.randbytes(draw.choice((0, 1, 8, 60, 4000))))]


def _api_versions(draw: random.Random) -> list[Step]:
    version = draw.choice((-1, 0, 1, 2, 3, 4, 5, 99, 32767))
    head = struct.pack(">hhih", 18, version, 1, 4) + b"fuzz"
    bodies = (b"", b"\0\2a\2b\0", b"\0\xff\xff\xff\xff\x0f", draw.randbytes(20))
    steps: list[Step] = [sized(head + draw.choice(bodies))]
    return steps * draw.choice((1, 2, 3))


def _orders(draw: random.Random) -> list[Step]:
    """All that belongs to SASL, in any order."""
    version = draw.randint(0, 2)
    parts: list[Callable[[], Step]] = [
        lambda: request(ApiVersionsRequest(client_software_name="x", client_software_version="1"), draw.randint(0, 3)),
        lambda: handshake(draw.choice((*MECHANISMS, "GSSAPI", "", "x" * 300)), draw.randint(0, 1)),
        lambda: authenticate(token(draw), min(version, 2)),
        lambda: sized(token(draw)),
        metadata,
    ]
    return [draw.choice(parts)() for _ in range(draw.randint(1, 7))]


def _tokens(draw: random.Random) -> list[Step]:
    """A handshake as it should be, then tokens that are none."""
    mechanism = draw.choice(MECHANISMS)
    version = draw.randint(0, 1)
    tokens = [token(draw, mechanism) for _ in range(draw.randint(1, 3))]
    return [handshake(mechanism, version), *((authenticate(each, 2) if version else sized(each)) for each in tokens)]


def _scram_proofs(draw: random.Random) -> list[Step]:
    """The first message of a user that there is, or is not; then proofs that are none."""
    user = draw.choice((USER, "nobody", "=2C", "a" * 200))
    first = f"n,{draw.choice(('', 'a=' + user))},n={user},r=fuzz{draw.randrange(1 << 30)}".encode()
    first += draw.choice((b"", b",tokenauth=true", b",x=y"))
    return [handshake("SCRAM-SHA-256", 1), authenticate(first, 2), lambda answer: authenticate(_proof(draw, answer), 2)]


def _proof(draw: random.Random, answer: bytes) -> bytes:
    at = answer.rfind(b"r=fuzz")
    nonce = answer[at + 2 :].partition(b",")[0] if at >= 0 else b"none"
    nonce = draw.choice((nonce, nonce[:-1], nonce + b"x", b"fuzz", b""))
    proof = base64.b64encode(draw.randbytes(draw.choice((0, 16, 32, 33, 64, 3000))))
    channel = draw.choice((b"biws", b"", b"eSws", b"cD10bHMtdW5pcXVlLCw="))
    return draw.choice((b"c=%s,r=%s,p=%s", b"c=%s,r=%s,m=1,p=%s", b"c=%s,r=%s")[:2]) % (channel, nonce, proof)


_SASL: dict[str, Callable[[random.Random], list[Step]]] = {
    "garbage": lambda draw: [draw.randbytes(draw.choice((1, 4, 100, 5000)))],
    "frames": _frames,
    "any request": _any_request,
    "ApiVersions": _api_versions,
    "orders": _orders,
    "tokens": _tokens,
    "scram proofs": _scram_proofs,
}


def token(draw: random.Random, mechanism: str | None = None) -> bytes:
    """One that lets nobody in."""
    mechanism = mechanism or draw.choice(MECHANISMS)
    if mechanism == "PLAIN":
        names = (USER, "", "nobody", "\x01", "ä" * 100, "a" * 100_000)
        parts = [draw.choice(names).encode(), draw.choice(names).encode(), b"wrong" + draw.randbytes(4)]
        right = b"\0".join(parts)
    elif mechanism.startswith("SCRAM"):
        right = b"n,,n=%s,r=%s" % (draw.choice((USER, "nobody")).encode(), b"n" * draw.choice((0, 1, 24, 20_000)))
    else:
        right = b"n,,\x01auth=Bearer " + _broken_jwt(draw) + draw.choice((b"\x01\x01", b"\x01k=v\x01\x01", b""))
    way = draw.random()
    if way < 0.3:
        return right
    if way < 0.7:
        return _damaged_token(draw, right)
    return draw.choice((b"", b"\0", b"\0\0", b"\x01", b"n,,", draw.randbytes(draw.choice((1, 30, 30_000)))))


def _damaged_token(draw: random.Random, right: bytes) -> bytes:
    """It must not become right by chance: it is cut, or has bytes that fit nowhere."""
    if draw.random() < 0.5 and right:
        return _cut(draw, right)
    position = draw.randint(0, len(right))
    return right[:position] + b"\xff\0" + right[position:]


def _broken_jwt(draw: random.Random) -> bytes:
    header = {"alg": draw.choice(("RS256", "HS256", "ES512", "None", 7, None))}
    claims: dict[str, object] = {"sub": USER, "exp": draw.choice((1, "x", None, 1e400, -5)), "iat": 0}
    deep = b"[" * draw.choice((10, 5000, 200_000))
    bodies = (json.dumps(claims).encode(), deep, b'{"exp":' + b"9" * 5000 + b"}", draw.randbytes(40), b"")
    parts = [json.dumps(header).encode(), draw.choice(bodies), draw.randbytes(draw.choice((0, 64)))]
    return b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts[: draw.choice((3, 3, 3, 2, 1))])
