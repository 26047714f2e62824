"""Recordings of what a broker answered, and the broker that plays them back."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import RequestHeader
from tests.fake_broker import FakeBroker

HOST = b"127.0.0.1"
RECORDED_PORT = 9092
"""Stands in recordings for the broker's port."""


class Exchange(NamedTuple):
    """One response: everything behind its correlation id."""

    api_key: ApiKey
    version: int
    response: bytes


def replace_port(response: bytes, old: int, new: int) -> bytes:
    """Addresses in responses are a host and, right behind it, an int32 port."""
    return response.replace(HOST + struct.pack(">i", old), HOST + struct.pack(">i", new))


def save(path: Path, exchanges: list[Exchange]) -> None:
    """One line for each response: API, version, bytes as hex."""
    lines = [f"{e.api_key.title} {e.version} {e.response.hex()}\n" for e in exchanges]
    path.write_text("".join(lines))


def load(path: Path) -> list[Exchange]:
    titles = {key.title: key for key in ApiKey}
    exchanges = []
    for line in path.read_text().splitlines():
        title, version, response = line.split()
        exchanges.append(Exchange(titles[title], int(version), bytes.fromhex(response)))
    return exchanges


class ReplayBroker(FakeBroker):
    """Answers each request with the first recorded response to its API and version that was not given yet.

    Metadata that no client asked for when the recording was made is answered with this broker.
    """

    def __init__(self, exchanges: list[Exchange]) -> None:
        super().__init__()
        self.left = list(exchanges)
        self._has_metadata = any(exchange.api_key == ApiKey.METADATA for exchange in exchanges)

    def _answer(self, frame: bytes) -> bytes | None:
        header, _ = RequestHeader.decode(frame)
        wanted = (header.api_key, header.api_version)
        for exchange in self.left:
            if (exchange.api_key, exchange.version) == wanted:
                self.left.remove(exchange)
                response = replace_port(exchange.response, RECORDED_PORT, self.port)
                return struct.pack(">i", header.correlation_id) + response
        if header.api_key == ApiKey.METADATA and not self._has_metadata:
            return super()._answer(frame)
        return None


class RecordingProxy(FakeBroker):
    """Passes requests on to a broker and keeps its responses."""

    def __init__(self, broker_port: int, forward: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self.broker_port = broker_port
        self.forward = forward
        self.exchanges: list[Exchange] = []

    def _answer(self, frame: bytes) -> bytes | None:
        header, _ = RequestHeader.decode(frame)
        response = self.forward(frame)
        recorded = replace_port(response[4:], self.broker_port, RECORDED_PORT)
        self.exchanges.append(Exchange(header.api_key, header.api_version, recorded))
        return replace_port(response, self.broker_port, self.port)
