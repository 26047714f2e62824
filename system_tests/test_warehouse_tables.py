"""Tables of changes and of Protobuf events, from topic to partition, on Spark: each step once, nothing is killed."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")
pytest.importorskip("google.protobuf")

import fastavro

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
from system_tests.services import KafkaService
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

    def __init__(self, bootstrap: str, registry: str, directory: Path) -> None:
        self._bootstrap = bootstrap
        self._write = ProtobufSerializer(SchemaRegistryClient(registry), User).serialize
        with AdminClient(bootstrap) as admin:
            configs = {"retention.ms": "-1"}
            topics = [NewTopic(name, 2, 1, topic_configs=configs) for name in ("listings", "users")]
            values_of(admin.create_topics(topics))
        (directory / "listing.avsc").write_text(json.dumps(LISTING))
        listings = {"topic": "listings", "kind": "changes", "format": "avro", "schema": "listing.avsc"}
        found = {
            "root": "tables",
            "kafka": {"bootstrap.servers": bootstrap},
            "registry": {"url": registry},
            "grace_minutes": 0,
            "tables": [listings, {"topic": "users"}],
            "spark": {"spark.master": "local[2]", "spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "2"},
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
        query = Stream(self.warehouse).start(available_now=True)
        query.awaitTermination()
        assert query.exception() is None, query.exception()

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
    with running_registry() as registry:
        pipeline = Pipeline(broker.bootstrap, registry.url, tmp_path)
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
