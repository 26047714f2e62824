"""Operations of a bulk write (`writemodel.strategy`), made of records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.mongodb.bson_values import SinkDocument
from kafkapy.connect.connectors.mongodb.document_ids import BY_KEY, PARTIAL, id_maker
from kafkapy.connect.connectors.mongodb.projections import projection
from kafkapy.connect.connectors.mongodb.sink_config import class_word, topic_config
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import SinkRecord

_ID: Final = "_id"
_MOST_BYTES: Final = 16 << 20
_WRITES: Final = (
    "DefaultWriteModelStrategy",
    "ReplaceOneDefaultStrategy",
    "ReplaceOneBusinessKeyStrategy",
    "InsertOneDefaultStrategy",
    "UpdateOneDefaultStrategy",
    "UpdateOneTimestampsStrategy",
    "UpdateOneBusinessKeyTimestampStrategy",
    "DeleteOneDefaultStrategy",
    "DeleteOneBusinessKeyStrategy",
)
_DELETIONS: Final = ("DeleteOneDefaultStrategy", "DeleteOneTombstoneBusinessKeyStrategy")
_PROCESSORS: Final = (
    "DocumentIdAdder",
    "AllowListKeyProjector",
    "AllowListValueProjector",
    "BlockListKeyProjector",
    "BlockListValueProjector",
    "KafkaMetaAdder",
)


class WriteModel(NamedTuple):
    """An operation.

    Attributes:
        record: What it is made of.
        operation: Of pymongo.
        repeats_are_refused: Whether the server refuses it if it has executed it before.
    """

    record: SinkRecord
    operation: Any
    repeats_are_refused: bool


class WriteModels:
    """Makes the operations of a topic's records.

    Attributes:
        database: Of the collection.
        collection: Gets the documents.
        batch_size: The most operations of a request; 0: no limit.
        is_ordered: Whether they are executed in order.
        tolerance: Of errors: none, data, all.

    Args:
        config: The connector's.
        topic: Its name.
        now: Returns the time. Default: the time of day.

    Raises:
        ConfigException: A strategy is unknown, or does not fit another one.
    """

    def __init__(
        self,
        config: Mapping[str, str],
        topic: str,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._config = known = topic_config(config, topic)
        self.database: str = known["database"]
        self.collection: str = known["collection"] or topic
        self.batch_size: int = known["max.batch.size"]
        self.is_ordered: bool = known["bulk.write.ordered"]
        self.tolerance: str = (known["mongo.errors.tolerance"] or known["errors.tolerance"]).lower()
        self._now = now
        self._id = id_maker(known)
        self._id_strategy = class_word(known["document.id.strategy"])
        self._write = _word(known, "writemodel.strategy", _WRITES)
        self._deletion = _word(known, "delete.writemodel.strategy", _DELETIONS)
        self._chain = [_process for _process in map(self._processor, _chain(known)) if _process is not None]
        self._check_deletions()

    def model(self, record: SinkRecord) -> WriteModel | None:
        """Return the operation of a record; None: there is none.

        Args:
            record: Of the topic.

        Raises:
            DataException: It cannot be a document.
        """
        document = SinkDocument(record)
        if document.value is None:
            if record.key is None or not self._config["delete.on.null.values"]:
                return None
            return WriteModel(record, self._tombstone(document), False)
        for process in self._chain:
            process(document)
        is_insert = self._write == "InsertOneDefaultStrategy"
        is_place = self._id_strategy == "KafkaMetaDataStrategy"
        return WriteModel(record, self._operation(document), is_insert and is_place)

    def _check_deletions(self) -> None:
        if not self._config["delete.on.null.values"]:
            return
        needed = BY_KEY if self._deletion == "DeleteOneDefaultStrategy" else frozenset({"PartialKeyStrategy"})
        if self._id_strategy not in needed:
            wanted = f"{self._deletion} needs document.id.strategy {' or '.join(sorted(needed))}."
            raise ConfigException.invalid("delete.on.null.values", True, wanted)

    def _processor(self, word: str) -> Callable[[SinkDocument], None] | None:
        if word == "DocumentIdAdder":
            return self._add_id
        if word == "KafkaMetaAdder":
            return _add_place
        side = "key" if "Key" in word else "value"
        fields = self._config[f"{side}.projection.list"]
        part = projection(word[:9], fields, f"{side}.projection.list")
        assert part is not None

        def project(document: SinkDocument) -> None:
            whole = document.key if side == "key" else document.value
            if whole is not None:
                setattr(document, side, part(whole))

        return project

    def _add_id(self, document: SinkDocument) -> None:
        assert document.value is not None
        if _ID not in document.value or self._config["document.id.strategy.overwrite.existing"]:
            document.value = {**document.value, _ID: self._id(document)}

    def _tombstone(self, document: SinkDocument) -> Any:
        from pymongo import DeleteOne

        found = self._id(document)
        return DeleteOne(_flat(found) if self._deletion == "DeleteOneTombstoneBusinessKeyStrategy" else {_ID: found})

    def _operation(self, document: SinkDocument) -> Any:
        from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateOne

        value = document.value
        assert value is not None
        if self._write == "InsertOneDefaultStrategy":
            return InsertOne(_encoded(value))
        if self._write == "DeleteOneDefaultStrategy":
            if document.key is None:
                raise DataException("The record has no key, which says what to delete")
            return DeleteOne(document.key if _ID in document.key else {_ID: document.key})
        rest = {name: each for name, each in value.items() if name != _ID}
        if "BusinessKey" in self._write:
            found = value.get(_ID)
            if not isinstance(found, dict) or not found:
                wanted = "set document.id.strategy.overwrite.existing=true and a strategy that makes it of fields"
                raise DataException(
                    f"The id of the document is no document with the fields of a business key: {wanted}"
                )
            business = _flat(found) if self._id_strategy in PARTIAL else found
            if self._write == "DeleteOneBusinessKeyStrategy":
                return DeleteOne(business)
            if self._write == "ReplaceOneBusinessKeyStrategy":
                return ReplaceOne(business, _encoded(rest), upsert=True)
            return UpdateOne(business, self._timed(rest), upsert=True)
        if value.get(_ID) is None:
            raise DataException("The document has no _id")
        if self._write == "UpdateOneDefaultStrategy":
            return UpdateOne({_ID: value[_ID]}, _checked({"$set": rest}), upsert=True)
        if self._write == "UpdateOneTimestampsStrategy":
            return UpdateOne({_ID: value[_ID]}, self._timed(rest), upsert=True)
        return ReplaceOne({_ID: value[_ID]}, _encoded(value), upsert=True)

    def _timed(self, fields: dict[str, Any]) -> dict[str, Any]:
        now = self._now()
        return _checked({"$set": {**fields, "_modifiedTS": now}, "$setOnInsert": {"_insertedTS": now}})


def _word(config: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    word = class_word(config[name])
    if word not in known:
        raise ConfigException.invalid(name, config[name], f"Expected one of: {', '.join(known)}.")
    return word


def _chain(config: Mapping[str, Any]) -> list[str]:
    name = "post.processor.chain"
    words = [
        class_word(each).replace("Whitelist", "AllowList").replace("Blacklist", "BlockList") for each in config[name]
    ]
    for word in words:
        if word not in _PROCESSORS:
            raise ConfigException.invalid(name, word, f"Expected classes out of: {', '.join(_PROCESSORS)}.")
    return words if "DocumentIdAdder" in words else ["DocumentIdAdder", *words]


def _add_place(document: SinkDocument) -> None:
    record, value = document.record, document.value
    assert value is not None
    place = f"{record.topic}-{record.kafka_partition}-{record.kafka_offset}"
    document.value = {**value, "topic-partition-offset": place}
    if record.timestamp is not None and record.timestamp_type is not None:
        from bson.int64 import Int64

        document.value[record.timestamp_type.name] = Int64(record.timestamp)


def _flat(document: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in document.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    _encoded(document)
    return document


def _encoded(document: dict[str, Any]) -> Any:
    """The document as BSON: what cannot be written is an error of its record only."""
    import bson
    from bson.errors import BSONError
    from bson.raw_bson import RawBSONDocument

    try:
        data = bson.encode(document)
    except (BSONError, OverflowError, ValueError, TypeError) as error:
        raise DataException(f"The document cannot be written as BSON: {error}") from error
    if len(data) > _MOST_BYTES:
        raise DataException(f"The document has {len(data)} bytes; MongoDB takes {_MOST_BYTES} at most")
    return RawBSONDocument(data)
