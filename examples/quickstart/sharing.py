"""Sends the lines, and reads them back with a consumer group of two, one of which is killed on the way."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import sys
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from examples.quickstart.source import Digester, Digests, QuickstartError, SourceFile, lines
from kafkapy.protocol.errors import KafkaError

if TYPE_CHECKING:
    from kafkapy import KafkaConsumer, TopicPartition

_PATIENCE_SECONDS = 120.0
_SESSION_TIMEOUT_MS = 6000


def progress(total: int | None, what: str) -> Any:
    """A bar on a terminal, nothing in a pipe."""
    from tqdm import tqdm

    return tqdm(
        total=total, desc=f"  {what}", unit=" lines", unit_scale=True, disable=not sys.stderr.isatty(), leave=False
    )


def send(files: Sequence[SourceFile], bootstrap: str, topic: str) -> Digests:
    """Send every line with its file's name as the key; returns when all in-sync replicas have all of them."""
    from kafkapy import KafkaProducer
    from kafkapy.errors import MessageSizeTooLargeError

    failures: list[BaseException] = []
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=20, acks="all")
    digester = Digester()
    try:
        with progress(None, "sent") as bar:
            for file in files:
                key = file.name.encode()
                number = 0
                for line in lines(file):
                    digester.add(file.name, line)
                    number += 1
                    try:
                        producer.send(topic, key=key, value=line).add_errback(failures.append)
                    except MessageSizeTooLargeError:
                        raise QuickstartError(
                            f"Line {number} of {file.path} has {len(line):,} bytes; a record may have a million. "
                            "Leave this file out, or break its lines."
                        ) from None
                bar.update(number)
            producer.flush(timeout=60)
    finally:
        producer.close(timeout=10)
    if failures:
        raise QuickstartError(f"{len(failures)} lines were not acknowledged; the first because of: {failures[0]!r}")
    return digester.result()


class Group:
    """A consumer group whose members are processes; what each member read comes back by a queue."""

    def __init__(self, bootstrap: str, topic: str, name: str, members: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._events: Any = context.Queue()
        self._received = 0
        self.assigned: dict[int, list[int]] = {}
        """number of the member → its partitions"""
        self._reports: dict[int, Digests] = {}
        self._asked = {number: context.Event() for number in range(1, members + 1)}
        self._members = {
            number: context.Process(
                target=_member, args=(number, bootstrap, topic, name, self._events, asked), daemon=True
            )
            for number, asked in self._asked.items()
        }
        # Ctrl-C is for the process that started this one; a mask is inherited.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        try:
            for member in self._members.values():
                member.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def wait_for(self, count: int) -> None:
        """Until the members have read and committed `count` lines together."""
        with progress(count, "received") as bar:
            bar.update(self._received)

            def enough() -> bool:
                bar.update(self._received - bar.n)
                return self._received >= count

            self._until(enough, f"the consumer group did not read all {count} lines")

    def wait_for_shares(self, partitions: int, members: Collection[int]) -> None:
        """Until exactly these members share all partitions, each with some."""

        def shared() -> bool:
            mine = {number: self.assigned.get(number, []) for number in members}
            return all(mine.values()) and sum(map(len, mine.values())) == partitions

        self._until(shared, f"the members {sorted(members)} did not get all partitions")

    def report(self, number: int) -> Digests:
        """What the member has read so far."""
        self._asked[number].set()
        self._until(lambda: number in self._reports, f"member {number} did not answer")
        return self._reports.pop(number)

    def kill(self, number: int) -> int:
        """kill -9; the process id it had."""
        member = self._members.pop(number)
        pid = member.pid or 0
        member.kill()
        member.join()
        self.assigned.pop(number, None)
        return pid

    def close(self) -> None:
        for member in self._members.values():
            member.terminate()
        for member in self._members.values():
            member.join(10)

    def _until(self, condition: Any, otherwise: str) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not condition():
            try:
                what, number, value = self._events.get(timeout=1)
            except queue.Empty:
                if any(member.exitcode for member in self._members.values()):
                    raise QuickstartError("A member of the consumer group has failed; its message is above") from None
                if time.monotonic() > end:
                    raise QuickstartError(f"{otherwise} within {_PATIENCE_SECONDS:.0f} s") from None
                continue
            if what == "read":
                self._received += value
            elif what == "assigned":
                if number in self._members:
                    self.assigned[number] = value
            else:
                self._reports[number] = value


def _member(number: int, bootstrap: str, topic: str, group: str, events: Any, asked: Any) -> None:
    from kafkapy import ConsumerRebalanceListener, KafkaConsumer

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc,unused-ignore]
        def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
            pass

        def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
            events.put(("assigned", number, sorted(tp.partition for tp in assigned)))

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        client_id=f"member-{number}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=_SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=1000,
        max_poll_records=10_000,
    )
    consumer.subscribe([topic], listener=Listener())
    try:
        _read_and_commit(consumer, number, events, asked)
    except KafkaError as error:
        sys.exit(f"  member {number} has failed: {error}")


def _read_and_commit(consumer: KafkaConsumer, number: int, events: Any, asked: Any) -> None:
    """Until the process that started this one has ended."""
    digester = Digester()
    parent = os.getppid()
    while os.getppid() == parent:
        count = 0
        for records in consumer.poll(200).values():
            for record in records:
                digester.add(record.key.decode(), record.value)
            count += len(records)
        if count:
            consumer.commit()
            events.put(("read", number, count))
        if asked.is_set():
            asked.clear()
            events.put(("report", number, digester.result()))
