"""What a user of `kafkapy.schemas` writes, with the types that he may rely on. It is checked, not run."""

from __future__ import annotations

from typing import Any, NamedTuple, assert_type

from google.protobuf.timestamp_pb2 import Timestamp

from kafkapy import KafkaConsumer, KafkaProducer
from kafkapy.consumer import ConsumerRecord
from kafkapy.schemas import (
    AvroDeserializer,
    AvroSerializer,
    JSONDeserializer,
    JSONSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    SchemaRegistryClient,
)

registry = SchemaRegistryClient("http://localhost:8081")


class User(NamedTuple):
    name: str

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> User:
        return cls(fields["name"])


def to_dict(user: User) -> dict[str, Any]:
    return user._asdict()


def avro() -> None:
    typed = KafkaConsumer("users", value_deserializer=AvroDeserializer(registry, from_dict=User.from_dict))
    for record in typed:
        assert_type(record, ConsumerRecord[bytes | None, User])
    producer = KafkaProducer(value_serializer=AvroSerializer(registry, '"string"', to_dict=to_dict))
    producer.send("users", User("Ann"))
    producer.send("users", {"name": "Ann"})  # type: ignore[arg-type]
    for record in KafkaConsumer("users", value_deserializer=AvroDeserializer(registry)):
        record.value["name"].upper()
    KafkaProducer(value_serializer=AvroSerializer(registry, '"string"')).send("users", {"name": "Ann"})


def json() -> None:
    typed = KafkaConsumer("users", value_deserializer=JSONDeserializer(registry, from_dict=User.from_dict))
    assert_type(next(typed).value, User)
    producer = KafkaProducer(value_serializer=JSONSerializer(registry, "{}", to_dict=to_dict))
    producer.send("users", 3)  # type: ignore[arg-type]


def protobuf() -> None:
    """pyright has Protobuf's types; for mypy, without types-protobuf, messages are anything."""
    deserializer = ProtobufDeserializer(registry, Timestamp)
    assert_type(deserializer.deserialize("times", [], b""), Timestamp)
    assert_type(next(KafkaConsumer("times", value_deserializer=deserializer)).value, Timestamp)
    producer = KafkaProducer(value_serializer=ProtobufSerializer(registry, Timestamp))
    producer.send("times", Timestamp(seconds=3))
    producer.send("times", {"seconds": 3})  # pyright: ignore[reportArgumentType]
    message_of_any_class = next(KafkaConsumer("times", value_deserializer=ProtobufDeserializer(registry))).value
    message_of_any_class.SerializeToString()
