"""Tables of changes and of Protobuf events, from topic to partition, on Spark: each step once, nothing is killed.

Also on a Spark standalone cluster of two workers, and with tables on a real NameNode and DataNode.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")
pytest.importorskip("google.protobuf")

import fastavro

from benchmarks.apache import jars
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.producer.kafka_producer import KafkaProducer
from kafkapy.schemas import ProtobufSerializer, SchemaRegistryClient
from kafkapy.warehouse.audit import audit, table_of
from kafkapy.warehouse.backfill import backfill
from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.rollup import roll_up
from kafkapy.warehouse.session import session
from kafkapy.warehouse.stream import Stream
from kafkapy.warehouse.warehouse import Warehouse
from system_tests.hdfs import POM, DataNode, NameNode
from system_tests.services import KafkaService, Service
from system_tests.spark_cluster import SparkMaster, SparkWorker
from system_tests.warehouse_load import JVM_OPTIONS
from tests.schemas.messages import User
from tests.schemas.registry_server import running_registry
from tests.warehouse.records import HOUR_MS

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

HOUR, NEXT = "2026-11-24-00", "2026-11-24-01"
LISTING = {"type": "record", "name": "Listing", "fields": [{"name": "price", "type": "int"}]}


def listing(price: int) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(LISTING), {"price": price})
    return out.getvalue()


class Pipeline:
    """Two topics, with two partitions each: `listings` has changes, `users` events."""

    def __init__(self, bootstrap: str, registry: str, directory: Path, root: str, spark: dict[str, str]) -> None:
        self._bootstrap = bootstrap
        self._write = ProtobufSerializer(SchemaRegistryClient(registry), User).serialize
        with AdminClient(bootstrap) as admin:
            configs = {"retention.ms": "-1"}
            topics = [NewTopic(name, 2, 1, topic_configs=configs) for name in ("listings", "users")]
            values_of(admin.create_topics(topics))
        (directory / "listing.avsc").write_text(json.dumps(LISTING))
        listings = {"topic": "listings", "kind": "changes", "format": "avro", "schema": "listing.avsc"}
        found = {
            "root": root,
            "metastore_directory": "metastore",
            "kafka": {"bootstrap.servers": bootstrap},
            "registry": {"url": registry},
            "grace_minutes": 0,
            "tables": [listings, {"topic": "users"}],
            "spark": {
                "spark.log.level": "ERROR",
                "spark.sql.shuffle.partitions": "2",
                "spark.driver.extraJavaOptions": f"{JVM_OPTIONS} -Dderby.system.home={directory}",
                **spark,
            },
        }
        config = WarehouseConfig.of(found, directory)
        self.warehouse = Warehouse(session(config), config)
        self.warehouse.start()

    def change(self, *changes: tuple[bytes, int | None]) -> None:
        """Keys and prices; None deletes. A key's changes keep their order."""
        with KafkaProducer(bootstrap_servers=self._bootstrap) as producer:
            for key, price in changes:
                value = None if price is None else listing(price)
                producer.send("listings", value, key=key, timestamp_ms=HOUR_MS + 1)

    def send(self, *users: tuple[str, Any]) -> None:
        """Ids, and users or bytes that are none."""
        with KafkaProducer(bootstrap_servers=self._bootstrap) as producer:
            for id, user in users:
                value = user if isinstance(user, bytes) else self._write("users", [], user)
                producer.send("users", value, headers=[("event-id", id.encode())], timestamp_ms=HOUR_MS + 1)

    def batch(self) -> None:
        Stream(self.warehouse).start(available_now=True).awaitTermination()

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.warehouse.spark.sql(text).collect()]

    def listings(self) -> dict[bytes, int | None]:
        """Those that are not deleted; each key is there once."""
        rows = self.rows("SELECT _key, price, _deleted FROM warehouse.listings")
        assert len({row[0] for row in rows}) == len(rows)
        return {bytes(key): price for key, price, deleted in rows if not deleted}

    def check_hour(self) -> None:
        """The audit finds all, and a backfill gives the same rows."""
        texts = [f"SELECT * FROM warehouse.{name} ORDER BY _partition, _offset" for name in ("listings", "users")]
        before = [self.rows(text) for text in texts]
        report = audit(self.warehouse)
        assert report.is_good, table_of(report)
        backfill(self.warehouse, [HOUR])
        assert [self.rows(text) for text in texts] == before


def test_changes_and_protobuf(broker: KafkaService, tmp_path: Path) -> None:
    run(broker, tmp_path, "tables", {"spark.master": "local[2]"})


@pytest.mark.skipif(shutil.which("mvn") is None, reason="HDFS is fetched with Maven")
def test_on_hdfs(broker: KafkaService, tmp_path: Path, services: list[Service]) -> None:
    """Tasks' bytes go through the JVM there."""
    try:
        jars(POM)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"Maven cannot fetch HDFS: {error}")
    name_node = NameNode(tmp_path / "namenode")
    for service in (name_node, DataNode(tmp_path / "datanode", name_node)):
        services.append(service)
        service.start()
    run(broker, tmp_path, f"{name_node.url}/warehouse", {"spark.master": "local[2]"})


def test_on_a_cluster(broker: KafkaService, tmp_path: Path, services: list[Service]) -> None:
    master = SparkMaster(tmp_path / "master")
    for service in (master, *(SparkWorker(tmp_path / f"worker-{number}", master, number) for number in range(2))):
        services.append(service)
        service.start()
    spark = {
        "spark.master": master.url,
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": JVM_OPTIONS,
    }
    run(broker, tmp_path, "tables", spark)


def run(broker: KafkaService, directory: Path, root: str, spark: dict[str, str]) -> None:
    """In a process of its own: a JVM has one embedded metastore."""
    arguments = broker.bootstrap, directory, root, spark
    process = get_context("spawn").Process(target=go_through, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0


def go_through(bootstrap: str, directory: Path, root: str, spark: dict[str, str]) -> None:
    """Batch, rollup, late changes, another rollup, audit, backfill: what the view shows is right at each step."""
    with running_registry() as registry:
        pipeline = Pipeline(bootstrap, registry.url, directory, root, spark)
        try:
            pipeline.change((b"a", 1), (b"b", 2), (b"c", 3), (b"a", 4), (b"c", None))
            pipeline.send(("e1", User(id=1, name="Ann")), ("broken", b"\x00\x00\x00\x00\x01\x00\xff"))
            pipeline.send(("e1", User(id=1, name="Ann")), ("e2", User(id=2, name="Bo")))
            pipeline.batch()
            users = "SELECT id, name FROM warehouse.users ORDER BY id"
            assert pipeline.rows(users) == [(1, "Ann"), (2, "Bo")]
            assert pipeline.rows("SELECT event_id, topic FROM warehouse.quarantine") == [("broken", "users")]
            assert pipeline.listings() == {b"a": 4, b"b": 2}
            assert roll_up(pipeline.warehouse, NEXT) is not None
            assert pipeline.listings() == {b"a": 4, b"b": 2}
            pipeline.change((b"b", 5), (b"c", 6), (b"a", None), (b"d", 7))
            pipeline.batch()
            expected = {b"b": 5, b"c": 6, b"d": 7}
            assert pipeline.listings() == expected, "late changes count at once"
            assert roll_up(pipeline.warehouse, NEXT) is not None
            assert pipeline.listings() == expected
            assert pipeline.rows("SELECT count(*) FROM warehouse.listings WHERE _deleted") == [(1,)]
            assert pipeline.rows(users) == [(1, "Ann"), (2, "Bo")]
            pipeline.check_hour()
        finally:
            pipeline.warehouse.spark.stop()
