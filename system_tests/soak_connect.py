"""What a Connect worker does for months, done again and again; and what of it stays in its process."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kafkapy.common.free_ports import free_ports
from kafkapy.connect.connect_client import ConnectClient, ConnectRequestError
from system_tests import soak_connect_plugins as plugins
from system_tests.counted_process import RESIDENT, wanted_file
from system_tests.http_services import HttpService, ask
from system_tests.services import HOST, Service, ServiceError, wait_until

TOPIC = "soak-connect"
METRICS = "lines of metrics"
AT_ONCE = 5
_SECONDS = 60
_SETTLE_SECONDS = 20.0
_PLUGINS = plugins.__name__

Operation = Callable[["ConnectSoak", int], None]
States = set[tuple[str, ...]]
Growth = dict[str, tuple[int, int]]
"""By type, how many more objects there are after the first and after the second round."""


class Counted(Service):
    """A process of Python whose objects are counted."""

    def command(self) -> list[str]:
        module, *arguments = super().command()[2:]
        return [sys.executable, "-m", "system_tests.counted_process", str(self._counts), module, *arguments]

    @property
    def _counts(self) -> Path:
        return self.directory / f"{self.name}.counts"

    def alive(self) -> dict[str, int]:
        """Its objects by type, its threads, descriptors and memory."""
        self._counts.unlink(missing_ok=True)
        wanted_file(self._counts).touch()
        try:
            wait_until(self._counts.exists, _SECONDS, f"{self.name} counts its objects")
        except ServiceError:
            os.kill(self.pid, signal.SIGUSR1)  # where it hangs is in its output
            raise
        counted: dict[str, int] = json.loads(self._counts.read_text())
        return counted

    def settled(self) -> dict[str, int]:
        """The same, when it does not become less any more."""
        deadline, last = time.monotonic() + _SETTLE_SECONDS, self.alive()
        while time.monotonic() < deadline:
            time.sleep(0.5)
            now = self.alive()
            if _objects(now) >= _objects(last):
                return now
            last = now
        return last


def _objects(alive: Mapping[str, int]) -> int:
    return sum(count for name, count in alive.items() if name != RESIDENT)


class ConnectWorker(Counted, HttpService):
    """A distributed worker. Those that have the same broker are one group."""

    module = "kafkapy.tools.connect.connect_distributed"

    def __init__(self, directory: Path, bootstrap: str, name: str = "worker") -> None:
        self.name = name
        (self._metrics_port,) = free_ports(1)
        configs: dict[str, object] = {
            "bootstrap.servers": bootstrap,
            "group.id": "soak-connect",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "scheduled.rebalance.max.delay.ms": 0,
            "offset.flush.interval.ms": 1000,
            "connector.client.config.override.policy": "All",
            "kafkapy.metrics.listener": f"{HOST}:{self._metrics_port}",
        }
        for kind in ("config", "offset", "status"):
            configs[f"{kind}.storage.topic"] = f"soak-{kind}"
            configs[f"{kind}.storage.replication.factor"] = 1
            configs[f"{kind}.storage.partitions"] = 1
        del configs["config.storage.partitions"]
        super().__init__(directory, configs)

    def is_serving(self) -> bool:
        try:
            return ask(self.url + "/connectors", timeout=2)[0] == 200
        except OSError:
            return False

    def alive(self) -> dict[str, int]:
        with urllib.request.urlopen(f"http://{HOST}:{self._metrics_port}/metrics", timeout=_SECONDS) as page:
            lines = [line for line in page.read().splitlines() if not line.startswith(b"#")]
        return super().alive() | {METRICS: len(lines)}


def growth(service: Counted, work: Callable[[], None]) -> Growth:
    """Do the work to warm up, and twice more; what it has left each time."""
    alive = []
    for _ in range(3):
        work()
        alive.append(service.settled())
    before, first, second = alive
    return {
        name: (first.get(name, 0) - before.get(name, 0), second.get(name, 0) - first.get(name, 0))
        for name in first | second
    }


def leaks(growth: Growth, allowed: int) -> Growth:
    """The types of which at least `allowed` objects have stayed after either round."""
    return {name: each for name, each in growth.items() if name != RESIDENT and min(each) >= allowed}


class ConnectSoak:
    """A worker, and what it must forget. Invariant: between two operations it has no connectors."""

    def __init__(self, directory: Path, bootstrap: str) -> None:
        self.worker = ConnectWorker(directory, bootstrap)
        self._other = ConnectWorker(directory, bootstrap, "other-worker")
        self._lines = directory / "lines"
        self._lines.write_text("".join(f"line {number}\n" for number in range(20)))
        self._names = (f"soak-{number}" for number in itertools.count())
        self._client = ConnectClient(self.worker.url)
        self.worker.start()

    def close(self) -> None:
        for each in (self._other, self.worker):
            each.close()

    def growth(self, operation: Operation, count: int) -> Growth:
        """Do `count` operations to warm up, and the same twice more; what they have left."""
        return growth(self.worker, lambda: operation(self, count))

    # --- operations

    def connectors(self, count: int) -> None:
        """Connectors that come, copy some lines and go."""
        for number in range(0, count, AT_ONCE):
            made = [next(self._names) for _ in range(min(AT_ONCE, count - number))]
            for name in made:
                self._client.put_config(name, self._source() if number % 2 else self._sink())
            self._await({name: {("RUNNING", "RUNNING")} for name in made})
            self._delete(made)

    def restarts(self, count: int) -> None:
        name = self._made(self._sink())
        for _ in range(count):
            self._client.restart(name, tasks=True)
            self._await({name: {("RUNNING", "RUNNING")}})
            self._client.restart_task(name, 0)
        self._delete([name])

    def reconfigurations(self, count: int) -> None:
        """Each other one has more tasks."""
        name = self._made(self._sink())
        for number in range(count):
            tasks = 1 + number % 2
            self._client.put_config(name, {**self._sink(), "tasks.max": str(tasks)})
            self._await({name: {("RUNNING", *["RUNNING"] * tasks)}})
        self._delete([name])

    def pauses(self, count: int) -> None:
        name = self._made(self._sink())
        for _ in range(count):
            for action, states in (
                ("pause", ("PAUSED", "PAUSED")),
                ("resume", ("RUNNING", "RUNNING")),
                ("stop", ("STOPPED",)),
                ("resume", ("RUNNING", "RUNNING")),
            ):
                self._client.change_state(name, action)
                self._await({name: {states}})
        self._delete([name])

    def failures(self, count: int) -> None:
        """Connectors and tasks that cannot be made or started, or fail later, and are restarted."""
        kinds = {
            next(self._names): {"connector.class": f"{_PLUGINS}:FailingSource", "fails.in": place, **own}
            for place in ("connector", "start", "poll", "stop")
            for own in ({}, {"value.converter": f"{_PLUGINS}:FailingConverter"})
        }
        for _ in range(count):
            for name, config in kinds.items():
                self._client.put_config(name, config)
            expected: dict[str, States] = {
                name: {("FAILED",)} if config["fails.in"] == "connector" else {("RUNNING", "FAILED")}
                for name, config in kinds.items()
            }
            self._await(expected)
            for name in kinds:
                with suppress(ConnectRequestError):
                    self._client.restart(name, tasks=True)
            self._await(expected)
            self._delete(list(kinds))

    def dead_letters(self, count: int) -> None:
        """Sinks whose records are not JSON."""
        config = {
            **self._sink(),
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": "soak-dead-letters",
            "errors.deadletterqueue.topic.replication.factor": "1",
            "consumer.override.auto.offset.reset": "earliest",
        }
        for _ in range(count):
            self._delete([self._made(config)])

    def requests(self, count: int) -> None:
        """What dashboards ask, and mistakes."""
        name = self._made(self._sink())
        paths = ("", "connectors?expand=status&expand=info", "connector-plugins", "admin/loggers")
        own = ("", "/config", "/status", "/tasks", "/topics", "/offsets", "/tasks/0/status")
        for _ in range(count):
            for path in (*paths, *(f"connectors/{name}{each}" for each in own)):
                assert ask(f"{self.worker.url}/{path}")[0] == 200, path
            self._client.validate("FileStreamSink", self._sink())
            for path, content in (("connectors", {"name": "x"}), ("connectors", [1]), ("connectors/none/restart", {})):
                assert ask(f"{self.worker.url}/{path}", content)[0] >= 400
            assert ask(f"{self.worker.url}/connectors/none/status")[0] == 404
        self._delete([name])

    def rebalances(self, count: int) -> None:
        """Another worker that comes and goes, one for each ten of `count`."""
        made = [self._made(self._sink()), self._made(self._source())]
        for _ in range(max(1, count // 10)):
            self._other.start()
            self._await_workers(2)
            self._other.close()
            self._await_workers(1)
            self._await({name: {("RUNNING", "RUNNING")} for name in made})
        self._delete(made)

    # --- parts

    def _source(self) -> dict[str, str]:
        return {"connector.class": "FileStreamSource", "file": str(self._lines), "topic": TOPIC}

    def _sink(self) -> dict[str, str]:
        return {"connector.class": "FileStreamSink", "topics": TOPIC, "file": "/dev/null"}

    def _made(self, config: Mapping[str, str]) -> str:
        name = next(self._names)
        self._client.put_config(name, config)
        self._await({name: {("RUNNING", "RUNNING")}})
        return name

    def _delete(self, names: list[str]) -> None:
        for name in names:
            self._client.delete(name)
        wait_until(lambda: not self._states().keys() & set(names), _SECONDS, f"{names} are deleted")

    def _await(self, expected: Mapping[str, States]) -> None:
        """Until each connector has one of its states: its own, then those of its tasks."""

        def are_there() -> bool:
            states = self._states()
            return all(states.get(name) in allowed for name, allowed in expected.items())

        wait_until(are_there, _SECONDS, lambda: f"{expected}, but {self._states()}")

    def _await_workers(self, count: int) -> None:
        def are_there() -> bool:
            listed = self._client.connectors().values()
            at = {
                one["worker_id"] for each in listed for one in [each["status"]["connector"], *each["status"]["tasks"]]
            }
            return len(at) == count

        wait_until(are_there, _SECONDS, f"{count} workers have connectors and tasks")

    def _states(self) -> dict[str, tuple[str, ...]]:
        def states(status: Any) -> tuple[str, ...]:
            return status["connector"]["state"], *(task["state"] for task in status["tasks"])

        return {name: states(each["status"]) for name, each in self._client.connectors().items()}


CONNECT_KINDS: tuple[Operation, ...] = (
    ConnectSoak.connectors,
    ConnectSoak.restarts,
    ConnectSoak.reconfigurations,
    ConnectSoak.pauses,
    ConnectSoak.failures,
    ConnectSoak.dead_letters,
    ConnectSoak.requests,
    ConnectSoak.rebalances,
)


def all_but_rebalances(soak: ConnectSoak, count: int) -> None:
    """`count` operations of each kind."""
    for kind in CONNECT_KINDS:
        if kind is not ConnectSoak.rebalances:
            kind(soak, count)
