"""Two sessions that talk to each other through a channel that cuts bytes anywhere, and peers that are no TLS peers."""

from __future__ import annotations

import random
import ssl
import tracemalloc
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.security.tls.contexts import client_context, server_context
from kafkapy.security.tls.session import (
    MAX_BUFFERED_BYTES,
    MAX_HANDSHAKE_BYTES,
    WRITE_BYTES,
    TlsSession,
    _in_chunks,
)
from kafkapy.security.tls.tls_failure import PLAINTEXT_CLIENT, PLAINTEXT_SERVER, foreign_peer
from tests.security.tls.pki import connected, credential, exchange, keys, read_all, sessions, trust

VERSIONS = ("TLSv1.2", "TLSv1.3")
API_VERSIONS = bytes.fromhex("00000018001200030000000100056b6974000000")


@cache
def contexts(version: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    configs = {"ssl.enabled.protocols": version, "ssl.client.auth": "requested", **trust(), **keys(credential())}
    return server_context(configs), client_context(configs)


def fresh(version: str = "TLSv1.3") -> tuple[TlsSession, TlsSession]:
    server, client = contexts(version)
    return TlsSession(server, server_side=True), TlsSession(client, server_hostname="localhost")


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    """The data in pieces; the sizes are taken in turn."""
    pieces, at, n = [], 0, 0
    while at < len(data):
        size = sizes[n % len(sizes)] if sizes else len(data)
        pieces.append(data[at : at + size])
        at, n = at + size, n + 1
    return pieces


# --- two sessions


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(VERSIONS),
    st.lists(st.integers(1, 3000), min_size=1, max_size=6),
    st.lists(st.lists(st.integers(0, 40_000), max_size=4), max_size=4),
    st.lists(st.lists(st.integers(0, 40_000), max_size=4), max_size=4),
    st.integers(1, 50_000),
)
def test_what_is_written_is_read(
    version: str, cuts: list[int], there: list[list[int]], back: list[list[int]], buffer_size: int
) -> None:
    server, client = fresh(version)
    ends = ((client, server), (server, client))
    said, heard = {client: b"", server: b""}, {client: b"", server: b""}
    to_say = {client: list(there), server: list(back)}
    buffer = bytearray(buffer_size)
    client.start()
    busy = True
    while busy:
        busy = False
        for speaker, listener in ends:
            if speaker.handshake_complete and to_say[speaker]:
                pieces = [bytes((n + size) & 0xFF for n in range(size)) for size in to_say[speaker].pop(0)]
                speaker.write(pieces)
                said[speaker] += b"".join(pieces)
                busy = True
            for piece in cut(speaker.take_outgoing(), cuts):
                listener.received(piece)
                busy = True
            while count := listener.read_into(buffer):
                heard[listener] += buffer[:count]
    assert server.failure is None
    assert client.failure is None
    assert heard[server] == said[client]
    assert heard[client] == said[server]
    assert server.version == version
    assert server.peer_name() == "CN=broker,OU=kafka,O=kit"


@given(st.lists(st.integers(0, 3 * WRITE_BYTES), max_size=5))
@settings(deadline=None)
def test_chunks(sizes: list[int]) -> None:
    pieces = [bytes((n,)) * size for n, size in enumerate(sizes)]
    chunks = list(_in_chunks(pieces))
    assert b"".join(chunks) == b"".join(pieces)
    assert all(len(chunk) == WRITE_BYTES for chunk in chunks[:-1])
    assert all(0 < len(chunk) <= WRITE_BYTES for chunk in chunks)


def test_a_large_write_is_not_copied_before_it_is_encrypted() -> None:
    large = bytes(1 << 20)
    chunks = list(_in_chunks([b"head", large]))
    assert sum(isinstance(chunk, memoryview) for chunk in chunks) >= 14


