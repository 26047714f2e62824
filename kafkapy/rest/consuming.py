"""Consuming by REST Proxy v2: `/consumers/{group}/instances/{instance}/…`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from kafkapy.common.patterns import PatternError, java_whole
from kafkapy.http.content_types import media_type
from kafkapy.http.messages import HttpRequest
from kafkapy.rest.consumer_instances import ConsumerInstance, ConsumerInstances, InstanceRequest
from kafkapy.rest.context import RestContext
from kafkapy.rest.embedded import BINARY, FORMATS
from kafkapy.rest.fields import INT32, INT64, string, whole, whole_in
from kafkapy.rest.rest_errors import already_subscribed, not_assigned, unprocessable
from kafkapy.rest.routing import V2, RestRoute, json_body
from kafkapy.structs import OffsetAndMetadata, TopicPartition

_ACCEPTED = {f"application/vnd.kafka.{kind}.v2+json": kind for kind in FORMATS}
_RECORDS = (*_ACCEPTED, V2, "application/json", "application/vnd.kafka+json")
_INSTANCE = ("consumers", None, "instances", None)
_MAX_BYTES = 64 * 1024 * 1024

Use = Callable[[ConsumerInstance], Any]


class Consuming:
    def __init__(
        self, context: RestContext, instances: ConsumerInstances, base_url: Callable[[HttpRequest], str]
    ) -> None:
        self._context = context
        self._instances = instances
        self._base_url = base_url

    def routes(self) -> list[RestRoute]:
        offered = (V2, "application/json", "application/vnd.kafka+json")
        actions: dict[tuple[str, ...], Callable[[Any, Any], Any]] = {
            ("POST", "subscription"): _subscribe,
            ("GET", "subscription"): _subscription,
            ("DELETE", "subscription"): _unsubscribe,
            ("POST", "assignments"): _assign,
            ("GET", "assignments"): _assignments,
            ("POST", "offsets"): _commit,
            ("GET", "offsets"): _committed,
            ("POST", "positions"): _seek,
            ("POST", "positions", "beginning"): _seek_to_beginning,
            ("POST", "positions", "end"): _seek_to_end,
        }
        return [
            RestRoute("POST", ("consumers", None), self._create, offered),
            RestRoute("DELETE", _INSTANCE, self._delete, offered),
            RestRoute("GET", (*_INSTANCE, "records"), self._records, _RECORDS),
            *(RestRoute(name[0], (*_INSTANCE, *name[1:]), self._using(f), offered) for name, f in actions.items()),
        ]

    async def _create(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        given = InstanceRequest.of(json_body(request, {}))
        await self._context.blocking(self._instances.create, parts[0], given)
        base = f"{self._base_url(request)}/consumers/{quote(parts[0], safe='')}/instances/{quote(given.name, safe='')}"
        return {"instance_id": given.name, "base_uri": base}

    async def _delete(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        await self._context.blocking(self._instances.delete, *parts)

    async def _records(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        accept = media_type(request.headers.get("accept", "").partition(",")[0])
        timeout = _number(request, "timeout")
        max_bytes = _number(request, "max_bytes")

        def use(instance: ConsumerInstance) -> Any:
            kind = _ACCEPTED.get(accept)
            if kind is None and accept == V2 and instance.request.format != BINARY:
                kind = BINARY
            bound = _MAX_BYTES if max_bytes is None else min(max_bytes, _MAX_BYTES)
            return instance.records(kind, timeout, bound, lambda: self._context.values)

        return await self._context.blocking(self._instances.use, *parts, use)

    def _using(self, f: Callable[[Any, Any], Any]) -> Callable[[HttpRequest, tuple[str, ...]], Any]:
        async def action(request: HttpRequest, parts: tuple[str, ...]) -> Any:
            body = json_body(request, {}) if request.body else {}
            return await self._context.blocking(
                self._instances.use, *parts, lambda instance: f(instance.consumer, body)
            )

        return action


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.query.get(name)
    return None if text is None else whole_in(text, name, INT64)


def _subscribe(consumer: Any, body: dict[str, Any]) -> None:
    topics, pattern = body.get("topics"), body.get("topic_pattern")
    if topics is None and pattern is None:
        raise unprocessable("Either topics or topic_pattern is expected")
    if topics is not None and pattern is not None:
        raise already_subscribed()
    if consumer.assignment() and consumer.subscription() is None:
        raise already_subscribed()
    if pattern is not None:
        try:
            wanted = java_whole(pattern)
        except (PatternError, TypeError) as error:
            raise unprocessable(f"topic_pattern is no regular expression: {error}") from None
        consumer.subscribe(pattern=wanted)
        return
    if not isinstance(topics, list) or not all(isinstance(topic, str) for topic in topics):
        raise unprocessable("topics is a list of names")
    consumer.subscribe(topics)


def _subscription(consumer: Any, body: dict[str, Any]) -> Any:
    return {"topics": sorted(consumer.subscription() or ())}


def _unsubscribe(consumer: Any, body: dict[str, Any]) -> None:
    consumer.unsubscribe()


def _assign(consumer: Any, body: dict[str, Any]) -> None:
    if consumer.subscription():
        raise already_subscribed()
    consumer.assign(_partitions(body))


def _assignments(consumer: Any, body: dict[str, Any]) -> Any:
    return {
        "partitions": [{"topic": each.topic, "partition": each.partition} for each in sorted(consumer.assignment())]
    }


def _partitions(body: dict[str, Any], field: str = "partitions") -> list[TopicPartition]:
    return [partition for partition, _ in _rows(body, field)]


def _rows(body: dict[str, Any], field: str) -> list[tuple[TopicPartition, dict[str, Any]]]:
    rows = body.get(field)
    if not isinstance(rows, list):
        raise unprocessable(f"{field} is a list of objects with topic and partition")
    found = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("topic"), str):
            raise unprocessable(f"{field} is a list of objects with topic and partition")
        found.append((TopicPartition(row["topic"], whole(row.get("partition"), "partition", INT32)), row))
    return found


def _commit(consumer: Any, body: dict[str, Any]) -> None:
    """Commit the given offsets, or all that were read. As in Confluent's proxy, an offset is that of the last
    processed record."""
    if not body:
        consumer.commit()
        return
    offsets = {
        partition: OffsetAndMetadata(
            whole(row.get("offset"), "offset", INT64 - 1) + 1, string(row.get("metadata") or "", "metadata"), -1
        )
        for partition, row in _rows(body, "offsets")
    }
    consumer.commit(offsets)


def _committed(consumer: Any, body: dict[str, Any]) -> Any:
    offsets = []
    for partition in _partitions(body):
        known = consumer.committed(partition, metadata=True)
        if known is not None:
            row = {"topic": partition.topic, "partition": partition.partition}
            offsets.append({**row, "offset": known.offset, "metadata": known.metadata or ""})
    return {"offsets": offsets}


def _seek(consumer: Any, body: dict[str, Any]) -> None:
    wanted = [(partition, whole(row.get("offset"), "offset", INT64)) for partition, row in _rows(body, "offsets")]
    _check_assigned(consumer, [partition for partition, _ in wanted])
    for partition, offset in wanted:
        consumer.seek(partition, offset)


def _seek_to_beginning(consumer: Any, body: dict[str, Any]) -> None:
    if partitions := _partitions(body) or consumer.assignment():
        _check_assigned(consumer, partitions)
        consumer.seek_to_beginning(*partitions)


def _seek_to_end(consumer: Any, body: dict[str, Any]) -> None:
    if partitions := _partitions(body) or consumer.assignment():
        _check_assigned(consumer, partitions)
        consumer.seek_to_end(*partitions)


def _check_assigned(consumer: Any, partitions: Iterable[TopicPartition]) -> None:
    for partition in partitions:
        if partition not in consumer.assignment():
            raise not_assigned(partition.topic, partition.partition)
