"""The proxy without sockets, brokers and threads: requests as bytes go in, answers come out at once.

What stands for Kafka packs every number as Kafka's fields have it and encodes every text: what fits no field raises, as it
does in the clients.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred

from kafkapy.common.topic_names import reason_invalid
from kafkapy.errors import InvalidTopicError
from kafkapy.http.messages import HttpAnswer
from kafkapy.http.request_reader import RequestReader
from kafkapy.http.site import Site, SiteSettings
from kafkapy.rest.consumer_instances import ConsumerInstances
from kafkapy.rest.consuming import Consuming
from kafkapy.rest.context import PendingBytes, RestContext
from kafkapy.rest.embedded import EmbeddedValues
from kafkapy.rest.events import Events
from kafkapy.rest.producing import Producing
from kafkapy.rest.routing import JSON, RestRouter
from kafkapy.rest.v2_metadata import V2Metadata
from kafkapy.rest.v3_cluster import V3Cluster
from kafkapy.rest.v3_records import V3Records
from kafkapy.schemas import avro
from kafkapy.schemas.errors import SchemaRegistryError
from kafkapy.schemas.types import Schema
from kafkapy.structs import OffsetAndMetadata, TopicPartition

CLUSTER = "cluster"
_PARTITION = {
    "partition_index": 0, "leader_id": 0, "replica_nodes": [0], "isr_nodes": [0], "error_code": 0,
}  # fmt: skip


class SentRecord(SimpleNamespace):
    value: bytes | None
    key: bytes | None
    headers: list[tuple[str, bytes | None]]
    partition: int | None
    timestamp: int | None


class FakeProducer:
    def __init__(self) -> None:
        self.sent: list[SentRecord] = []

    def partitions_for(self, topic: str) -> Deferred[set[int]]:
        def partitions() -> set[int]:
            _check_name(topic)
            return {0, 1}

        return maybeDeferred(partitions)

    def send(self, *record: Any) -> Deferred[Any]:
        return maybeDeferred(self._send, *record)

    def _send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Any:
        _check_name(topic)
        assert value is not None or key is not None
        for data in (value, key, *(header[1] for header in headers or ())):
            assert data is None or type(data) is bytes
        for name, _ in headers or ():
            name.encode()
        struct.pack(">iq", partition or 0, timestamp_ms or 0)
        record = SentRecord(
            value=value, key=key, headers=list(headers or ()), partition=partition, timestamp=timestamp_ms
        )
        self.sent.append(record)
        return SimpleNamespace(partition=partition or 0, offset=len(self.sent) - 1, timestamp=timestamp_ms or 0)

    def send_many(
        self, topic: str, values: Sequence[bytes], keys: Any, partition: Any, headers: Any, times: Any
    ) -> Deferred[Any]:
        def send() -> list[Any]:
            first = len(self.sent)
            for i, value in enumerate(values):
                self._send(topic, value, *(column and column[i] for column in (keys, headers, None, times)))
            return [SimpleNamespace(partition=0, offset=first, record_count=len(values))]

        return maybeDeferred(send)


class FakeAdmin:
    def describe_cluster(self) -> Any:
        return {"controller_id": 0, "brokers": [{"broker_id": 0, "host": "h", "port": 1, "rack": None}]}

    def list_topics(self) -> list[str]:
        return ["t"]

    def describe_topics(self, names: Sequence[str] = ("t",)) -> Any:
        for name in names:
            name.encode()
        (name,) = names
        return [{"error_code": int(name != "t"), "name": name, "is_internal": False, "partitions": [_PARTITION]}]

    def describe_configs(self, resources: Any, **_: Any) -> Any:
        (resource,) = resources
        source = {"config_source": "DEFAULT_CONFIG", "is_sensitive": False, "read_only": False}
        return {resource.resource_type.name.lower(): {resource.name: {"retention.ms": {"value": "1", **source}}}}

    def alter_configs(self, resources: Any) -> None:
        for value in resources[0].configs.values():
            (value or "").encode()

    def reset_configs(self, resources: Any) -> None:
        """Nothing to reset."""

    def create_topics(self, topics: Any, **_: Any) -> None:
        (new,) = topics
        _check_name(new.name)
        struct.pack(">ih", new.num_partitions, new.replication_factor)
        for partition, brokers in (new.replica_assignments or {}).items():
            struct.pack(f">i{len(brokers)}i", partition, *brokers)
        for name, value in (new.topic_configs or {}).items():
            (name + (value or "")).encode()

    def create_partitions(self, counts: Mapping[str, int]) -> None:
        struct.pack(">i", *counts.values())

    def delete_topics(self, names: Sequence[str]) -> None:
        """Nothing to delete."""

    def list_partition_offsets(self, partitions: Mapping[TopicPartition, int]) -> Any:
        return {each: SimpleNamespace(offset=0) for each in partitions}

    def list_consumer_groups(self) -> list[tuple[str, str]]:
        return [("odd", "consumer")]

    def describe_groups(self, names: Sequence[str]) -> Any:
        group = {"protocol_type": "consumer", "protocol_data": "range", "group_state": "Stable", "members": []}
        return {name: {"group_id": name, **group} for name in names}

    def list_consumer_group_offsets(self, group: str) -> Any:
        return {TopicPartition("t", 0): OffsetAndMetadata(3, "", -1)}


class FakeConsumer:
    """`waiting`: what the next poll gives."""

    def __init__(self, waiting: dict[TopicPartition, list[Any]], **options: Any) -> None:
        struct.pack(">i", options.get("fetch_min_bytes", 1))
        self._waiting = waiting
        self._assigned: set[TopicPartition] = set()
        self._subscribed: set[str] | None = None

    def assignment(self) -> set[TopicPartition]:
        return self._assigned

    def subscription(self) -> set[str] | None:
        return self._subscribed

    def subscribe(self, topics: Sequence[str] = (), pattern: str | None = None) -> None:
        self._subscribed = set(topics)

    def unsubscribe(self) -> None:
        self._subscribed = None

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            _pack(partition)
        self._assigned = set(partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        _pack(partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Nothing to do."""

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Nothing to do."""

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None) -> None:
        for partition, at in (offsets or {}).items():
            _pack(partition, at.offset)
            (at.metadata or "").encode()

    def committed(self, partition: TopicPartition, metadata: bool) -> None:
        _pack(partition)

    def poll(self, timeout_ms: int, max_records: int) -> dict[TopicPartition, list[Any]]:
        assert timeout_ms <= 60_000
        return self._waiting

    def close(self) -> None:
        """Nothing to close."""


class FakeRegistry:
    """Avro's schemas only, of one subject."""

    def __init__(self) -> None:
        self._texts = ["", '"int"']

    def register_schema(self, subject: str, schema: Schema) -> int:
        subject.encode()
        try:
            avro.parse(None, schema)
        except Exception as error:
            raise SchemaRegistryError(422, 42201, str(error)) from None
        self._texts.append(schema.schema_str)
        return len(self._texts) - 1

    def get_schema(self, schema_id: int, subject: str | None = None, fmt: str | None = None) -> Schema:
        struct.pack(">i", schema_id)
        if not 0 < schema_id < len(self._texts):
            raise SchemaRegistryError(404, 40403, "Schema not found")
        return Schema(self._texts[schema_id])

    def lookup_schema(self, subject: str, schema: Schema) -> None:
        """It is there."""


