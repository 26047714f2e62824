"""Values with schemas through a real broker, on all three faces."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import pytest_twisted

pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")
pytest.importorskip("google.protobuf")

from kafkapy import KafkaConsumer, KafkaProducer, aio, tx
from kafkapy.errors import LookUpFailedError
from kafkapy.schemas import (
    AvroDeserializer,
    AvroSerializer,
    JSONDeserializer,
    JSONSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    SchemaRegistryClient,
)
from tests.broker_process import BrokerProcess
from tests.schemas.messages import User
from tests.schemas.registry_server import RegistryServer
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.integration

AVRO = json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]})
JSON = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = BrokerProcess(tmp_path_factory.mktemp("schemas"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    yield process.address
    process.stop()


def formats(registry: SchemaRegistryClient) -> dict[str, tuple[Any, Any, list[Any]]]:
    records = [{"id": number} for number in range(5)]
    return {
        "avro": (AvroSerializer(registry, AVRO), AvroDeserializer(registry), records),
        "json": (JSONSerializer(registry, JSON), JSONDeserializer(registry), records),
        "protobuf": (
            ProtobufSerializer(registry, User),
            ProtobufDeserializer(registry, User),
            [User(id=number) for number in range(5)],
        ),
    }


def reading(address: str, registry: SchemaRegistryClient, value_deserializer: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": address,
        "auto_offset_reset": "earliest",
        "key_deserializer": AvroDeserializer(registry),
        "value_deserializer": value_deserializer,
    }


def writing(address: str, registry: SchemaRegistryClient, value_serializer: Any) -> dict[str, Any]:
    key_serializer = AvroSerializer(registry, "string")
    return {"bootstrap_servers": address, "key_serializer": key_serializer, "value_serializer": value_serializer}


@pytest.mark.parametrize("name", ["avro", "json", "protobuf"])
def test_blocking(broker: str, registry: SchemaRegistryClient, name: str) -> None:
    serializer, deserializer, values = formats(registry)[name]
    topic = f"{name}-blocking"
    with KafkaProducer(**writing(broker, registry, serializer)) as producer:
        for value in values:
            producer.send(topic, value, key="k")
    registry.clear_caches()
    with KafkaConsumer(
        topic, consumer_timeout_ms=HANG_SECONDS * 1000, **reading(broker, registry, deserializer)
    ) as consumer:
        found = [next(consumer) for _ in values]
    assert [(record.key, record.value) for record in found] == [("k", value) for value in values]
    assert sorted(registry.get_subjects()) == [f"{topic}-key", f"{topic}-value"]


@pytest.mark.parametrize("name", ["avro", "json", "protobuf"])
def test_asyncio(broker: str, registry: SchemaRegistryClient, name: str) -> None:
    serializer, deserializer, values = formats(registry)[name]
    topic = f"{name}-asyncio"

    async def main() -> None:
        async with aio.KafkaProducer(**writing(broker, registry, serializer)) as producer:
            for value in values:
                await producer.send(topic, value, key="k")
        registry.clear_caches()
        async with aio.KafkaConsumer(topic, **reading(broker, registry, deserializer)) as consumer:
            found = [await asyncio.wait_for(consumer.getone(), HANG_SECONDS) for _ in values]
        assert [(record.key, record.value) for record in found] == [("k", value) for value in values]

    asyncio.run(main())


@pytest_twisted.ensureDeferred
@pytest.mark.parametrize("name", ["avro", "json", "protobuf"])
async def test_twisted(broker: str, registry: SchemaRegistryClient, name: str) -> Any:
    serializer, deserializer, values = formats(registry)[name]
    topic = f"{name}-twisted"
    producer = await tx.KafkaProducer(**writing(broker, registry, serializer)).start()
    for value in values:
        await producer.send(topic, value, key="k")
    await producer.stop()
    registry.clear_caches()
    consumer = await tx.KafkaConsumer(topic, **reading(broker, registry, deserializer)).start()
    found = [await consumer.getone() for _ in values]
    await consumer.stop()
    assert [(record.key, record.value) for record in found] == [("k", value) for value in values]


def test_a_registry_that_is_down_holds_records_back(
    broker: str, registry: SchemaRegistryClient, server: RegistryServer
) -> None:
    serializer, deserializer, values = formats(registry)["avro"]
    with KafkaProducer(**writing(broker, registry, serializer)) as producer:
        for value in values:
            producer.send("down", value)
    registry.clear_caches()
    server.state.failures.extend([(503, {"error_code": 503, "message": "being moved"})] * 2)
    with KafkaConsumer("down", **reading(broker, registry, deserializer)) as consumer:
        found: list[Any] = []
        errors: list[str] = []
        deadline = time.monotonic() + HANG_SECONDS
        while len(found) < len(values) and time.monotonic() < deadline:
            try:
                for records in consumer.poll(1000).values():
                    found.extend(record.value for record in records)
            except LookUpFailedError as error:
                errors.append(str(error))
    assert found == values
    assert len(errors) == 2
    assert "topic down, partition 0, offset 0 cannot be deserialized yet" in errors[0]
    assert "being moved" in errors[0] and server.url in errors[0]


def test_the_loop_goes_on_while_a_schema_is_asked_for(
    broker: str, registry: SchemaRegistryClient, server: RegistryServer
) -> None:
    serializer, deserializer, values = formats(registry)["avro"]
    with KafkaProducer(**writing(broker, registry, serializer)) as producer:
        producer.send("slow", values[0])
    registry.clear_caches()
    asked, answer = threading.Event(), threading.Event()

    def hold() -> None:
        asked.set()
        answer.wait()

    server.state.barrier = hold

    async def main() -> None:
        async with aio.KafkaConsumer("slow", **reading(broker, registry, deserializer)) as consumer:
            while not asked.is_set():
                assert await consumer.getmany(timeout_ms=50) == {}
            assert await consumer.getmany(timeout_ms=50) == {}
            answer.set()
            assert (await asyncio.wait_for(consumer.getone(), HANG_SECONDS)).value == values[0]

    asyncio.run(main())
