"""The warehouse under kills: each event is in its hour once, and whoever queries meanwhile sees none twice and none go.

Events of five hours from eight producers, 5 % of them sent twice, 2 % late by hours, 0.1 % broken, in three versions of their
schema. The driver with its JVM is killed, its workers alone are, and the broker is; rollups are under way meanwhile. On a
standalone cluster the executors are killed, too. `KAFKAPY_WAREHOUSE_EVENTS`: how many events.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.common.free_ports import free_ports
from kafkapy.schemas import SchemaRegistryClient
from kafkapy.warehouse.config import WarehouseConfig
from system_tests.conftest import Note
from system_tests.services import KafkaService, Service
from system_tests.spark_cluster import SparkMaster, SparkWorker
from system_tests.warehouse_load import (
    JVM_OPTIONS,
    PARTITIONS,
    SCHEMAS,
    Ordeal,
    Sources,
    Truth,
    check_the_end,
    configuration,
    metastore,
)
from tests.schemas.registry_server import running_registry

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]


def events(default: int) -> int:
    return int(os.environ.get("KAFKAPY_WAREHOUSE_EVENTS", default))


@contextmanager
def pipeline(broker: KafkaService, count: int) -> Iterator[tuple[Sources, Truth]]:
    """A topic for so many events, and a registry that has their schemas."""
    with AdminClient(broker.bootstrap) as admin:
        configs = {"retention.ms": "-1"}
        values_of(admin.create_topics([NewTopic("bookings", PARTITIONS, 1, topic_configs=configs)]))
    with running_registry() as registry:
        client = SchemaRegistryClient(registry.url)
        client.set_compatibility("NONE")
        truth = Truth(count, [client.register_schema("bookings-value", each) for each in SCHEMAS])
        yield Sources(broker.bootstrap, registry.url, *free_ports(1)), truth


def survive(ordeal: Ordeal, note: Note) -> None:
    with metastore(WarehouseConfig.load(ordeal.config), ordeal.directory):
        queries = ordeal.run()
        note("events, kills, queries", (ordeal.truth.count, ordeal.kills, queries))
        check_the_end(ordeal.truth, WarehouseConfig.load(ordeal.reader_config))


def test_each_event_is_in_its_hour_once(
    broker: KafkaService, tmp_path: Path, kills: int, note: Note, pytestconfig: pytest.Config
) -> None:
    with pipeline(broker, events(2_000_000)) as (sources, truth):
        path = configuration(tmp_path / "warehouse.toml", sources)
        survive(Ordeal(broker, truth, tmp_path, path, path, kills, pytestconfig.getoption("--seed")), note)


def test_on_a_cluster_of_two_workers(
    broker: KafkaService, tmp_path: Path, services: list[Service], note: Note, pytestconfig: pytest.Config
) -> None:
    """The last of four kills is that of the executors."""
    master = SparkMaster(tmp_path / "master")
    workers = [SparkWorker(tmp_path / f"worker-{number}", master, number) for number in range(2)]
    for service in (master, *workers):
        services.append(service)
        service.start()
    with pipeline(broker, events(100_000)) as (sources, truth):
        spark = {
            "spark.master": master.url,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "600m",
            "spark.executor.extraJavaOptions": JVM_OPTIONS,
        }
        path = configuration(tmp_path / "warehouse.toml", sources, spark=spark)
        reader = configuration(tmp_path / "reader.toml", sources)
        ordeal = Ordeal(broker, truth, tmp_path, path, reader, 4, pytestconfig.getoption("--seed"))
        ordeal.workers = lambda: [each for worker in workers for each in worker.executors()]
        survive(ordeal, note)
