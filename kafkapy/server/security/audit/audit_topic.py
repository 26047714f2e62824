"""Writes the audit to a topic of this cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.server.security.audit.audit_log import AuditWriteError

RETRY_SECONDS: Final = 30.0
"""How long a write to the topic is retried; meanwhile more records wait, up to the queue's limit."""
BACKOFF_SECONDS: Final = 0.5
MAX_BATCH_BYTES: Final = 512 * 1024
"""Half of a topic's default `max.message.bytes`."""
TIMEOUT_MS: Final = 10_000


class TopicPlace(Protocol):
    """The metadata that the sink needs; called in the audit's thread."""

    def leader_of(self, topic: str, number: int) -> tuple[int, str, int] | None:
        """Return partition, and host and port of its leader, for batch `number`, in rotation. None: there is no leader
        now.
        """
        ...

    def create(self, topic: str) -> None:
        """Create the topic if it does not exist and that is possible now. Blocks."""
        ...


class AuditTopic:
    """Produces to the topic as this broker's own client: with acks=all, retrying until success or time-out.

    A batch whose response is lost may be duplicated.

    Invariant: `_clients` has a connection to each broker that led a partition; `_batches` counts the written ones.
    """

    def __init__(
        self,
        topic: str,
        place: TopicPlace,
        connect: Callable[[str, int], BlockingClient],
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """
        Args:
            topic: The topic's name; a missing topic is created with the broker's defaults.
            place: Returns the leaders of its partitions.
            connect: Creates the client for a broker, by host and port.
            retry_seconds: How long a write is retried before its records are lost.
        """
        self._topic = topic
        self._place = place
        self._connect = connect
        self._retry_seconds = retry_seconds
        self._clients: dict[tuple[str, int], BlockingClient] = {}
        self._batches = 0
        self._is_stopping = threading.Event()

    def write(self, lines: Sequence[bytes]) -> None:
        """See `AuditSink.write`."""
        deadline = time.monotonic() + self._retry_seconds
        for some in _batches(lines):
            self._write_batch(some, deadline)

    def stopping(self) -> None:
        """See `AuditSink.stopping`."""
        self._is_stopping.set()

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _write_batch(self, lines: Sequence[bytes], deadline: float) -> None:
        builder = MemoryRecordsBuilder()
        now_ms = int(time.time() * 1000)
        for line in lines:
            builder.append(now_ms, None, line)
        records = builder.build()
        while True:
            problem = self._try(records)
            if problem is None:
                self._batches += 1
                return
            if self._is_stopping.is_set() or time.monotonic() >= deadline:
                raise AuditWriteError(f"topic {self._topic}: {problem}")
            self._is_stopping.wait(BACKOFF_SECONDS)

    def _try(self, records: Any) -> str | None:
        """Return why it was not written; None: it was."""
        found = self._place.leader_of(self._topic, self._batches)
        if found is None:
            self._place.create(self._topic)
            return "it does not exist, or has no leader"
        partition, host, port = found
        request = ProduceRequest(
            acks=-1,
            timeout_ms=TIMEOUT_MS,
            topic_data=[
                ProduceRequest.TopicProduceData(
                    name=self._topic,
                    partition_data=[ProduceRequest.PartitionProduceData(index=partition, records=records)],
                )
            ],
        )
        try:
            client = self._clients.get((host, port))
            if client is None:
                client = self._clients[host, port] = self._connect(host, port)
            response = client.call(request)
        except KafkaError as problem:
            return str(problem)
        error = Errors.for_code(response.responses[0].partition_responses[0].error_code)
        return None if error is Errors.NONE else error.name


def _batches(lines: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    begin = size = 0
    for index, line in enumerate(lines):
        if size and size + len(line) > MAX_BATCH_BYTES:
            yield lines[begin:index]
            begin, size = index, 0
        size += len(line)
    if begin < len(lines):
        yield lines[begin:]
