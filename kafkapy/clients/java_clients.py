"""The configs of Kafka's producer and consumer by their Java names, without those that name a class of the program.

`java_properties.py` defines how a config is converted.
"""

from __future__ import annotations

from kafkapy.clients.java_properties import BOOLEAN, CLASS, COMMON, INT, LIST, LONG, STRING, acts, no_effect, refused
from kafkapy.common.config_validators import OneOf, at_least


def _acks(text: str) -> int | str:
    return "all" if text in ("all", "-1") else int(text)


_LEVELS = "batches are compressed with the codec's default level"
_BYTES = "the program decides how keys and values become bytes"

PRODUCER = COMMON | {
    "acks": acts(STRING, "all", _acks, OneOf("all", "-1", "0", "1")),
    "batch.size": acts(INT, 16_384, valid=at_least(0)),
    "buffer.memory": acts(LONG, 33_554_432, valid=at_least(0)),
    "compression.type": acts(STRING, "none", valid=OneOf("none", "gzip", "snappy", "lz4", "zstd")),
    "delivery.timeout.ms": acts(INT, 120_000, valid=at_least(0)),
    "enable.idempotence": acts(BOOLEAN, True),
    "linger.ms": acts(LONG, 0, valid=at_least(0)),
    "max.block.ms": acts(LONG, 60_000, valid=at_least(0)),
    "max.in.flight.requests.per.connection": acts(INT, 5, valid=at_least(1)),
    "max.request.size": acts(INT, 1_048_576, valid=at_least(0)),
    "metadata.max.idle.ms": acts(LONG, 300_000, valid=at_least(5000)),
    "retries": acts(INT, 2_147_483_647, valid=at_least(0)),
    "transaction.timeout.ms": acts(INT, 60_000),
    "transactional.id": acts(STRING, None),
    "compression.gzip.level": no_effect(INT, -1, _LEVELS),
    "compression.lz4.level": no_effect(INT, 9, _LEVELS),
    "compression.zstd.level": no_effect(INT, 3, _LEVELS),
    "key.serializer": no_effect(CLASS, None, _BYTES),
    "value.serializer": no_effect(CLASS, None, _BYTES),
    "partitioner.adaptive.partitioning.enable": no_effect(BOOLEAN, True, "every partition gets the same share"),
    "partitioner.availability.timeout.ms": no_effect(LONG, 0, "every partition gets the same share"),
}

_ASSIGNORS = [f"class org.apache.kafka.clients.consumer.{name}Assignor" for name in ("Range", "CooperativeSticky")]
"""Java's default; a consumer of Python has its own."""

CONSUMER = COMMON | {
    "allow.auto.create.topics": acts(BOOLEAN, True),
    "auto.commit.interval.ms": acts(INT, 5_000, valid=at_least(0)),
    "auto.offset.reset": acts(STRING, "latest", valid=OneOf("latest", "earliest", "none")),
    "check.crcs": acts(BOOLEAN, True),
    "client.rack": acts(STRING, ""),
    "enable.auto.commit": acts(BOOLEAN, True),
    "exclude.internal.topics": acts(BOOLEAN, True),
    "fetch.max.bytes": acts(INT, 52_428_800, valid=at_least(0)),
    "fetch.max.wait.ms": acts(INT, 500, valid=at_least(0)),
    "fetch.min.bytes": acts(INT, 1, valid=at_least(0)),
    "group.id": acts(STRING, None),
    "group.instance.id": acts(STRING, None),
    "heartbeat.interval.ms": acts(INT, 3_000),
    "isolation.level": acts(STRING, "read_uncommitted", valid=OneOf("read_committed", "read_uncommitted")),
    "max.partition.fetch.bytes": acts(INT, 1_048_576, valid=at_least(0)),
    "max.poll.interval.ms": acts(INT, 300_000, valid=at_least(1)),
    "max.poll.records": acts(INT, 500, valid=at_least(1)),
    "partition.assignment.strategy": acts(LIST, _ASSIGNORS),
    "session.timeout.ms": acts(INT, 45_000),
    "default.api.timeout.ms": no_effect(INT, 60_000, "calls wait for request.timeout.ms"),
    "group.protocol": refused(STRING, "classic", "the classic group protocol is the only one here"),
    "group.remote.assignor": no_effect(STRING, None, "the classic group protocol is the only one here"),
    "internal.leave.group.on.close": no_effect(BOOLEAN, True, "dynamic members always leave"),
    "internal.throw.on.fetch.stable.offset.unsupported": no_effect(BOOLEAN, False, "it is Kafka Streams' own"),
    "key.deserializer": no_effect(CLASS, None, _BYTES),
    "value.deserializer": no_effect(CLASS, None, _BYTES),
}
