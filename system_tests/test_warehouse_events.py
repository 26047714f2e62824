"""Whatever events hold, and whatever their schemas say: each is a row or in the quarantine, and a bad schema stops its own events
alone. On Spark, from the topic to the view and the rolled-up hour.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")

import fastavro

from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.producer.kafka_producer import KafkaProducer
from kafkapy.schemas import SchemaRegistryClient
from kafkapy.schemas.types import AVRO, JSON, Schema
from kafkapy.warehouse.audit import audit, table_of
from kafkapy.warehouse.backfill import backfill
from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.metastore import Metastore
from kafkapy.warehouse.redrive import redrive
from kafkapy.warehouse.rollup import roll_up
from kafkapy.warehouse.session import session
from kafkapy.warehouse.snapshot import Rollup
from kafkapy.warehouse.stream import Stream, hour_at
from kafkapy.warehouse.warehouse import Warehouse
from system_tests.services import KafkaService
from system_tests.warehouse_load import JVM_OPTIONS
from tests.schemas.registry_server import running_registry
from tests.warehouse.records import HOUR_MS

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

HOUR, NEXT = "2026-11-24-00", "2026-11-24-01"
GREATEST = 2**63 - 1


class Pipeline:
    """Topics of one partition whose values name schemas of a registry."""

    def __init__(self, bootstrap: str, registry: str, directory: Path) -> None:
        self.bootstrap = bootstrap
        self.registry = SchemaRegistryClient(registry)
        self._url = registry
        self._directory = directory
        self.spark = session(self.config("none"))

    def config(self, topic: str, **table: Any) -> WarehouseConfig:
        found = {
            "root": f"tables-{topic}",
            "database": topic,
            "metastore_directory": "metastore",
            "kafka": {"bootstrap.servers": self.bootstrap},
            "registry": {"url": self._url},
            "grace_minutes": 0,
            "tables": [{"topic": topic, **table}],
            "spark": {
                "spark.master": "local[2]",
                "spark.log.level": "ERROR",
                "spark.sql.shuffle.partitions": "2",
                "spark.driver.extraJavaOptions": f"{JVM_OPTIONS} -Dderby.system.home={self._directory}",
            },
        }
        return WarehouseConfig.of(found, self._directory)

    def create(self, topic: str) -> None:
        with AdminClient(self.bootstrap) as admin:
            values_of(admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "-1"})]))

    def warehouse(self, topic: str, **table: Any) -> Warehouse:
        made = Warehouse(self.spark, self.config(topic, **table))
        made.start()
        return made

    def register(self, subject: str, schema: Any, kind: str = AVRO) -> int:
        return self.registry.register_schema(subject, Schema(json.dumps(schema), kind))

    def send(
        self, topic: str, *values: bytes | None, ids: Any = None, ms: int = HOUR_MS, key: bytes | None = None
    ) -> None:
        with KafkaProducer(bootstrap_servers=self.bootstrap) as producer:
            for number, value in enumerate(values):
                id = f"{topic} {number} {ms}".encode() if ids is None else ids[number]
                headers = [("event-id", id)] if id is not None else []
                producer.send(topic, value, key=key, timestamp_ms=ms, headers=headers).get(30)


def framed(schema: int, data: bytes) -> bytes:
    return b"\0" + struct.pack(">I", schema) + data


def avro(kind: Any, value: Any) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(kind), value)
    return out.getvalue()


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields.items()]}


def read(warehouse: Warehouse) -> None:
    Stream(warehouse).start(available_now=True).awaitTermination()


def rows(warehouse: Warehouse, text: str) -> list[Any]:
    return [
        tuple(row) for row in warehouse.spark.sql(text.replace("FROM ", f"FROM {warehouse.config.database}.")).collect()
    ]


def check(warehouse: Warehouse) -> None:
    report = audit(warehouse)
    assert report.is_good, table_of(report)
    assert sum(report.waiting.values()) == 0


def test_events(broker: KafkaService, tmp_path: Path) -> None:
    """In a process of its own: a JVM has one embedded metastore."""
    process = get_context("spawn").Process(target=go_through, args=(broker.bootstrap, tmp_path))
    process.start()
    process.join()
    assert process.exitcode == 0


def go_through(bootstrap: str, directory: Path) -> None:
    steps: list[Callable[[Pipeline], None]] = [extremes, odd_names, refused, ids, payments, redriven, changes, fields]
    with running_registry() as server:
        pipeline = Pipeline(bootstrap, server.url, directory)
        try:
            for step in steps:
                pipeline.create(step.__name__)
                step(pipeline)
        finally:
            pipeline.spark.stop()


def extremes(pipeline: Pipeline) -> None:
    """Values at the ends of their types go through the view, the rollup and back; those beyond are in the quarantine."""
    topic = "extremes"
    kinds: dict[str, Any] = {
        "day": {"type": "int", "logicalType": "date"},
        "millis": {"type": "int", "logicalType": "time-millis"},
        "micros": {"type": "long", "logicalType": "time-micros"},
        "at": {"type": "long", "logicalType": "timestamp-millis"},
        "at_micros": {"type": "long", "logicalType": "timestamp-micros"},
        "nanos": {"type": "long", "logicalType": "timestamp-nanos"},
        "local": {"type": "long", "logicalType": "local-timestamp-micros"},
        "money": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10},
        "text": "string",
        "double": "double",
    }
    schema = pipeline.register(f"{topic}-value", record("E", **kinds))
    plain = record("E", **{name: kind if isinstance(kind, str) else kind["type"] for name, kind in kinds.items()})
    least: dict[str, Any] = {
        "day": -(2**31),
        "millis": -1,
        "micros": -(2**63),
        "at": -(2**63) // 1000 + 1,
        "at_micros": -(2**63),
        "nanos": -(2**63),
        "local": -(2**63),
        "money": (-(10**38) + 1).to_bytes(16, "big", signed=True),
        "text": "\0",
        "double": float("-inf"),
    }
    most: dict[str, Any] = {
        "day": 2**31 - 1,
        "millis": 2**31 - 1,
        "micros": GREATEST,
        "at": GREATEST // 1000,
        "at_micros": GREATEST,
        "nanos": GREATEST,
        "local": GREATEST,
        "money": (10**38 - 1).to_bytes(16, "big"),
        "text": "\U0010ffff",
        "double": float("nan"),
    }
    values = [least, most, {**most, "at": GREATEST}, {**most, "money": (10**38).to_bytes(17, "big")}]
    warehouse = pipeline.warehouse(topic)
    pipeline.send(topic, *(framed(schema, avro(plain, value)) for value in values), b"\0\0\0\0\0", b"")
    read(warehouse)
    columns = "unix_micros(at), unix_micros(at_micros), unix_micros(nanos), unix_date(day), millis, micros, cast(money AS string)"
    found = rows(warehouse, f"SELECT {columns} FROM {topic} ORDER BY _offset")
    assert found == [
        (least["at"] * 1000, -(2**63), -(2**63) // 1000, -(2**31), -1, -(2**63), f"-{'9' * 28}.{'9' * 10}"),
        (most["at"] * 1000, GREATEST, GREATEST // 1000, 2**31 - 1, 2**31 - 1, GREATEST, f"{'9' * 28}.{'9' * 10}"),
    ]
    roll_up(warehouse, NEXT)
    assert rows(warehouse, f"SELECT {columns} FROM {topic} ORDER BY _offset") == found
    assert rows(warehouse, "SELECT count(*) FROM quarantine") == [(4,)]
    check(warehouse)


def odd_names(pipeline: Pipeline) -> None:
    """Names of fields are data: at any depth, in any table, whatever they mean to SQL."""
    topic = "odd_names"
    names = [
        "og:title",
        "@type",
        "a.b",
        "x-y",
        "b`t",
        "",
        "select",
        "it's",
        'd"q',
        "\n",
        "${env:HOME}",
        "支付",
        ",;{}",
        "--",
    ]
    inner = {name: {"type": "integer"} for name in names}
    deep = {"type": "array", "items": {"type": "object", "properties": inner}}
    schema = pipeline.register(
        f"{topic}-value",
        {
            "title": "支付",
            "type": "object",
            "properties": {**inner, "inner": {"type": "object", "properties": inner}, "deep": deep},
        },
        JSON,
    )
    twice = record("Twice", p=record("P", x="long", X="long"))
    other = pipeline.register("twice", twice)
    warehouse = pipeline.warehouse(topic)
    numbers = {name: number for number, name in enumerate(names)}
    event = json.dumps({**numbers, "inner": numbers, "deep": [numbers, {}]}).encode()
    pipeline.send(topic, framed(schema, event), framed(other, avro(twice, {"p": {"x": 1, "X": 2}})))
    read(warehouse)
    for _ in range(2):
        for name, number in numbers.items():
            quoted = "`" + name.replace("`", "``") + "`"
            text = f"SELECT {quoted}, inner.{quoted}, deep[0].{quoted}, deep[1].{quoted} FROM {topic}"
            assert rows(warehouse, text) == [(number, number, number, None)]
        roll_up(warehouse, NEXT)
    ((reason,),) = rows(warehouse, "SELECT reason FROM quarantine")
    assert "p.X, p.x are the same column" in reason
    check(warehouse)


def refused(pipeline: Pipeline) -> None:
    """A table that the metastore does not take is the fault of its own schema alone."""
    topic = "refused"
    good, bad = (pipeline.register(name, record(name, n="long")) for name in ("Refused", "Bad"))
    warehouse = pipeline.warehouse(topic)
    pipeline.send(topic, *(framed(schema, avro("long", n)) for n, schema in enumerate((bad, good, bad, good))))
    objection = Metastore.objection
    Metastore.objection = (  # type: ignore[method-assign]
        lambda self, table: "so it is" if table.record == "Bad" else objection(self, table)
    )
    try:
        read(warehouse)
    finally:
        Metastore.objection = objection  # type: ignore[method-assign]
    assert rows(warehouse, f"SELECT n FROM {topic} ORDER BY n") == [(1,), (3,)]
    told = f"no table can hold schema {bad}: so it is"
    assert rows(warehouse, "SELECT reason FROM quarantine") == [(told,), (told,)]
    check(warehouse)
    again = pipeline.warehouse(topic)
    assert redrive(again).rows == {"refused_bad": 2}
    assert rows(again, "SELECT n FROM refused_bad ORDER BY n") == [(0,), (2,)]
    assert rows(again, "SELECT count(*) FROM quarantine") == [(0,)]
    check(again)


def ids(pipeline: Pipeline) -> None:
    """An id is bytes: an empty one is none, and what is no text is no reason to take two events for one."""
    topic = "ids"
    schema = pipeline.register(f"{topic}-value", record("I", n="long"))
    warehouse = pipeline.warehouse(topic)
    given = [b"", b"", b"", b"\xff", b"\xfe", b"\xff", b"a", b"a", None, b"hex:ff"]
    values = [framed(schema, avro("long", n)) for n in range(len(given))]
    pipeline.send(topic, *values, ids=given)
    read(warehouse)
    for _ in range(2):
        found = rows(warehouse, f"SELECT n FROM {topic} ORDER BY n")
        assert found == [(n,) for n in (0, 1, 2, 3, 4, 6, 8, 9)]
        check(warehouse)
        roll_up(warehouse, NEXT)
    pipeline.send(topic, values[3], values[6], values[9], ids=[b"\xff", b"a", b"hex:ff"])
    read(warehouse)
    assert len(rows(warehouse, f"SELECT n FROM {topic}")) == 8
    check(warehouse)


def payments(pipeline: Pipeline) -> None:
    """Which record came first is of no account, before and behind a rollup and a restart."""
    topic = "payments"
    refund, payment = (pipeline.register(f"shop.{name}", record(name, n="long")) for name in ("Refund", "Payment"))
    warehouse = pipeline.warehouse(topic)
    pipeline.send(topic, framed(refund, avro("long", 1)))
    read(warehouse)
    assert rows(warehouse, "SELECT n FROM payments") == [(1,)]
    roll_up(warehouse, NEXT)
    pipeline.send(topic, framed(payment, avro("long", 2)), framed(refund, avro("long", 3)), ms=HOUR_MS + 1)
    read(warehouse)
    for again in (warehouse, pipeline.warehouse(topic)):
        assert rows(again, "SELECT n FROM payments") == [(2,)]
        assert sorted(rows(again, "SELECT n FROM payments_refund")) == [(1,), (3,)]
        assert not again.spark.catalog.tableExists("payments.payments_payment")
        check(again)
        roll_up(again, NEXT)


def redriven(pipeline: Pipeline) -> None:
    """Records come out of the quarantine once, whatever process dies, and what is still wrong stays."""
    topic = "redriven"
    schema = pipeline.register(f"{topic}-value", record("R", n="long"))
    coming = schema + 1
    grown = record("R", n="long", more=["null", "long"])
    old, new = framed(schema, avro("long", 0)), framed(coming, avro(grown, {"n": 1, "more": 7}))
    warehouse = pipeline.warehouse(topic)
    values = [old, new, framed(coming, b"\xff"), b"junk", new, old]
    pipeline.send(topic, *values, ids=[b"e0", b"e1", b"e2", b"e3", b"e1", b"e0"])
    read(warehouse)
    assert rows(warehouse, f"SELECT n FROM {topic}") == [(0,)]
    assert redrive(warehouse) == ({}, 4)
    assert rows(warehouse, "SELECT count(*) FROM quarantine") == [(4,)]
    check(warehouse)
    grown["fields"][1]["default"] = None
    assert pipeline.register(f"{topic}-value", grown) == coming
    assert redrive(warehouse, reason="no such reason") == ({}, 0)
    die_in_the_metastore(warehouse)
    started = pipeline.warehouse(topic)
    for _ in range(2):
        assert rows(started, f"SELECT n, more, _offset, _batch FROM {topic} ORDER BY n") == [
            (0, None, 0, 0),
            (1, 7, 1, 0),
        ]
        assert rows(started, "SELECT _offset FROM quarantine ORDER BY _offset") == [(2,), (3,)]
        check(started)
        assert redrive(started) == ({}, 2)
        started.sweep()
    pipeline.send(topic, new, new, ids=[b"e1", b"e4"])
    read(started)
    assert [row[0] for row in rows(started, f"SELECT _event_id FROM {topic} ORDER BY _event_id")] == ["e0", "e1", "e4"]
    check(started)
    backfill(started, [HOUR])
    check(started)


def die_in_the_metastore(warehouse: Warehouse) -> None:
    """A redrive behind the ledger's decision, before a view shows it."""
    commit = warehouse.ledger.add_rollup

    def add_rollup(rollup: Rollup) -> None:
        commit(rollup)
        if rollup.tables:
            raise ZeroDivisionError

    warehouse.ledger.add_rollup = add_rollup  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        redrive(warehouse)


