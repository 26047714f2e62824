"""Producing by REST Proxy v2: `POST /topics/{topic}` and `/topics/{topic}/partitions/{partition}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from twisted.internet.defer import DeferredList

from kafkapy.errors import KafkaError
from kafkapy.http.content_types import media_type
from kafkapy.http.messages import HttpRequest
from kafkapy.rest.context import RestContext
from kafkapy.rest.embedded import BINARY, FORMATS, WITH_SCHEMAS, WrittenWith, to_bytes
from kafkapy.rest.fields import (
    INT32,
    INT64,
    RecordHeaders,
    check_not_empty,
    path_number,
    record_headers,
    string,
    whole,
    whole_or_text,
)
from kafkapy.rest.rest_errors import (
    RestRefusal,
    key_schema_missing,
    of_kafka,
    partition_not_found,
    unprocessable,
    value_schema_missing,
)
from kafkapy.rest.routing import V2, RestRoute, json_body

_CONTENT_TYPES = {f"application/vnd.kafka.{kind}.v2+json": kind for kind in FORMATS} | {
    V2: BINARY,
    "application/vnd.kafka+json": BINARY,
    "application/json": BINARY,
    "": BINARY,
}
_RECORD_FIELDS = {"key", "value", "partition", "timestamp", "headers"}


class ToSend(NamedTuple):
    key: bytes | None
    value: bytes | None
    partition: int | None
    timestamp: int | None
    headers: RecordHeaders


class Producing:
    def __init__(self, context: RestContext) -> None:
        self._context = context

    def routes(self) -> list[RestRoute]:
        offered = (V2, "application/vnd.kafka+json", "application/json")
        return [
            RestRoute("POST", ("topics", None), self._topic, offered),
            RestRoute("POST", ("topics", None, "partitions", None), self._partition, offered),
        ]

    async def _topic(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        return await self._produce(request, parts[0], None)

    async def _partition(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        return await self._produce(request, parts[0], path_number(parts[1]))

    async def _produce(self, request: HttpRequest, topic: str, partition: int | None) -> Any:
        kind = _CONTENT_TYPES.get(media_type(request.headers.get("content-type", "")))
        if kind is None:
            raise RestRefusal(415, 415, "HTTP 415 Unsupported Media Type")
        self._context.pending.take(len(request.body))
        try:
            return await self._send(topic, partition, kind, json_body(request))
        finally:
            self._context.pending.give_back(len(request.body))

    async def _send(self, topic: str, partition: int | None, kind: str, body: dict[str, Any]) -> Any:
        records = checked_records(body.get("records"))
        known = await self._context.producer.partitions_for(topic)
        for record in records:
            wanted = partition if record.get("partition") is None else record["partition"]
            if wanted is not None and wanted not in known:
                raise partition_not_found(wanted)
        if kind in WITH_SCHEMAS:
            key_schema, value_schema, given = await self._context.blocking(
                self._with_schemas, topic, kind, body, records
            )
        else:
            key_schema = value_schema = None
            given = [
                to_send(each, to_bytes(kind, each.get("key")), to_bytes(kind, each.get("value"))) for each in records
            ]
        offsets = await send_all(self._context.producer, topic, partition, given)
        answer: dict[str, Any] = {"offsets": offsets}
        answer["key_schema_id"] = None if key_schema is None else key_schema.id
        answer["value_schema_id"] = None if value_schema is None else value_schema.id
        return answer

    def _with_schemas(
        self, topic: str, kind: str, body: dict[str, Any], records: Sequence[dict[str, Any]]
    ) -> tuple[WrittenWith | None, WrittenWith | None, list[ToSend]]:
        """Convert records with their schemas, on a thread."""
        values = self._context.values
        chosen: dict[str, WrittenWith | None] = {}
        for part, missing in (("key", key_schema_missing), ("value", value_schema_missing)):
            text, schema_id = body.get(f"{part}_schema"), body.get(f"{part}_schema_id")
            if text is None and schema_id is None:
                if any(record.get(part) is not None for record in records):
                    raise missing()
                chosen[part] = None
            else:
                if text is not None:
                    string(text, f"{part}_schema")
                if schema_id is not None:
                    schema_id = whole_or_text(schema_id, f"{part}_schema_id", INT32)
                chosen[part] = values.chosen(kind, f"{topic}-{part}", text, schema_id)

        def written(part: str, record: dict[str, Any]) -> bytes | None:
            """Encode a part of a record; null is always Kafka's null (as a value, a tombstone), whatever the
            schema."""
            schema, given = chosen[part], record.get(part)
            return None if schema is None or given is None else values.write(kind, schema, given)

        given = [to_send(record, written("key", record), written("value", record)) for record in records]
        return chosen["key"], chosen["value"], given


def checked_records(given: Any) -> list[dict[str, Any]]:
    """Raises RestRefusal."""
    if not isinstance(given, list) or not given:
        raise unprocessable("records is a list of objects, not empty")
    for record in given:
        if not isinstance(record, dict):
            raise unprocessable("A record is an object with value, and perhaps key and partition")
        for name in record:
            if name not in _RECORD_FIELDS:
                raise unprocessable(f"Unrecognized field: {name}")
        for name, most in (("partition", INT32), ("timestamp", INT64)):
            if record.get(name) is not None:
                whole(record[name], name, most)
    return given


def to_send(record: dict[str, Any], key: bytes | None, value: bytes | None) -> ToSend:
    check_not_empty(key, value)
    headers = record_headers(record.get("headers"))
    return ToSend(key, value, record.get("partition"), record.get("timestamp"), headers)


async def send_all(producer: Any, topic: str, partition: int | None, given: Sequence[ToSend]) -> list[dict[str, Any]]:
    """Send records; return for each its partition and offset, or the error."""
    sent = [
        producer.send(
            topic,
            each.value,
            each.key,
            list(each.headers) or None,
            each.partition if each.partition is not None else partition,
            each.timestamp,
        )
        for each in given
    ]
    offsets = []
    for succeeded, result in await DeferredList(sent, consumeErrors=True):
        if succeeded:
            offsets.append({"partition": result.partition, "offset": result.offset, "error_code": None, "error": None})
        else:
            error = result.value
            refusal = of_kafka(error) if isinstance(error, KafkaError) else RestRefusal(500, 50002, str(error))
            offsets.append({"partition": None, "offset": None, "error_code": refusal.code, "error": refusal.message})
    return offsets