def test_reads_end_with_the_buffer() -> None:
    server, client = connected()
    client.write([b"x" * 100_000])
    server.received(client.take_outgoing())
    buffer = bytearray(64)
    assert server.has_input
    assert server.read_into(buffer) == 64
    assert server.read_into(memoryview(buffer)[:0]) == 0
    assert server.has_input
    assert len(read_all(server)) == 100_000 - 64
    assert not server.has_input


def test_nothing_is_written_before_the_handshake() -> None:
    _, client = sessions()
    with pytest.raises(ValueError, match="before the handshake"):
        client.write([b"x"])
    assert client.read_into(bytearray(8)) == 0


# --- the end


@pytest.mark.parametrize("version", VERSIONS)
def test_close_notify(version: str) -> None:
    server, client = fresh(version)
    exchange(server, client)
    read_all(client)
    client.write([b"last words"])
    client.close()
    client.close()
    client.write([b"too late"])
    server.received(client.take_outgoing())
    assert read_all(server) == b"last words"
    assert server.peer_closed
    assert server.failure is None
    server.received(b"more")
    assert server.read_into(bytearray(8)) == 0
    server.close()
    client.received(server.take_outgoing())


def test_a_connection_that_ends() -> None:
    server, client = sessions()
    client.start()
    server.received(client.take_outgoing()[:50])
    server.eof_received()
    assert str(server.failure) == "the peer has closed the connection during the handshake"
    server, client = connected()
    client.eof_received()
    assert client.peer_closed
    assert client.failure is None


def test_what_came_before_the_end_is_read_after_it() -> None:
    server, client = connected()
    client.write([b"last words" * 5000])
    server.received(client.take_outgoing())
    server.eof_received()
    assert server.has_input
    assert read_all(server) == b"last words" * 5000
    assert not server.has_input
    assert server.failure is None


def test_what_follows_a_close_notify_is_dropped() -> None:
    server, client = connected()
    client.write([b"x"])
    client.close()
    server.received(client.take_outgoing() + b"\x17\x03\x03" + bytes(100))
    assert read_all(server) == b"x"
    assert server.peer_closed
    assert not server.has_input


def test_a_session_keeps_its_context() -> None:
    """What replaces a context holds for new sessions only."""
    server, client = connected()
    other, _ = connected(keys(credential("CN=another")))
    client.write([b"x"])
    server.received(client.take_outgoing())
    assert read_all(server) == b"x"
    assert other.handshake_complete


# --- peers that are none


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (API_VERSIONS, PLAINTEXT_CLIENT),
        (b"GET / HTTP/1.1\r\n\r\n", "what comes is HTTP, not TLS"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "what comes is SSH, not TLS"),
        (b"\xff" * 40, "what the peer sends is no"),
        (b"\x16\x03\x01\x00\x04\x01\x00\x00\x00", ""),
        (bytes.fromhex("8046010301002d0000001001008003008007"), ""),
    ],
)
def test_what_is_no_tls(start: bytes, sentence: str) -> None:
    for size in (len(start), 1, 5):
        server, _ = sessions()
        for piece in cut(start, [size]):
            server.received(piece)
        if server.failure is None:
            server.eof_received()
        assert server.failure is not None
        assert sentence in server.failure.sentence or "no TLS" in server.failure.sentence
        assert not server.handshake_complete


def test_a_plaintext_client_is_told_as_soon_as_it_has_sent_a_request() -> None:
    server, _ = sessions()
    server.received(API_VERSIONS)
    assert server.failure is not None
    assert server.failure.sentence == PLAINTEXT_CLIENT


def test_a_client_at_a_plaintext_port() -> None:
    _, client = sessions()
    client.start()
    client.received(bytes.fromhex("0000000a0000000100230000"))
    assert client.failure is not None
    assert client.failure.sentence == PLAINTEXT_SERVER
    assert foreign_peer(b"\x16\x03\x01", server_side=True) is None
    assert foreign_peer(b"", server_side=True) is None


def test_renegotiation_is_off() -> None:
    server, client = contexts("TLSv1.2")
    assert server.options & ssl.OP_NO_RENEGOTIATION
    assert client.options & ssl.OP_NO_RENEGOTIATION


