"""Records as operations of a bulk request."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, NamedTuple

from kafkapy.connect.connectors.opensearch.sink_config import SearchSettings
from kafkapy.connect.converters.json_writer import JsonDataWriter
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import SinkRecord

_TIME: Final = "@timestamp"
_LONGEST_ID: Final = 512
"""In bytes; the servers refuse more."""


class Operation(NamedTuple):
    """What becomes of a record.

    Attributes:
        record: The record.
        action: Of the bulk interface.
        resource: Name of an index or a data stream.
        id: Of the document. None: the server makes it.
        is_versioned: Whether the server compares versions.
        lines: For the request.
    """

    record: SinkRecord
    action: Literal["index", "create", "update", "delete"]
    resource: str
    id: str | None
    is_versioned: bool
    lines: bytes


class DocumentMaker:
    """Makes operations of records.

    Args:
        settings: The connector's.
    """

    def __init__(self, settings: SearchSettings) -> None:
        self._settings = settings
        self._by_schema = JsonDataWriter(True, True, "documents" if settings.compact_maps else "all")
        self._without_schema = JsonDataWriter(False, True)

    def operation(self, record: SinkRecord) -> Operation | None:
        """Return what becomes of a record; None: nothing.

        Args:
            record: Any.

        Raises:
            DataException: It cannot be a document, or has no usable key.
        """
        settings, topic = self._settings, record.topic or ""
        source = settings.id_source(topic)
        resource = settings.resource(topic)
        if record.value is None:
            if not self._is_deletion(record, source):
                return None
            return self._made(record, "delete", resource, source, b"")
        if not isinstance(record.value, Struct | dict):
            raise DataException(f"A document is a struct or a map, not a {type(record.value).__name__}")
        writer = self._without_schema if settings.ignores_schema(topic) else self._by_schema
        document = writer.text(record.value_schema, record.value)
        if settings.is_stream:
            return self._made(record, "create", resource, source, _body(self._with_time(document, record)))
        if settings.upserts:
            return self._made(record, "update", resource, source, _body(f'{{"doc":{document},"doc_as_upsert":true}}'))
        return self._made(record, "index", resource, source, _body(document))

    def _is_deletion(self, record: SinkRecord, source: str) -> bool:
        if self._settings.on_null == "fail":
            raise DataException("The value is null: set behavior.on.null.values to ignore or delete.")
        return self._settings.on_null == "delete" and record.key is not None and source == "record.key"

    def _made(
        self,
        record: SinkRecord,
        action: Literal["index", "create", "update", "delete"],
        resource: str,
        source: str,
        body: bytes,
    ) -> Operation:
        target: dict[str, Any] = {"_index": resource}
        identity = _identity(record, source)
        if identity is not None:
            target["_id"] = identity
        is_versioned = source == "record.key" and action in ("index", "delete") and not self._settings.upserts
        if is_versioned:
            target |= {"version": self._version(record), "version_type": "external"}
        if action == "update":
            target["retry_on_conflict"] = 3
        return Operation(record, action, resource, identity, is_versioned, _body(json.dumps({action: target})) + body)

    def _version(self, record: SinkRecord) -> int:
        name = self._settings.version_header
        if not name:
            return record.kafka_offset
        header = record.headers.last_with_name(name)
        try:
            return int(header.value if header is not None else "")
        except (TypeError, ValueError):
            raise DataException(f"The header {name} (external.version.header) is no whole number") from None

    def _with_time(self, document: str, record: SinkRecord) -> str:
        fields = json.loads(document)
        found = next((fields[name] for name in self._settings.time_fields if name in fields), fields.get(_TIME))
        if found is None:
            found = record.timestamp
        if found is None:
            raise DataException("The record has no time, which a data stream needs: set data.stream.timestamp.field.")
        return json.dumps({**fields, _TIME: found}, ensure_ascii=False)


def _identity(record: SinkRecord, source: str) -> str | None:
    if source == "none":
        return None
    if source == "topic.partition.offset":
        return f"{record.topic}+{record.kafka_partition}+{record.kafka_offset}"
    key = record.key
    if isinstance(key, bool) or not isinstance(key, str | int) or key == "":
        kind = "empty text" if key == "" else type(key).__name__
        raise DataException(
            f"A key that is the id of a document is a text or a whole number, not {kind}: set key.ignore."
        )
    text = key if isinstance(key, str) else int.__repr__(key)
    if len(text.encode("utf-8", "replace")) > _LONGEST_ID:
        raise DataException(f"The key is longer than {_LONGEST_ID} bytes, which the id of a document may have.")
    return text


def _body(text: str) -> bytes:
    return text.encode("utf-8", "replace") + b"\n"
