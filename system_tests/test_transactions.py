"""Copiers move records from topic to topic exactly once, whoever is killed meanwhile (kafkatest's transactions_test)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kafkapy import KafkaConsumer, KafkaProducer, TopicPartition
from kafkapy.admin import KafkaAdminClient
from kafkapy.clients.client_options import Isolation
from system_tests.clients import create_topic
from system_tests.conftest import NewCluster, Note, Progress
from system_tests.services import ROOT, KafkaService, wait_until

COPIERS = PARTITIONS = 4
NUMBERS_AT_ONCE = 5
PAUSE_SECONDS = 0.05
"""Slow enough for copiers that are killed most of the time: at the end they have to catch up."""
GROUP = "copiers"
TOPICS = ("input", "output")


class Copier:
    """A process of `transactional_copier`, which can be killed and comes back when it has ended by itself."""

    def __init__(self, bootstrap: str, number: int, directory: Path, group_mode: bool) -> None:
        self._arguments = [bootstrap, *TOPICS, GROUP, f"copier-{number}", *([] if group_mode else [str(number)])]
        self._output = directory / f"copier-{number}.out"
        self._process: subprocess.Popen[bytes] | None = None
        self.ended = 0
        """How often it ended by itself."""

    def keep_alive(self) -> None:
        if self._process is None or self._process.poll() is not None:
            self.ended += self._process is not None
            command = [sys.executable, "-m", "system_tests.transactional_copier", *self._arguments]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            with self._output.open("ab") as output:
                self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT, env=environment)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def copiers(bootstrap: str, directory: Path, group_mode: bool) -> Iterator[list[Copier]]:
    with ExitStack() as ending:
        found = [Copier(bootstrap, number, directory, group_mode) for number in range(COPIERS)]
        for copier in found:
            ending.callback(copier.kill)
            copier.keep_alive()
        yield found


class Writer:
    """Writes the numbers 0, 1, 2 … to each partition of the input, for as long as the `with` block goes on."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer")
        self.per_partition = 0
        """How many numbers; final after the block."""

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_done.set()
        self._thread.join()

    def _run(self) -> None:
        producer = KafkaProducer(bootstrap_servers=self._bootstrap)
        while not self._is_done.wait(PAUSE_SECONDS):
            for _ in range(NUMBERS_AT_ONCE):
                for partition in range(PARTITIONS):
                    producer.send("input", b"%d" % self.per_partition, partition=partition)
                self.per_partition += 1
        producer.close()


class Reader:
    """Reads what is committed in the output as it comes, for as long as the `with` block goes on."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest", group_id=None
        )
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reader")
        self.found: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_done.set()
        self._thread.join()

    def _run(self) -> None:
        self._consumer.assign([TopicPartition("output", number) for number in range(PARTITIONS)])
        while not self._is_done.is_set():
            for partition, records in self._consumer.poll(200).items():
                self.found[partition.partition].extend(int(record.value or b"") for record in records)
        self._consumer.close()


def copied(bootstrap: str) -> int:
    """Records of the input that are committed as done."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=GROUP, enable_auto_commit=False)
    try:
        return sum(consumer.committed(TopicPartition("input", number)) or 0 for number in range(PARTITIONS))
    finally:
        consumer.close()


def output(bootstrap: str) -> dict[int, list[int]]:
    """What a reader of committed records finds in each partition. There is nothing behind it that he has to wait for."""
    partitions = [TopicPartition("output", number) for number in range(PARTITIONS)]
    all_ends = _ends(bootstrap, partitions, "read_uncommitted")
    wait_until(
        lambda: _ends(bootstrap, partitions, "read_committed") == all_ends, 60, "no transaction is open in the output"
    )
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest", group_id=None,
        consumer_timeout_ms=5000,
    )  # fmt: skip
    consumer.assign(partitions)
    found: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    for record in consumer:
        found[record.partition].append(int(record.value or b""))
        if all(consumer.position(partition) == all_ends[partition] for partition in partitions):
            break
    consumer.close()
    return found


def _ends(bootstrap: str, partitions: list[TopicPartition], isolation: Isolation) -> dict[TopicPartition, int]:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, isolation_level=isolation, group_id=None)
    try:
        return consumer.end_offsets(partitions)
    finally:
        consumer.close()


def _differences(found: dict[int, list[int]], expected: dict[int, list[int]]) -> str:
    """Where each partition first differs from what it should be."""
    return ", ".join(
        f"{number}: {len(found[number]):,} of {len(wanted):,}, right up to {_common_start(found[number], wanted):,}"
        for number, wanted in expected.items()
        if found[number] != wanted
    )


def _common_start(found: list[int], wanted: list[int]) -> int:
    return next((n for n, (one, other) in enumerate(zip(found, wanted, strict=False)) if one != other), len(found))


def _pause(broker: KafkaService) -> None:
    """Longer than a broker may lag behind."""
    with broker.paused():
        time.sleep(3)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("group_mode", [True, False], ids=["group-mode", "own-partitions"])
def test_records_are_copied_exactly_once(
    group_mode: bool,
    new_cluster: NewCluster,
    pytestconfig: pytest.Config,
    kills: int,
    short: bool,
    tmp_path: Path,
    note: Note,
    progress: Progress,
) -> None:
    """A copier is killed every other time; in between a broker is killed, shut down and started, or paused.

    In group mode the copiers share the partitions as members of a group, else each has its own; then a partition may change
    hands in no other way than by the transactional id.
    """
    configs = {
        "transaction.state.log.num.partitions": 3,
        "offsets.topic.num.partitions": 3,
        "replica.lag.time.max.ms": 2000,
    }
    cluster = new_cluster(3, configs).start()
    bootstrap = cluster.bootstrap
    for topic in TOPICS:
        create_topic(bootstrap, topic, PARTITIONS)
    chance = random.Random(pytestconfig.getoption("--seed"))
    begin = time.monotonic()
    with Reader(bootstrap) as reader, copiers(bootstrap, tmp_path, group_mode) as running:
        with Writer(bootstrap) as writer:
            for kill in range(kills):
                time.sleep(chance.random() * 2)
                if kill % 2 == 0:
                    chance.choice(running).kill()
                else:
                    broker = chance.choice(cluster.brokers)
                    chance.choice([KafkaService.hard_bounce, KafkaService.clean_bounce, _pause])(broker)
                    for topic in TOPICS:
                        cluster.wait_for_isr(topic)
                for copier in running:
                    copier.keep_alive()
                took = time.monotonic() - begin
                progress(f"{took:6.1f} s  fault {kill + 1} of {kills}: {copied(bootstrap):,} records are copied")

        def all_copied() -> bool:
            for copier in running:
                copier.keep_alive()
            return copied(bootstrap) == PARTITIONS * writer.per_partition

        wait_until(all_copied, 300, lambda: f"all is copied: {copied(bootstrap):,}")
        ended = sum(copier.ended for copier in running)
        expected = {number: list(range(writer.per_partition)) for number in range(PARTITIONS)}
        wait_until(
            lambda: reader.found == expected,
            60,
            lambda: f"the reader has each record once, in order: {_differences(reader.found, expected)}",
        )
    assert output(bootstrap) == expected
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        listed = [listing for of_broker in admin.list_transactions().values() for listing in of_broker]
    assert {listing.state.value for listing in listed} <= {"Empty", "CompleteCommit", "CompleteAbort"}
    note("records", f"{PARTITIONS * writer.per_partition:,}")
    note("copiers that gave up and began anew", ended)
