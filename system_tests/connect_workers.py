"""Distributed Connect workers of one group as processes, and their REST interface whichever of them lives."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kafkapy.connect.connect_client import ConnectClient, ConnectRequestError
from system_tests.http_services import HttpService
from system_tests.services import TIME_LIMIT_FACTOR

Answer = TypeVar("Answer")

SESSION_SECONDS = 6
"""Of the workers in their group, and of their consumers in theirs."""

TRANSACTION_SECONDS = 10
"""After all workers were killed, new ones wait for so long until open transactions of the old ones are aborted."""


class ConnectWorker(HttpService):
    """A worker with exactly-once support; those with the same brokers are one group.

    Args:
        directory: For what it writes.
        bootstrap: The brokers' addresses.
        replication: Replicas of the group's topics.
    """

    name = "connect"
    module = "kafkapy.tools.connect.connect_distributed"

    def __init__(self, directory: Path, bootstrap: str, replication: int) -> None:
        session_ms = SESSION_SECONDS * 1000
        topics = {
            f"{topic}.storage.{name}": value
            for topic in ("config", "offset", "status")
            for name, value in (("topic", f"connect-{topic}"), ("replication.factor", replication), ("partitions", 2))
            if (topic, name) != ("config", "partitions")
        }
        configs = {
            "bootstrap.servers": bootstrap,
            "group.id": "connect",
            "exactly.once.source.support": "enabled",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "scheduled.rebalance.max.delay.ms": 2000,
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": 1000,
            "consumer.session.timeout.ms": session_ms,
            "consumer.heartbeat.interval.ms": 1000,
            "producer.transaction.timeout.ms": TRANSACTION_SECONDS * 1000,
            "consumer.isolation.level": "read_committed",
            "offset.flush.interval.ms": 1000,
        }
        super().__init__(directory, {**configs, **topics})
        self.client = ConnectClient(
            self.url, timeout_s=120
        )  # longer than the worker's own limit, after which it gives up


class ConnectGroup:
    """The workers of one group. Invariant: requests go to any worker that is running, again until one is answered."""

    def __init__(self, directory: Path, bootstrap: str, workers: int, replication: int) -> None:
        self.workers = [
            ConnectWorker(directory / f"worker-{number}", bootstrap, replication) for number in range(workers)
        ]

    def start(self) -> None:
        for worker in self.workers:
            worker.start(wait=False)
        for worker in self.workers:
            worker.wait_until_serving()

    def close(self) -> None:
        for worker in self.workers:
            worker.close()

    def keep_alive(self) -> list[str]:
        """Start workers that have ended; return their last words."""
        words = []
        for worker in self.workers:
            if not worker.is_running:
                words.append(worker.tail())
                worker.close()
                worker.start()
        return words

    def ask(self, question: Callable[[ConnectClient], Answer], seconds: float = 60) -> Answer:
        """Return the first answer of a worker. Raises ConnectRequestError if there is none in time."""
        end = time.monotonic() + TIME_LIMIT_FACTOR * seconds
        while True:
            running = [worker for worker in self.workers if worker.is_running]
            try:
                return question(random.choice(running).client)
            except ConnectRequestError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.3)

    def configure(self, connectors: Mapping[str, Mapping[str, str]]) -> None:
        for name, config in connectors.items():
            self.ask(lambda client, name=name, config=config: client.put_config(name, config))  # type: ignore[misc]

    def states(self) -> dict[str, dict[str, Any]]:
        """Connectors (by name) and tasks (by name/number): their `state`, and the `trace` of what has failed."""
        found = {}
        for name, connector in self.ask(lambda client: client.connectors()).items():
            status = connector["status"]
            found[name] = status["connector"]
            found.update({f"{name}/{task['id']}": task for task in status["tasks"]})
        return found

    def not_running(self, connectors: Mapping[str, object]) -> list[str]:
        """Connectors and tasks that are missing or in another state than RUNNING."""
        states = self.states()
        missing = [name for each in connectors for name in (each, f"{each}/0") if name not in states]
        return missing + [f"{name} {state['state']}" for name, state in states.items() if state["state"] != "RUNNING"]

    def restart_failed(self) -> list[str]:
        """Restart what has failed; return its names with their traces."""
        found = []
        for name, state in self.states().items():
            if state["state"] == "FAILED":
                connector = name.partition("/")[0]
                self.ask(lambda client, it=connector: client.restart(it, tasks=True, only_failed=True))  # type: ignore[misc]
                found.append(f"{name}: {state.get('trace', '').strip()}")
        return found
