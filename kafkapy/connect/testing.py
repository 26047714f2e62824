"""Tests of connectors: a worker runs one against a real cluster, is killed at chosen points, and what has arrived is compared
with what should have (docs/connectors.md)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final
from uuid import uuid4

_POLL_S: Final = 0.05
_STRINGS: Final = "org.apache.kafka.connect.storage.StringConverter"


class ConnectorFailed(AssertionError):
    """The connector or a task has become FAILED, or has not done its work in time; the message has the trace."""


@dataclass(frozen=True)
class Kill:
    """Where a worker is killed: at the end of a call of a task's method.

    Attributes:
        method: `poll` (calls that return records), `put` (calls with records), `flush`, `pre_commit`, `commit`,
            `commit_record`, `start`, `open`, `close` or `stop`.
        call: Which of the calls, from 1. Default: the first.
        before: At the beginning of the call instead; for `poll` there is no such point. Default: no.

    Example:
        >>> Kill("put", 2)
        Kill(method='put', call=2, before=False)
    """

    method: str
    call: int = 1
    before: bool = False


@dataclass(frozen=True)
class Delivered:
    """What has arrived, beside what should have.

    Attributes:
        expected: In order.
        got: In order.

    Example:
        >>> delivered = Delivered([b"a", b"b", b"c"], [b"a", b"b", b"b"])
        >>> delivered.lost, delivered.repeated
        ([b'c'], [b'b'])
    """

    expected: Sequence[Hashable]
    got: Sequence[Hashable]

    @property
    def lost(self) -> list[Hashable]:
        """What has not arrived."""
        return list((Counter(self.expected) - Counter(self.got)).elements())

    @property
    def repeated(self) -> list[Hashable]:
        """What has arrived more often than it should."""
        return list((Counter(self.got) - Counter(self.expected)).elements())

    def check(self, *, exactly_once: bool = False) -> None:
        """Compare both.

        Args:
            exactly_once: Repetitions and another order are errors, too. Default: only losses are.

        Raises:
            AssertionError: Says what is lost or repeated.
        """
        if self.lost:
            raise AssertionError(f"{len(self.lost)} of {len(self.expected)} records are lost: {_some(self.lost)}")
        if exactly_once and self.repeated:
            raise AssertionError(f"{len(self.repeated)} records came more than once: {_some(self.repeated)}")
        if exactly_once and list(self.got) != list(self.expected):
            raise AssertionError("The records came in another order")


class ConnectorTest:
    """Runs one connector in a worker, a process of its own, until its work is done.

    Each run begins anew: unless the config has a `name`, the connector gets one of its own, and with it a consumer group.

    Invariant: no worker outlives the method that has started it, or the process of the test.

    Args:
        bootstrap_servers: Of a cluster, for example `KafkaCluster().bootstrap_servers` of `kafkapy.testing`.
        worker: More of the worker's properties. Default: strings as keys and values; a commit each 0.1 s.
        timeout_s: The longest time that a worker may need. Default: 60 s.

    Example:
        >>> test = ConnectorTest("localhost:9092")
        >>> delivered = test.source({"connector.class": "numbers:Numbers"}, "numbers", [b"1"])  # doctest: +SKIP
    """

    def __init__(
        self, bootstrap_servers: str | Sequence[str], worker: Mapping[str, str] | None = None, timeout_s: float = 60.0
    ) -> None:
        servers = bootstrap_servers if isinstance(bootstrap_servers, str) else ",".join(bootstrap_servers)
        self._properties = {
            "bootstrap.servers": servers,
            "key.converter": _STRINGS,
            "value.converter": _STRINGS,
            "offset.flush.interval.ms": "100",
            "consumer.session.timeout.ms": "6000",  # a killed worker's partitions are free after that
            "consumer.heartbeat.interval.ms": "1000",
            **(worker or {}),
        }
        self._timeout_s = timeout_s

    def source(
        self, config: Mapping[str, str], topic: str, expected: Sequence[bytes | None], kills: Iterable[Kill] = ()
    ) -> Delivered:
        """Run a source until its topic has all of the expected values.

        Args:
            config: The connector's.
            topic: Where it writes; it should be empty at first.
            expected: Values of the records, in order.
            kills: One after the other; after each a new worker goes on. Default: none.

        Returns:
            The values that the topic has at the end, also those that came after the last expected one.

        Raises:
            ConnectorFailed: See there.
        """
        reader = _TopicReader(self._properties["bootstrap.servers"], topic)
        with reader:
            self._run(config, lambda: not Delivered(expected, reader.read()).lost, kills)
            return Delivered(expected, reader.read(wait_s=0.5))

    def sink(
        self,
        config: Mapping[str, str],
        expected: Sequence[Hashable],
        written: Callable[[], Sequence[Hashable]],
        kills: Iterable[Kill] = (),
    ) -> Delivered:
        """Run a sink until all that is expected is written.

        Args:
            config: The connector's, with `topics`. The records are in them already.
            expected: What the sink should write, in order.
            written: Returns what it has written.
            kills: As of `source`.

        Returns:
            What is written after the worker has stopped.

        Raises:
            ConnectorFailed: See there.
        """
        self._run(config, lambda: not Delivered(expected, written()).lost, kills)
        return Delivered(expected, written())

    def _run(self, config: Mapping[str, str], is_done: Callable[[], bool], kills: Iterable[Kill]) -> None:
        with tempfile.TemporaryDirectory(prefix="connector-test-") as folder:
            properties = {**self._properties, "offset.storage.file.filename": str(Path(folder, "offsets"))}
            name = config.get("name") or f"connector-under-test-{uuid4().hex[:8]}"
            orders = {"worker": properties, "name": name, "connector": {**config, "name": name}}
            for kill in kills:
                with _WorkerProcess({**orders, "kill": asdict(kill)}, Path(folder)) as worker:
                    worker.await_kill(kill, self._timeout_s)
            with _WorkerProcess({**orders, "kill": None}, Path(folder)) as worker:
                worker.await_done(is_done, self._timeout_s)


class _WorkerProcess:
    """A worker; `orders` is what `testing_worker` reads. Invariant: the process ends with its standard input."""

    def __init__(self, orders: Mapping[str, Any], folder: Path) -> None:
        self._orders = orders
        self._log = folder / "worker.log"
        self._failure: str | None = None

    def __enter__(self) -> _WorkerProcess:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with self._log.open("wb") as log:
            self._process: subprocess.Popen[str] = subprocess.Popen(
                [sys.executable, "-m", "kafkapy.connect.testing_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                text=True,
            )
        self._input.write(json.dumps(self._orders) + "\n")
        self._input.flush()
        threading.Thread(target=self._read_failure, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._input.close()
            self._process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    @property
    def _input(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _read_failure(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._failure = json.loads(line)

    def await_kill(self, kill: Kill, seconds: float) -> None:
        self._await(lambda: self._process.poll() == -signal.SIGKILL, seconds, f"{kill} was not reached")

    def await_done(self, is_done: Callable[[], bool], seconds: float) -> None:
        self._await(is_done, seconds, "not all records have arrived")

    def _await(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if self._failure is not None:
                raise ConnectorFailed(self._failure)
            ended = self._process.poll()
            if ended is not None and not condition():
                raise ConnectorFailed(f"The worker has ended with {ended}: {self._tail()}")
            if time.monotonic() > deadline:
                raise ConnectorFailed(f"After {seconds:g} s {what}: {self._tail()}")
            time.sleep(_POLL_S)

    def _tail(self) -> str:
        return self._log.read_text("utf-8", "replace")[-2000:]


class _TopicReader:
    """Reads the values of a topic, all partitions. Invariant: `_values` are those read so far."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        from kafkapy.consumer.kafka_consumer import KafkaConsumer

        self._consumer: KafkaConsumer[Any, Any] = KafkaConsumer(
            topic, bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest", metadata_max_age_ms=500
        )
        self._values: list[bytes | None] = []

    def __enter__(self) -> _TopicReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def read(self, wait_s: float = 0.0) -> Sequence[bytes | None]:
        """Returns all values so far. `wait_s`: how long it waits for more."""
        while polled := self._consumer.poll(timeout_ms=wait_s * 1000):
            self._values.extend(record.value for records in polled.values() for record in records)
        return self._values


def _some(values: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, values[:10])) + (", …" if len(values) > 10 else "")
