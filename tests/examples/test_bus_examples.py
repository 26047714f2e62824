"""The examples of the message bus, each against a broker and a registry."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("fastavro")

from examples.bus import running
from tests.broker_process import BrokerProcess
from tests.schemas.registry_server import RegistryServer, running_registry

pytestmark = pytest.mark.integration

EXPECTED: dict[str, Any] = {
    "activity_tracking": {"/": 25, "/rooms": 25, "/rooms/7": 25, "/book": 25},
    "metrics": ["db"],
    "log_aggregation": ["stock: could not do 20", "till: could not do 20"],
    "event_sourcing": {"ann": 500, "bob": 500, "eve": 500},
    "commit_log": {"k0": "v25", "k1": "v26", "k2": "v27", "k3": "v28"},
    "payments": {"charged": 19, "dead letters": 1},
    "cache_invalidation": [4, 4, 4],
    "experiment_report": {"a": "5.00 a visitor", "b": "2.00 a visitor"},
}


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = BrokerProcess(
        tmp_path_factory.mktemp("examples"),
        f"{zookeeper}/{uuid.uuid4().hex[:12]}",
        transaction_state_log_replication_factor="1",
        transaction_state_log_min_isr="1",
        transaction_state_log_num_partitions="1",
    )
    process.start()
    yield process.address
    process.stop()


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with running_registry() as server:
        yield server


@pytest.mark.parametrize("name", EXPECTED)
def test_example(broker: str, registry: RegistryServer, name: str) -> None:
    assert asyncio.run(import_module(f"examples.bus.{name}").main(broker, registry.url)) == EXPECTED[name]


def test_usage() -> None:
    with pytest.raises(SystemExit, match="usage"):
        running.run(import_module("examples.bus.metrics").main, [])