class ProxyInProcess:
    def __init__(self) -> None:
        self.producer = FakeProducer()
        self.waiting: dict[TopicPartition, list[Any]] = {}
        values = EmbeddedValues(FakeRegistry())  # type: ignore[arg-type]
        context = RestContext(self.producer, FakeAdmin(), _at_once, PendingBytes(2**30), values)
        context.cluster_id = CLUSTER
        instances = ConsumerInstances(lambda **options: FakeConsumer(self.waiting, **options), 1e9, 100_000)
        cluster = V3Cluster(context, lambda request: "http://proxy")
        router = RestRouter(
            [
                *Events(context).routes(),
                *Producing(context).routes(),
                *V2Metadata(context).routes(),
                *Consuming(context, instances, lambda request: "http://proxy").routes(),
                *cluster.routes(),
                *V3Records(context, cluster).routes(),
            ]
        )
        self._site = Site(SiteSettings(router.handle, 10_000_000, JSON))

    def ask(self, method: str, target: str, body: bytes = b"", kind: str = JSON, **headers: str) -> HttpAnswer:
        named = {"host": "proxy", "content-type": kind, "content-length": str(len(body))}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        reader = RequestReader(10_000_000)
        reader.feed(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body)
        arrived = reader.next()
        assert arrived is not None
        answer = self._site.respond(arrived)
        if isinstance(answer, HttpAnswer):
            return answer
        found: list[HttpAnswer] = []
        answer.addCallback(found.append)
        return found[0]


async def _at_once(f: Any, *arguments: Any) -> Any:
    return f(*arguments)


def _check_name(topic: str) -> None:
    if reason_invalid(topic) is not None:
        raise InvalidTopicError(topic)


def _pack(partition: TopicPartition, offset: int = 0) -> None:
    partition.topic.encode()
    struct.pack(">iq", partition.partition, offset)