# --- bounds


def test_a_handshake_that_never_ends() -> None:
    """Change-cipher-spec records are ignored by TLS 1.3 for middleboxes; fragments of a hello that never is whole."""
    for record in (
        b"\x16\x03\x01\x00\x04\x01\x00\x40\x00",
        b"\x14\x03\x03\x00\x01\x01",
        b"\x16\x03\x01\x40\x00\x01\x00\xff\xff" + bytes(16380),
        b"\x16\x03\x01\x00\x00",
        b"\x15\x03\x01\x00\x02\x01\x5a",
    ):
        server, _ = sessions()
        sent = 0
        while server.failure is None and sent < 4 << 20:
            server.received(record)
            sent += len(record)
        assert server.failure is not None
        assert sent <= MAX_HANDSHAKE_BYTES + 2 * len(record)
        assert server._incoming.pending == 0


def test_ciphertext_that_is_not_read() -> None:
    server, client = connected()
    sent = 0
    while server.failure is None and sent < 3 * MAX_BUFFERED_BYTES:
        client.write([bytes(WRITE_BYTES)])
        data = client.take_outgoing()
        sent += len(data)
        server.received(data)
        if sent < 200_000:
            assert server.wants_input
        elif sent > 600_000:
            assert not server.wants_input
    assert str(server.failure) == "more ciphertext comes than is read"
    assert server._incoming.pending == 0


def test_garbage_before_the_handshake() -> None:
    """10,000 inputs: each ends in a failure or waits for more, and nothing is kept of those that failed."""
    randomness = random.Random(39)
    _, client = fresh()
    client.start()
    hello = client.take_outgoing()
    answers = 0
    tracemalloc.start()
    try:
        before = 0
        for n in range(10_000):
            server, _ = fresh()
            kind = n % 4
            if kind == 0:
                data = randomness.randbytes(randomness.randrange(1, 300))
            elif kind == 1:
                mutated = bytearray(hello)
                for _ in range(randomness.randrange(1, 6)):
                    mutated[randomness.randrange(len(mutated))] = randomness.randrange(256)
                data = bytes(mutated)
            elif kind == 2:
                data = hello[: randomness.randrange(len(hello))] + randomness.randbytes(randomness.randrange(60))
            else:
                body = randomness.randbytes(randomness.randrange(200))
                data = bytes((randomness.choice((20, 21, 22, 23, 24)), 3, randomness.randrange(5)))
                data += len(body).to_bytes(2, "big") + body
            for piece in cut(data, [randomness.randrange(1, 200)]):
                server.received(piece)
            assert not server.handshake_complete
            assert server.read_into(bytearray(64)) == 0
            answers += len(server.take_outgoing())
            if n == 1000:
                before = tracemalloc.get_traced_memory()[0]
        assert tracemalloc.get_traced_memory()[0] - before < 1 << 20
    finally:
        tracemalloc.stop()
    assert answers / 10_000 < 3000


@pytest.mark.parametrize("version", VERSIONS)
def test_garbage_after_the_handshake(version: str) -> None:
    """A record that is changed, cut or made up ends the session; nothing false is read."""
    randomness = random.Random(7)
    for n in range(300):
        server, client = fresh(version)
        exchange(server, client)
        client.write([b"truth" * 200])
        data = bytearray(client.take_outgoing())
        if n % 3 == 0:
            data[randomness.randrange(5, len(data))] ^= 1 + randomness.randrange(255)
        elif n % 3 == 1:
            data = bytearray(b"\x17\x03\x03" + (50).to_bytes(2, "big") + randomness.randbytes(50))
        else:
            data = bytearray(randomness.randbytes(80))
        for piece in cut(bytes(data), [randomness.randrange(1, 400)]):
            server.received(piece)
            assert read_all(server) == b""
        if n % 3 < 2:
            assert server.failure is not None
            assert server.failure.sentence
        server.write([b"ignored"])
        server.close()
        server.take_outgoing()
