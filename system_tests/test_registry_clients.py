"""Clients of Confluent's registry as they are, against ours: Python's, two of Node's, Go's. They register, look up, write and
read Avro, JSON and Protobuf; what one wrote another reads."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.schemas import SchemaRegistryClient
from system_tests.http_services import SchemaRegistryProcess
from system_tests.services import TIME_LIMIT_FACTOR, KafkaService

PROGRAMS = Path(__file__).parent / "registry_clients"
NODE = ("@confluentinc/schemaregistry@1", "@kafkajs/confluent-schema-registry@4", "@bufbuild/protobuf@2")
GO = ("github.com/twmb/franz-go/pkg/sr@v1.8.0", "github.com/hamba/avro/v2@v2.31.0")
SOLD = {"id": 7, "city": "Ulm"}


@pytest.fixture(scope="module")
def registry(module_broker: KafkaService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistryProcess]:
    service = SchemaRegistryProcess(tmp_path_factory.mktemp("registry"), module_broker)
    try:
        service.start()
        yield service
    finally:
        service.close()


def run(directory: Path, *command: str) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"this machine has no {command[0]}")
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=TIME_LIMIT_FACTOR * 400)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_read_by_python(url: str, last_line: str) -> None:
    """By confluent-kafka's deserializers and by ours."""
    from confluent_kafka.schema_registry import SchemaRegistryClient as TheirClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    from kafkapy.schemas.avro import AvroDeserializer as OurAvro
    from kafkapy.schemas.json_schema import JSONDeserializer as OurJson

    theirs, ours = TheirClient({"url": url}), SchemaRegistryClient(url)
    context = SerializationContext("topic", MessageField.VALUE)
    seen = 0
    for name, text in json.loads(last_line).items():
        data = base64.b64decode(text)
        if name.endswith("avro") and "confluent" not in name:  # that one is deleted at the end
            assert AvroDeserializer(theirs)(data, context) == SOLD
            assert OurAvro(ours).deserialize("topic", [], data) == SOLD
            seen += 1
        elif name.endswith("json"):
            assert JSONDeserializer(None, schema_registry_client=theirs)(data, context) == SOLD
            assert OurJson(ours).deserialize("topic", [], data) == SOLD
            seen += 1
    assert seen >= 2


@pytest.mark.long  # its packages are large
@pytest.mark.timeout(600)
def test_node(registry: SchemaRegistryProcess, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "sold", "private": true}')
    run(tmp_path, "npm", "install", "--silent", "--no-audit", "--no-fund", *NODE)
    shutil.copy(PROGRAMS / "clients.mjs", tmp_path / "sold.mjs")
    check_read_by_python(registry.url, run(tmp_path, "node", "sold.mjs", registry.url).splitlines()[-1])


@pytest.mark.timeout(600)
def test_go(registry: SchemaRegistryProcess, tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / "main.go", tmp_path)
    run(tmp_path, "go", "mod", "init", "sold")
    run(tmp_path, "go", "get", *GO)
    run(tmp_path, "go", "mod", "tidy")
    check_read_by_python(registry.url, run(tmp_path, "go", "run", ".", registry.url).splitlines()[-1])


def test_python(registry: SchemaRegistryProcess) -> None:
    """confluent-kafka's serializers, all three formats; ours read it."""
    from confluent_kafka.schema_registry import SchemaRegistryClient as TheirClient
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.schema_registry.json_schema import JSONSerializer
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext
    from google.protobuf.timestamp_pb2 import Timestamp

    theirs = TheirClient({"url": registry.url})
    fields = [{"name": "id", "type": "long"}, {"name": "city", "type": "string"}]
    avro = json.dumps({"type": "record", "name": "Sold", "fields": fields})
    properties = {"id": {"type": "integer"}, "city": {"type": "string"}}
    schema = json.dumps({"title": "Sold", "type": "object", "properties": properties})
    context = SerializationContext("python-avro", MessageField.VALUE)
    written = {"python-avro": base64.b64encode(AvroSerializer(theirs, avro)(SOLD, context)).decode()}
    context = SerializationContext("python-json", MessageField.VALUE)
    written["python-json"] = base64.b64encode(JSONSerializer(schema, theirs)(SOLD, context)).decode()
    check_read_by_python(registry.url, json.dumps(written))
    context = SerializationContext("python-protobuf", MessageField.VALUE)
    options = {"use.deprecated.format": False}
    data = ProtobufSerializer(Timestamp, theirs, options)(Timestamp(seconds=3), context)
    assert ProtobufDeserializer(Timestamp, options)(data, context) == Timestamp(seconds=3)
    assert theirs.get_latest_version("python-protobuf-value").schema.schema_type == "PROTOBUF"
