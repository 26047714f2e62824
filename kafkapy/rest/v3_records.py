"""REST Proxy v3's `POST …/topics/{topic}/records`: consecutive JSON documents, each a record with its own result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkapy.common import strict_json
from kafkapy.errors import KafkaError
from kafkapy.http.messages import HttpAnswer, HttpRequest
from kafkapy.rest.context import RestContext
from kafkapy.rest.embedded import BINARY, JSON, WITH_SCHEMAS, to_bytes
from kafkapy.rest.fields import INT32, check_not_empty, iso_time, record_headers, string, time_ms, whole
from kafkapy.rest.producing import ToSend
from kafkapy.rest.rest_errors import RestRefusal, bad_request, of_kafka, partition_not_found
from kafkapy.rest.routing import RestRoute
from kafkapy.rest.v3_cluster import CLUSTER, V3Cluster

_TYPES = {
    "BINARY": BINARY,
    "JSON": JSON,
    "STRING": "string",
    "AVRO": "avro",
    "JSONSCHEMA": "jsonschema",
    "PROTOBUF": "protobuf",
}


class V3Records:
    def __init__(self, context: RestContext, cluster: V3Cluster) -> None:
        self._context = context
        self._cluster = cluster

    def routes(self) -> list[RestRoute]:
        return [RestRoute("POST", (*CLUSTER, "topics", None, "records"), self._post)]

    async def _post(self, request: HttpRequest, parts: tuple[str, ...]) -> Any:
        """Handle a POST: status 200 with each document's result or error; a single document's error sets the
        status."""
        self._cluster.resources(request, parts[0])
        self._context.pending.take(len(request.body))
        try:
            answers = []
            for document in documents(request.body):
                try:
                    answers.append(await self._one(parts[0], parts[1], document))
                except RestRefusal as refusal:
                    answers.append({"error_code": refusal.status, "message": refusal.message})
                    if isinstance(document, RestRefusal):
                        break
        finally:
            self._context.pending.give_back(len(request.body))
        status = answers[0]["error_code"] if len(answers) == 1 else 200
        body = "".join(strict_json.dumps(answer, separators=(",", ":")) + "\r\n" for answer in answers).encode()
        return HttpAnswer(status, body, (("content-type", "application/json"),))

    async def _one(self, cluster_id: str, topic: str, document: dict[str, Any] | RestRefusal) -> dict[str, Any]:
        if isinstance(document, RestRefusal):
            raise document
        try:
            known = await self._context.producer.partitions_for(topic)
            record = await self._context.blocking(self._record, topic, document)
            if record.partition is not None and record.partition not in known:
                raise partition_not_found(record.partition)
            sent = await self._context.producer.send(
                topic, record.value, record.key, list(record.headers) or None, record.partition, record.timestamp
            )
        except KafkaError as error:
            raise of_kafka(error) from None
        answer = {
            "error_code": 200,
            "cluster_id": cluster_id,
            "topic_name": topic,
            "partition_id": sent.partition,
            "offset": sent.offset,
            "timestamp": iso_time(sent.timestamp),
        }
        for name, data in (("key", record.key), ("value", record.value)):
            if data is not None:
                answer[name] = {"type": _type_of(document[name]), "size": len(data)}
        return answer

    def _record(self, topic: str, document: dict[str, Any]) -> ToSend:
        """Convert a document to a record, on a thread. Raises RestRefusal."""
        partition, timestamp = document.get("partition_id"), document.get("timestamp")
        if partition is not None:
            whole(partition, "partition_id", INT32, 0, bad_request)
        at = None if timestamp is None else time_ms(timestamp)
        headers = record_headers(document.get("headers"), bad_request)
        key, value = (self._part(topic, name, document.get(name)) for name in ("key", "value"))
        check_not_empty(key, value, bad_request)
        return ToSend(key, value, partition, at, headers)

    def _part(self, topic: str, name: str, given: Any) -> bytes | None:
        if given is None:
            return None
        if not isinstance(given, dict):
            raise bad_request(f"{name} is an object with type and data")
        kind = _type_of(given)
        if string(kind, f"The type of {name}", bad_request) not in _TYPES:
            raise bad_request(f"The type {kind} of {name} is not known; it is one of {', '.join(_TYPES)}")
        data, form = given.get("data"), _TYPES[kind]
        if form == "string":
            if not isinstance(data, str | None):
                raise bad_request(f"The data of {name} is a string")
            return None if data is None else data.encode()
        if form not in WITH_SCHEMAS:
            return to_bytes(form, data)
        subject = string(given.get("subject") or f"{topic}-{name}", "subject", bad_request)
        schema_id, text = given.get("schema_id"), given.get("schema")
        if schema_id is None and text is None:
            raise bad_request(f"{name} has neither schema nor schema_id")
        if schema_id is not None:
            whole(schema_id, "schema_id", INT32, 0, bad_request)
        if text is not None:
            string(text, "schema", bad_request)
        chosen = self._context.values.chosen(form, subject, text, schema_id)
        return None if data is None else self._context.values.write(form, chosen, data)


def _type_of(part: dict[str, Any]) -> Any:
    """Return the type of a key or value: given explicitly, or by its schema."""
    for name in ("type", "schema_type"):
        if part.get(name) is not None:
            return part[name]
    return "AVRO" if any(field in part for field in ("schema", "schema_id", "schema_version", "subject")) else "JSON"


def documents(body: bytes) -> Iterator[dict[str, Any] | RestRefusal]:
    """Yield consecutive JSON objects, separated by white space; other input ends the iteration."""
    try:
        text = body.decode()
    except ValueError:
        yield bad_request("The body is not in UTF-8")
        return
    at = _skip(text, 0)
    if at >= len(text):
        yield bad_request("Null input provided. Data is required.")
    while at < len(text):
        try:
            document, end = strict_json.load_first(text, at)
        except strict_json.JsonError as error:
            yield bad_request(f"Error processing JSON: {error}")
            return
        if not isinstance(document, dict):
            yield bad_request("A record is a JSON object")
            return
        yield document
        at = _skip(text, end)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