def changes(pipeline: Pipeline) -> None:
    """A state that comes out of the quarantine is no later than it was."""
    topic = "changes"
    schema = pipeline.register(f"{topic}-value", record("C", n="long"))
    coming = schema + 1
    warehouse = pipeline.warehouse(topic, kind="changes")
    pipeline.send(topic, framed(coming, avro("long", 1)), key=b"k")
    pipeline.send(topic, framed(coming, avro("long", 5)), key=b"other")
    read(warehouse)
    pipeline.send(topic, framed(schema, avro("long", 2)), key=b"k", ms=HOUR_MS + 1)
    read(warehouse)
    assert pipeline.register("another", record("C", n="int")) == coming
    mended = pipeline.warehouse(topic, kind="changes")
    redrive(mended)
    for again in (mended, pipeline.warehouse(topic, kind="changes")):
        assert sorted(rows(again, f"SELECT n FROM {topic}")) == [(2,), (5,)]
        check(again)
        roll_up(again, NEXT)


def fields(pipeline: Pipeline) -> None:
    """Ids and times out of the values: events that came twice are one, and in their own hours; the audit sees it so."""
    topic = "fields"
    at = {"type": "long", "logicalType": "timestamp-millis"}
    schema = pipeline.register(f"{topic}-value", record("F", id=["null", "string"], at=["null", at]))
    plain = record("F", id=["null", "string"], at=["null", "long"])
    warehouse = pipeline.warehouse(topic, id_field="id", time_field="at")
    values: list[Any] = [
        ("a", HOUR_MS),
        ("a", HOUR_MS),
        ("b", HOUR_MS - 3_600_000),
        (None, HOUR_MS),
        (None, HOUR_MS),
        ("c", None),
    ]
    pipeline.send(
        topic, *(framed(schema, avro(plain, {"id": id, "at": ms})) for id, ms in values), ms=HOUR_MS + 7_200_000
    )
    read(warehouse)
    for _ in range(2):
        found = rows(warehouse, f"SELECT _event_id, hr FROM {topic} ORDER BY _offset")
        assert found == [("a", "00"), ("b", "23"), ("fields-0-3", "00"), ("fields-0-4", "00")]
        check(warehouse)
        roll_up(warehouse, NEXT)
    assert rows(warehouse, "SELECT reason FROM quarantine") == [("its field at has no time",)]
    assert hour_at(HOUR_MS) == HOUR
