"""Whole workers with the converters of the schema registry, and a registry that is a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy import KafkaConsumer, KafkaProducer
from kafkapy.common.free_ports import free_ports
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import STRING_SCHEMA, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.java_classes import class_of
from kafkapy.connect.testing import ConnectorTest
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.testing import KafkaCluster
from tests.rest.http_server_process import HttpServerProcess

pytestmark = pytest.mark.integration

SCHEMA = SchemaBuilder(Type.STRUCT).name("files.Line").field("line", STRING_SCHEMA).build()
LINES = ["first", "zweite Zeile ä", "third"]


@pytest.fixture(scope="module")
def registry(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    (port,) = free_ports(1)
    address = f"PLAINTEXT://{kafka.bootstrap_servers}"
    options = {"kafkastore_bootstrap_servers": address, "host_name": "127.0.0.1", "kafkastore_timeout_ms": "10000"}
    server = HttpServerProcess("schema_registry_start", tmp_path_factory.mktemp("registry"), port, **options)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("avro.AvroConverter", b"\x0afirst"),
        ("json.JsonSchemaConverter", b'{"line":"first"}'),
        ("protobuf.ProtobufConverter", b"\x00\x0a\x05first"),
    ],
)
def test_lines_go_from_a_file_through_a_topic_into_a_file(
    kafka: KafkaCluster, kafka_topic: str, registry: str, tmp_path: Path, name: str, value: bytes
) -> None:
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    source.write_text("".join(f"{line}\n" for line in LINES))
    converter = f"io.confluent.connect.{name}"
    test = ConnectorTest(
        kafka.bootstrap_servers, {"value.converter": converter, "value.converter.schema.registry.url": registry}
    )
    hoisted = {
        "connector.class": "FileStreamSource",
        "file": str(source),
        "topic": kafka_topic,
        "transforms": "wrap,named",
        "transforms.wrap.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.wrap.field": "line",
        "transforms.named.type": "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value",
        "transforms.named.schema.name": "files.Line",
    }
    own = class_of(converter)()
    own.configure({"schema.registry.url": registry})
    expected = [own.from_connect_data(kafka_topic, SCHEMA, Struct(SCHEMA, {"line": line})) for line in LINES]
    assert expected[0][5:] == value
    test.source(hoisted, kafka_topic, expected).check(exactly_once=True)
    with SchemaRegistryClient(registry) as client:
        assert client.get_versions(f"{kafka_topic}-value") == [1]
    config = {
        "connector.class": "FileStreamSink",
        "file": str(sink),
        "topics": kafka_topic,
        "transforms": "unwrap",
        "transforms.unwrap.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.unwrap.field": "line",
    }
    delivered = test.sink(config, LINES, lambda: sink.read_text().splitlines() if sink.exists() else [])
    delivered.check(exactly_once=True)


def test_a_failed_expression_is_a_dead_letter(kafka: KafkaCluster, kafka_topic: str, tmp_path: Path) -> None:
    sink, letters = tmp_path / "sink.txt", f"{kafka_topic}-letters"
    with KafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        for number in (2, 0, 1):
            producer.send(kafka_topic, json.dumps({"n": number}).encode())
    test = ConnectorTest(
        kafka.bootstrap_servers,
        {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"},
    )
    config = {
        "connector.class": "FileStreamSink",
        "file": str(sink),
        "topics": kafka_topic,
        "transforms": "x",
        "transforms.x.type": "kafkapy.connect.transforms.Expression",
        "transforms.x.set.share": "10 / value.n",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    expected = ["{n=2, share=5.0}", "{n=1, share=10.0}"]
    test.sink(config, expected, lambda: sink.read_text().splitlines() if sink.exists() else []).check(exactly_once=True)
    assert _values(kafka, letters) == [b'{"n": 0}']


def _values(kafka: KafkaCluster, topic: str) -> list[bytes | None]:
    with KafkaConsumer(topic, bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        found = []
        for _ in range(20):
            for records in consumer.poll(timeout_ms=500).values():
                found += [record.value for record in records]
            if found:
                return found
    return found
