"""`kafkapy.connect.runtime.client_configs`: what clients of connectors get, and what is warned of."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.connect.clients import TABLES, arguments_for
from kafkapy.connect.runtime.client_configs import ClientConfigs
from kafkapy.consumer.assignors import CooperativeStickyAssignor, RangePartitionAssignor
from kafkapy.consumer.config import ConsumerConfig

STRATEGY = "partition.assignment.strategy"
PACKAGE = "org.apache.kafka.clients.consumer."


class Settings(dict[str, Any]):
    """Configs of a worker."""

    @property
    def originals(self) -> dict[str, Any]:
        return self


def client_configs(**more: str) -> ClientConfigs:
    worker: Any = Settings({"bootstrap.servers": "localhost:1"}, **more)
    return ClientConfigs(worker, None)


def test_an_override_replaces_the_configs_of_the_worker() -> None:
    configs = client_configs(**{"consumer.max.poll.records": "5", "consumer.fetch.min.bytes": "7"})
    found = configs.consumer("a", "me", {"consumer.override.max.poll.records": "6"})
    assert (found["max.poll.records"], found["fetch.min.bytes"], found["group.id"]) == ("6", "7", "connect-a")


@pytest.mark.parametrize(
    ("value", "assignors"),
    [
        (f"{PACKAGE}CooperativeStickyAssignor", [CooperativeStickyAssignor]),
        (f"{PACKAGE}RangeAssignor, CooperativeStickyAssignor", [RangePartitionAssignor, CooperativeStickyAssignor]),
    ],
)
def test_assignors_by_the_names_of_java(value: str, assignors: list[type]) -> None:
    found = client_configs().consumer("a", "me", {f"consumer.override.{STRATEGY}": value})
    config = ConsumerConfig(**arguments_for(TABLES["consumer"], found))
    assert [type(each) for each in config.assignors] == assignors


def test_configs_without_effect_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    configs = client_configs(**{"consumer.no.such": "1", "producer.acks": "all"})
    connector = {"consumer.override.default.api.timeout.ms": "5", "consumer.override.max.poll.records": "6"}
    for _ in range(2):
        configs.consumer("a", "me", connector)
        configs.producer("a", "me", connector)
    assert caplog.messages == [
        "The config consumer.no.such of the worker has no effect: it is not supported",
        "The config consumer.override.default.api.timeout.ms of connector a has no effect: "
        "calls wait for request.timeout.ms",
    ]
