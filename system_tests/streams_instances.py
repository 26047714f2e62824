"""Instances of `streams_application` as processes, their input, and what they write."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from kafkapy import KafkaConsumer, KafkaProducer, TopicPartition
from system_tests.services import ROOT
from system_tests.streams_application import OUTPUTS
from system_tests.streams_truth import Input, Results, Truth

PARTITIONS = 4
TICK_SECONDS = 0.1
INPUTS_OF_A_TICK = 6
MS_OF_AN_INPUT = 25

Stores = dict[str, dict[str, list[list[str]]]]
"""What stores hold, by task and name."""


class Instance:
    """A process of the application with its state directory.

    Attributes:
        ended: How often it has ended by itself.
    """

    def __init__(self, bootstrap: str, directory: Path) -> None:
        directory.mkdir()
        self.directory = directory
        self.ended = 0
        self.output = directory.with_suffix(".out")
        self._bootstrap = bootstrap
        self._process: subprocess.Popen[bytes] | None = None

    def keep_alive(self) -> None:
        """Start it if it does not run."""
        if self._process is None or self._process.poll() is not None:
            self.ended += self._process is not None
            command = [sys.executable, "-m", "system_tests.streams_application", self._bootstrap, str(self.directory)]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            with self.output.open("ab") as output:
                self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT, env=environment)

    def kill(self) -> None:
        if self._process is not None:
            self.ended += self._process.poll() is not None
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """SIGTERM, after which it commits and leaves the group."""
        self._signal(signal.SIGTERM)
        assert self._process is not None
        status = self._process.wait(60)
        self.ended += status not in (0, -signal.SIGTERM)  # the latter before it has begun
        self._process = None

    def pause(self, seconds: float) -> None:
        self._signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._signal(signal.SIGCONT)

    def lose_state(self) -> None:
        self.kill()
        shutil.rmtree(self.directory)
        self.directory.mkdir()

    def ask_for_stores(self) -> None:
        """`stores` has them soon."""
        (self.directory / "dump.json").unlink(missing_ok=True)
        self._signal(signal.SIGUSR1)

    def stores(self) -> dict[str, Stores]:
        """Those of its tasks ("active") and standby replicas ("copy"); empty if it has not answered."""
        try:
            found: dict[str, Stores] = json.loads((self.directory / "dump.json").read_text())
        except FileNotFoundError:
            return {"active": {}, "copy": {}}
        return found

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            self.keep_alive()
            return
        self._process.send_signal(number)


@contextmanager
def instances(bootstrap: str, directory: Path, count: int) -> Iterator[list[Instance]]:
    with ExitStack() as ending:
        found = [Instance(bootstrap, directory / f"instance-{number}") for number in range(count)]
        for instance in found:
            ending.callback(instance.kill)
            instance.keep_alive()
        yield found


class Feeder:
    """Writes input for as long as the `with` block goes on, then closes all windows.

    Attributes:
        truth: Of what was written; all of it is acknowledged after the block.
        count: Records.
    """

    def __init__(self, bootstrap: str, seed: int) -> None:
        self.truth = Truth()
        self.count = 0
        self._chance = random.Random(f"streams {seed}")
        self._producer: KafkaProducer[Any, Any] = KafkaProducer(
            bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=5
        )
        self._sent: list[Any] = []
        self._start = int(time.time() * 1000) // 10_000 * 10_000
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder")

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_done.wait(TICK_SECONDS):
            for _ in range(INPUTS_OF_A_TICK):
                self._send(self._draw())
        self._start += 60_000
        self.truth.close_windows()
        for number in range(PARTITIONS):
            self._send(Input("words", f"end-{number}", "0", self._now()), number)
        self._producer.flush()
        for future in self._sent:
            future.get(60)
        self._producer.close()

    def _now(self) -> int:
        return self._start + self.count * MS_OF_AN_INPUT

    def _draw(self) -> Input:
        topic = self._chance.choices(("words", "left", "right"), (4, 1, 1))[0]
        key = f"key-{self._chance.randrange(12)}"
        value = str(self.count) if topic != "words" else str(self._chance.randrange(1000))
        return Input(topic, key, value, self._now())

    def _send(self, record: Input, partition: int | None = None) -> None:
        self.truth.add(record)
        self.count += 1
        key, value = record.key.encode(), record.value.encode()
        self._sent.append(self._producer.send(record.topic, value, key, partition=partition, timestamp_ms=record.time))
        if len(self._sent) > 1000:
            for future in self._sent[:500]:
                future.get(120)
            del self._sent[:500]


class Reader:
    """Reads what is committed in the output topics as it comes, for as long as the `with` block goes on.

    Attributes:
        found: By topic and key; another thread adds to it.
        count: Records.
    """

    def __init__(self, bootstrap: str) -> None:
        self.found: Results = {topic: defaultdict(list) for topic in OUTPUTS}
        self.count = 0
        self._consumer: KafkaConsumer[Any, Any] = KafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest", group_id=None
        )
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reader")

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_done.set()
        self._thread.join()

    def _run(self) -> None:
        self._consumer.assign([TopicPartition(topic, number) for topic in OUTPUTS for number in range(PARTITIONS)])
        while not self._is_done.is_set():
            for partition, records in self._consumer.poll(200).items():
                for record in records:
                    value = record.value or b""
                    text = value.decode() if partition.topic == "joined" else str(int.from_bytes(value, "big"))
                    self.found[partition.topic][(record.key or b"").decode()].append(text)
                self.count += len(records)
        self._consumer.close()
