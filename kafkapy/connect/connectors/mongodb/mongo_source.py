"""Reads changes of documents (MongoDB's `MongoSourceConnector`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.mongodb.change_stream import ChangeEvents, Document
from kafkapy.connect.connectors.mongodb.connection import EXTRA, connect, passes, refusal
from kafkapy.connect.connectors.mongodb.event_formats import token_text, writer
from kafkapy.connect.connectors.mongodb.existing_documents import ExistingDocuments
from kafkapy.connect.connectors.mongodb.source_config import SourceSettings, source_definitions, source_settings
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.unused_configs import warn_of_unused
from kafkapy.connect.data.schema import OPTIONAL_BYTES_SCHEMA, STRING_SCHEMA
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask

_ID: Final = "_id"
_COPY: Final = "copy"
_TOKEN: Final = "token"
_NAMESPACE: Final = "ns"
_PAUSE_S: Final = 1.0


class MongoSourceConnector(SourceConnector):
    """Reads a change stream with one task; the configs are in docs/connect_mongodb.md.

    Example:
        >>> MongoSourceConnector().config()["startup.mode"].default
        'latest'
    """

    java_class = "com.mongodb.kafka.connect.MongoSourceConnector"

    def version(self) -> str:
        return VERSION

    def check(self, config: Mapping[str, str]) -> None:
        require(EXTRA, "pymongo", "A connector to MongoDB")
        settings = source_settings(config)
        connect(settings.known["connection.uri"].value, checks_only=True)

    def start(self, config: Mapping[str, str]) -> None:
        self.check(config)
        warn_of_unused(config, self.config())
        self._config = dict(config)

    def task_class(self) -> type[SourceTask]:
        return MongoSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._config]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return source_definitions()

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> bool:
        """Check that offsets have a resume token."""
        for partition, offset in offsets:
            if set(partition) != {_NAMESPACE}:
                raise ConnectException(f"A source partition has only the field {_NAMESPACE}: {dict(partition)}")
            if offset is not None:
                _parsed(offset, _ID)
        return True


class MongoSourceTask(SourceTask):
    """Reads events, after those that are made of existing documents.

    Invariant: an offset has the token after its event; during a copy the token from before the copy, and the namespace and
    the id of the document. `_existing` is None when there is nothing to copy (any more).
    """

    java_class = "com.mongodb.kafka.connect.source.MongoSourceTask"

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._stopped = threading.Event()
        self._clock = clock

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = source_settings(config)
        known = settings.known
        self._partition = {_NAMESPACE: known["offset.partition.name"] or _partition_name(settings)}
        self._key = writer(known["output.format.key"].lower(), settings.formatter)
        self._value = writer(known["output.format.value"].lower(), settings.formatter)
        self._heartbeat_at = self._clock()
        self._client = connect(known["connection.uri"].value)
        offset = self.context.offset_storage_reader().offset(self._partition)
        token = after = None
        if offset is not None and _COPY not in offset:
            token = _parsed(offset, _ID)
        elif offset is not None and _TOKEN in offset:
            token, after = _parsed(offset, _TOKEN), (offset[_NAMESPACE], _parsed(offset, _ID)[_ID])
        self._sent_token = token
        self._events = ChangeEvents(self._client, settings, token, self._clock)
        is_copy = settings.start == "copy_existing" and (offset is None or _COPY in offset)
        self._existing = ExistingDocuments(self._client, settings, after) if is_copy else None

    def stop(self) -> None:
        self._stopped.set()
        if hasattr(self, "_events"):
            self._events.close()
        if hasattr(self, "_client"):
            self._client.close()

    def poll(self) -> Sequence[SourceRecord] | None:
        from pymongo.errors import PyMongoError

        try:
            records = self._copied() if self._existing is not None else self._changed()
        except PyMongoError as error:
            if not passes(error):
                raise refusal("MongoDB refuses a request", error) from error
            self._stopped.wait(_PAUSE_S)
            raise RetriableException(f"MongoDB cannot be reached now: {str(error)[:500]}") from error
        return records or self._heartbeat()

    def _copied(self) -> list[SourceRecord]:
        assert self._existing is not None
        if self._events.token is None:
            self._events.open()  # what changes during the copy comes after it
            self._events.close()
        token = self._events.token
        if token is None:
            raise ConnectException("The server's change stream has no resume token: MongoDB 4.4 or later is needed")
        rows, is_last = self._existing.read(self._settings.known["poll.max.batch.size"])
        records = []
        for namespace, event in rows:
            offset = {_ID: token_text(event[_ID]), _COPY: "true", _TOKEN: token_text(token), _NAMESPACE: namespace}
            records.append((event, offset))
        if is_last:
            self._existing = None
            if records:
                records[-1] = records[-1][0], {_ID: token_text(token)}
        return self._records(records)

    def _changed(self) -> list[SourceRecord]:
        events = self._events.read()
        if events:
            self._sent_token = self._events.token
        return self._records([(event, {_ID: token_text(event[_ID])}) for event in events])

    def _records(self, events: Sequence[tuple[Document, Mapping[str, str]]]) -> list[SourceRecord]:
        made = (self._record(event, offset) for event, offset in events)
        return [record for record in made if record is not None]

    def _record(self, event: Document, offset: Mapping[str, str]) -> SourceRecord | None:
        known = self._settings.known
        namespace = event.get(_NAMESPACE) or {}
        topic = self._settings.topic(namespace.get("db", known["database"]), namespace.get("coll", known["collection"]))
        document: Document | None = event
        if known["publish.full.document.only"]:
            document = event.get("fullDocument")
            is_deletion = known["publish.full.document.only.tombstone.on.delete"] and "fullDocument" not in event
            if document is None and not is_deletion:
                return None
        key_of_document = event.get("documentKey") if known["change.stream.document.key.as.key"] else None
        key_schema, key = self._key(key_of_document or {_ID: event[_ID]})
        schema, value = (None, None) if document is None else self._value(document)
        return SourceRecord(self._partition, offset, topic, None, key_schema, key, schema, value)

    def _heartbeat(self) -> list[SourceRecord] | None:
        """A record with the place of a stream that has had no events, so that it is not lost."""
        interval_ms, token = self._settings.known["heartbeat.interval.ms"], self._events.token
        now = self._clock()
        if self._existing is not None or not interval_ms or (now - self._heartbeat_at) * 1000 < interval_ms:
            return None
        self._heartbeat_at = now
        if token is None or token == self._sent_token:
            return None
        self._sent_token = token
        offset = {_ID: token_text(token), "HEARTBEAT": "true"}
        topic, text = self._settings.known["heartbeat.topic.name"], token_text(token)
        return [SourceRecord(self._partition, offset, topic, None, STRING_SCHEMA, text, OPTIONAL_BYTES_SCHEMA, None)]


def _parsed(offset: Mapping[str, Any], name: str) -> Any:
    from bson import json_util

    try:
        found = json_util.loads(offset[name])
    except (KeyError, TypeError, ValueError) as error:
        raise ConnectException(f"The offset has no resume token as JSON in {name}: {dict(offset)}") from error
    if not isinstance(found, dict):
        raise ConnectException(f"The offset has no resume token as JSON in {name}: {dict(offset)}")
    return found


def _partition_name(settings: SourceSettings) -> str:
    """As Java's: the scheme, the hosts, and what is watched."""
    known = settings.known
    parts = urlsplit(known["connection.uri"].value)
    hosts = parts.netloc.rpartition("@")[2]
    watched = ".".join(filter(None, (known["database"], known["collection"])))
    return f"{parts.scheme}://{hosts}/{watched}"
