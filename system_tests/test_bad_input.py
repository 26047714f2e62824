"""Floods, lies and bombs: the broker goes on serving, and its memory stays bounded."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.produce import ProduceResponse
from system_tests.checks import check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.conftest import Note
from system_tests.raw import ask, bomb, fetch_request, frame, produce_request
from system_tests.services import HOST, TIME_LIMIT_FACTOR, KafkaService

MB = 1 << 20


@pytest.fixture(scope="module")
def broker(module_broker: KafkaService) -> KafkaService:
    """One for all of these: whatever it is fed, it lives on."""
    return module_broker


@contextlib.contextmanager
def bounded_memory(broker: KafkaService, megabytes: int, note: Note) -> Iterator[None]:
    """What happens inside must not make the broker's own memory grow by more, not even for a moment."""
    before = broker.memory
    peak = before
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, broker.memory)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    growth = (peak - before) / MB
    note("memory at its peak", f"{growth:+.0f} MB")
    assert growth < megabytes, f"the broker's memory grew by {growth:.0f} MB; {megabytes} MB are allowed"


def check_serves(broker: KafkaService, topic: str) -> None:
    create_topic(broker.bootstrap, topic)
    producer = AckedProducer(broker.bootstrap, topic, enable_idempotence="false")
    producer.send(200)
    check_log(producer, read_topic(broker.bootstrap, topic), exactly_once=True)


def test_flood_of_huge_frames(broker: KafkaService, short: bool, note: Note) -> None:
    """Many connections announce 100 MB each and send little of it; only what has arrived may cost memory."""
    connections = 200 if short else 1000
    announced = frame(ApiKey.PRODUCE, 7, b"", size=100 * MB)
    with contextlib.ExitStack() as stack, bounded_memory(broker, 32 + connections * 100_000 // MB, note):
        flood = [stack.enter_context(socket.create_connection((HOST, broker.port))) for _ in range(connections)]
        for connection in flood:
            connection.sendall(announced + bytes(50_000))
        time.sleep(0.5)
        check_serves(broker, "during-the-flood")
    check_serves(broker, "after-the-flood")
    note("connections", connections)


def test_readers_who_never_read(broker: KafkaService, note: Note) -> None:
    """Fetches are asked for and their answers left in the socket."""
    create_topic(broker.bootstrap, "unread")
    producer = AckedProducer(broker.bootstrap, "unread")
    producer.send(50_000)
    with contextlib.ExitStack() as stack, bounded_memory(broker, 32, note):
        for _ in range(50):
            connection = stack.enter_context(socket.create_connection((HOST, broker.port)))
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.send(fetch_request("unread", offset=0) * 100)
        time.sleep(0.5)
        check_serves(broker, "besides")


def test_decompression_bomb(broker: KafkaService, short: bool, note: Note) -> None:
    """Hundreds of MB of zeros in a batch of some hundred KB, into a topic that keeps it and one that recompresses."""
    request = bomb(200 if short else 800)
    with bounded_memory(broker, 160, note):
        for topic, codec in (("kept", "producer"), ("recompressed", "lz4")):
            create_topic(broker.bootstrap, topic, configs={"compression.type": codec})
            answer = ask(broker.port, produce_request(topic, request))
            assert answer is not None, "the broker hung up"
            response = ProduceResponse.decode(memoryview(answer)[4:], 7)
            note(f"error code where it would be {topic}", response.responses[0].partition_responses[0].error_code)
    check_serves(broker, "after-the-bomb")


def test_lies_and_noise(broker: KafkaService, short: bool, note: Note) -> None:
    """Sizes and counts that are not true, requests cut short, bytes at random: an error or a closed connection."""
    noise = random.Random(1)
    counts = [struct.pack(">i", count) for count in (-2, 1 << 20, (1 << 31) - 1)]
    requests = [
        struct.pack(">i", -1),
        struct.pack(">i", (1 << 31) - 1),
        struct.pack(">i", 0),
        frame(ApiKey.METADATA, 99, b""),
        *(frame(api_key, 1, count) for api_key in (ApiKey.METADATA, ApiKey.CREATE_TOPICS) for count in counts),
        *(frame(ApiKey.METADATA, 9, b"\0" + b"\xff" * length) for length in range(1, 12)),
    ]
    for _ in range(300 if short else 3000):
        api_key = noise.choice(list(ApiKey))
        requests.append(frame(api_key, noise.randrange(12), noise.randbytes(noise.randrange(200))))
        requests.append(struct.pack(">i", 200) + noise.randbytes(200))
    with bounded_memory(broker, 64, note):
        for request in requests:
            with socket.create_connection((HOST, broker.port), timeout=TIME_LIMIT_FACTOR * 10) as connection:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionError):
                    while connection.recv(1 << 16):
                        pass
    assert broker.is_running
    check_serves(broker, "after-the-noise")
    note("requests", len(requests))
