"""kafka-verifiable-producer and kafka-verifiable-consumer as processes, whose events tell what they do (as in kafkatest)."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from system_tests.history import Partition
from system_tests.services import ROOT, Service, wait_until

Event = dict[str, Any]


class VerifiableClient(Service):
    """A tool that writes one event a line.

    Invariant: `events` has every event of all processes of this service, in order; `_handle` has seen each.
    """

    clean_exit_codes = (0, 130, 143)

    def __init__(self, directory: Path, name: str, module: str, *arguments: str) -> None:
        self.name = name
        super().__init__(directory)
        self.events: list[Event] = []
        self._command = [sys.executable, "-m", f"kafkapy.tools.{module}", *arguments]
        self._position = 0
        self._lock = threading.Lock()

    def command(self) -> list[str]:
        return self._command

    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT)}

    def is_serving(self) -> bool:
        return bool(self.update())

    def update(self) -> list[Event]:
        """Take in what the tool has written since; returns all events."""
        with self._lock:
            if self.output.exists():
                with open(self.output, "rb") as out:
                    out.seek(self._position)
                    whole, _, _ = out.read().rpartition(b"\n")
                self._position += len(whole) + 1 if whole else 0
                for line in whole.splitlines():
                    if line.startswith(b"{"):
                        event = json.loads(line)
                        self.events.append(event)
                        self._handle(event)
        return self.events

    def _handle(self, event: Event) -> None:
        raise NotImplementedError


class VerifiableProducer(VerifiableClient):
    """Sends 0, 1, 2 ... with acks=all; `acked` is how many were acknowledged."""

    def __init__(self, directory: Path, bootstrap: str, topic: str, throughput: int = 1000) -> None:
        self.acked = 0
        options = ("--bootstrap-server", bootstrap, "--topic", topic, "--throughput", str(throughput))
        super().__init__(directory, "verifiable-producer", "verifiable.verifiable_producer", *options)

    def _handle(self, event: Event) -> None:
        self.acked += event["name"] == "producer_send_success"

    def wait_for(self, more: int, seconds: float = 60) -> None:
        self.update()
        goal = self.acked + more
        wait_until(lambda: bool(self.update()) and self.acked >= goal, seconds, f"{more} more records are acknowledged")


class VerifiableConsumer(VerifiableClient):
    """A member of a group. Invariant: `assigned`, `revocations`, `consumed`, `positions` and `committed` are what the
    events add up to; a process that has ended owns nothing."""

    def __init__(self, directory: Path, name: str, bootstrap: str, topic: str, group: str, *options: str) -> None:
        self.assigned: set[Partition] = set()
        self.joined = False
        self.assignments = 0
        self.revocations = 0
        self.consumed = 0
        self.positions: dict[Partition, int] = {}
        self.committed: dict[Partition, int] = {}
        arguments = ("--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group, *options)
        super().__init__(directory, name, "verifiable.verifiable_consumer", *arguments)

    def _handle(self, event: Event) -> None:
        match event["name"]:
            case "partitions_assigned":
                self.assigned |= _partitions(event)
                self.joined = True
                self.assignments += 1
            case "partitions_revoked":
                self.assigned -= _partitions(event)
                self.joined = False
                self.revocations += 1
            case "records_consumed":
                self.consumed += event["count"]
                for part in event["partitions"]:
                    self._consume((part["topic"], part["partition"]), part)
            case "offsets_committed" if event["success"]:
                for part in event["offsets"]:
                    self.committed[part["topic"], part["partition"]] = part["offset"]
            case "shutdown_complete":
                self.assigned, self.joined = set(), False

    def _consume(self, partition: Partition, part: Event) -> None:
        assert partition in self.assigned, f"{self.name} reads {partition}, which it does not own"
        assert part["maxOffset"] - part["minOffset"] + 1 == part["count"], f"{self.name} skips offsets in {part}"
        self.positions[partition] = part["maxOffset"] + 1

    def close(self) -> None:
        super().close()
        self.update()
        self.assigned, self.joined = set(), False


class VerifiableGroup:
    """Consumers of one group and topic."""

    def __init__(
        self, directory: Path, bootstrap: str, topic: str, size: int = 3, static: bool = False, *options: str
    ) -> None:
        self.members = [
            VerifiableConsumer(
                directory / f"consumer-{number}",
                f"consumer-{number}",
                bootstrap,
                topic,
                "test_group_id",
                *options,
                *(("--group-instance-id", f"test-{number}") if static else ()),
            )
            for number in range(size)
        ]

    def start(self) -> VerifiableGroup:
        for member in self.members:
            member.start(wait=False)
        self.await_members()
        return self

    def update(self) -> list[VerifiableConsumer]:
        """The members, with all that they have told."""
        for member in self.members:
            member.update()
        return self.members

    @property
    def consumed(self) -> int:
        return sum(member.consumed for member in self.update())

    @property
    def rebalances(self) -> int:
        """How often members were assigned partitions."""
        return sum(member.assignments for member in self.update())

    def position(self, partition: Partition) -> int:
        return max((member.positions.get(partition, 0) for member in self.update()), default=0)

    def committed(self, partition: Partition) -> int:
        return max((member.committed.get(partition, 0) for member in self.update()), default=0)

    def owner(self, partition: Partition) -> VerifiableConsumer | None:
        owners = [member for member in self.update() if partition in member.assigned]
        assert len(owners) <= 1, f"{partition} belongs to {[owner.name for owner in owners]}"
        return owners[0] if owners else None

    def await_members(self, count: int | None = None, seconds: float = 60) -> None:
        """Wait until all of them, or `count`, have joined."""
        wanted = len(self.members) if count is None else count

        def what() -> str:
            return f"{wanted} members have joined (they have: {[m.name for m in self.members if m.joined]})"

        wait_until(lambda: sum(member.joined for member in self.update()) == wanted, seconds, what)

    def await_consumed(self, more: int = 100, seconds: float = 60) -> None:
        goal = self.consumed + more
        wait_until(lambda: self.consumed >= goal, seconds, f"{more} more records are consumed")

    def stop_all(self) -> None:
        for member in self.members:
            if member.is_running:
                member.clean_shutdown()
        self.update()

    def close(self) -> None:
        for member in self.members:
            member.close()


def _partitions(event: Event) -> set[Partition]:
    return {(part["topic"], part["partition"]) for part in event["partitions"]}


def dead(members: Iterable[VerifiableConsumer]) -> list[str]:
    return [member.name for member in members if not member.is_running]
