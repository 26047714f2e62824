"""Finds wrong bootstrap servers: no Kafka listener, an untrusted certificate, TLS instead of plaintext or vice
versa."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Collection
from functools import cache, partial

from kafkapy.clients.driver import Channel, Driver, SocketOptions, TimerHandle
from kafkapy.clients.foreign_starts import ANSWERS_IN_PLAINTEXT, ANSWERS_IN_TLS, ANSWERS_NOT_IN_TLS, told_by
from kafkapy.clients.metadata import Address
from kafkapy.clients.socket_transport import CLOSED_IN_TLS_HANDSHAKE, NOT_TLS, PEER_CLOSED, RESET, UNTRUSTED
from kafkapy.errors import WrongProtocolError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.headers import RequestHeader
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.runtime.completion import Completion

_log = logging.getLogger("kafkapy.clients")

_HUNG_UP = (PEER_CLOSED, RESET, CLOSED_IN_TLS_HANDSHAKE)
_PATIENCE_MS = 3_000
_CORRELATION_ID = 1


class Probe(Channel):
    """Tests with a separate connection whether a listener that closed ours speaks the other protocol (TLS or
    plaintext).

    If it does, `told` is called with a description; else it is not called.
    """

    def __init__(self, driver: Driver, host: str, port: int, *, tls: bool, told: Callable[[str], object]) -> None:
        """`tls`: True to try TLS, False to try plaintext."""
        self._tls = tls
        self._told = told
        self._buffer = bytearray(64)
        self._timer: TimerHandle = driver.call_later(_PATIENCE_MS, self.close)
        self._transport = driver.connect(host, port, self, SocketOptions(connect_timeout_ms=_PATIENCE_MS))

    def connected(self) -> None:
        self._transport.write([_client_hello() if self._tls else _plain_question()])

    def receive_buffer(self) -> memoryview:
        return memoryview(self._buffer)

    def bytes_received(self, count: int) -> None:
        start = bytes(self._buffer[:count])
        self.close()
        if self._tls and told_by(start) == ANSWERS_IN_TLS:
            self._told(ANSWERS_IN_TLS)
        elif not self._tls and start[4:8] == _CORRELATION_ID.to_bytes(4, "big"):
            self._told(ANSWERS_IN_PLAINTEXT)

    def disconnected(self, reason: str) -> None:
        self._timer.cancel()

    def close(self) -> None:
        self._timer.cancel()
        self._transport.close()


class ForeignListeners:
    """A client's bootstrap servers that are not usable Kafka listeners.

    Invariant: `hopeless` is done when `sentences` has all addresses. Each address is probed at most once.
    """

    def __init__(self, driver: Driver, addresses: Collection[Address], tls: bool) -> None:
        self.sentences: dict[Address, str] = {}
        self.hopeless: Completion[None] = Completion()
        self._driver = driver
        self._addresses = frozenset(addresses)
        self._tls = tls
        self._probes: dict[Address, Probe] = {}

    def connection_failed(self, address: Address, failure: KafkaError | None, reason: str) -> None:
        """Examine a connection that never became ready. `reason`: the transport's description."""
        if address not in self._addresses:
            return
        if isinstance(failure, WrongProtocolError):
            self._found(address, failure.message)
        elif reason == NOT_TLS:
            self._found(address, f"{address} {ANSWERS_NOT_IN_TLS}")
        elif reason.startswith(UNTRUSTED):
            self._found(address, f"{address}: {reason}")
        elif reason in _HUNG_UP and address not in self._probes:
            told = partial(self._probed, address)
            self._probes[address] = Probe(self._driver, address.host, address.port, tls=not self._tls, told=told)

    def _probed(self, address: Address, told: str) -> None:
        sentence = f"{address} {told}"
        _log.warning("%s", sentence)
        self._found(address, sentence)

    def _found(self, address: Address, sentence: str) -> None:
        self.sentences[address] = sentence
        if self.sentences.keys() == self._addresses:
            self.hopeless.set_result(None)

    def close(self) -> None:
        """Discard the findings and end running probes."""
        for probe in self._probes.values():
            probe.close()
        self._probes.clear()
        self.sentences.clear()
        self.hopeless = Completion()


@cache
def _client_hello() -> bytes:
    """Return the ClientHello of a TLS client."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    said = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), said).do_handshake()
    except ssl.SSLWantReadError:
        pass  # it waits for the server's response
    return said.read()


def _plain_question() -> bytes:
    """Return an ApiVersions request of version 0, which every broker answers before authentication."""
    header = RequestHeader(ApiKey.API_VERSIONS, 0, _CORRELATION_ID, "kafkapy-probe").encode()
    body = bytes(header) + bytes(ApiVersionsRequest().encode(0))
    return struct.pack(">i", len(body)) + body
