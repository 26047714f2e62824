"""Maps schemas to tables; a new schema creates a table or adds columns to one. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

from pyspark.sql.types import StructType

from kafkapy.warehouse.columns import QUARANTINE, AnotherModel, merged
from kafkapy.warehouse.config import TableConfig
from kafkapy.warehouse.snapshot import TableDefinition

QUARANTINE_TABLE = "quarantine"
_LONGEST_WORDS = 60


class SchemaFacts(NamedTuple):
    """Facts about a schema. `record`: the full name of its record, empty if it has none. `model`: the MODEL in its bus
    subject (`shop.BookingCreated-v2`), None if it has no such subject."""

    columns: StructType
    record: str
    model: int | None


def route(
    tables: Mapping[str, TableDefinition], config: TableConfig, schema: str, facts: SchemaFacts
) -> TableDefinition:
    """Return the new definition of the table for values of `schema`."""
    of_topic = [table for table in tables.values() if table.topic == config.topic]
    for table in of_topic:
        if schema in table.schemas:
            return table
    same = [table for table in of_topic if table.record in ("", facts.record)]
    for table in sorted(same, key=lambda table: table.model, reverse=True):
        if facts.model is not None and table.record and table.model != facts.model:
            continue
        grown = _grown(table, schema, facts)
        if grown is not None:
            return grown
    taken = [table.model for table in same]
    model = facts.model if facts.model is not None and facts.model not in taken else max(taken, default=0) + 1
    stem = config.name if not of_topic else f"{config.name}_{words_of(facts.record) or 'v'}"
    name = next(name for name in _numbered(stem) if name not in tables)
    return TableDefinition(name, config.topic, config.kind, facts.columns.jsonValue(), facts.record, model, (schema,))


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    for number in count(2):
        yield f"{stem}_{number}"


def _grown(table: TableDefinition, schema: str, facts: SchemaFacts) -> TableDefinition | None:
    """Return the table with the schema's columns added; None if the types are incompatible, whatever the registry
    says."""
    try:
        columns = merged(StructType.fromJson(table.columns), facts.columns)
    except AnotherModel:
        return None
    model = table.model if table.record or facts.model is None else facts.model
    schemas = (*table.schemas, schema)
    found: Any = columns.jsonValue()
    version = table.version if found == table.columns else table.version + 1
    record = facts.record or table.record
    return TableDefinition(table.name, table.topic, table.kind, found, record, model, schemas, version)


def for_deletions(tables: Mapping[str, TableDefinition], config: TableConfig, schema: str) -> TableDefinition:
    """Return the table for deletions, which have no schema: the topic's newest table, or a new one without columns."""
    of_topic = [table for table in tables.values() if table.topic == config.topic]
    if of_topic:
        newest = max(of_topic, key=lambda table: table.model)
        return newest if schema in newest.schemas else newest._replace(schemas=(*newest.schemas, schema))
    return TableDefinition(config.name, config.topic, config.kind, StructType([]).jsonValue(), "", 1, (schema,))


def words_of(record: str) -> str:
    """Convert a record's name to a part of a table's name: `shop.BookingCancelled` gives booking_cancelled."""
    own = record.rpartition(".")[2]
    found = "_".join(re.findall(r"[A-Za-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", own))).lower()
    return found if len(found) <= _LONGEST_WORDS else f"{found[:_LONGEST_WORDS]}_{digest_of(record)}"


def digest_of(name: str) -> str:
    """Return eight hexadecimal digits of a name's hash, to make table names unique."""
    return hashlib.blake2b(name.encode(), digest_size=4).hexdigest()


def quarantine() -> TableDefinition:
    return TableDefinition(QUARANTINE_TABLE, "", "events", QUARANTINE.jsonValue(), schemas=("-1",))


def record_name(schema: str, kind: str) -> str:
    """Return the full name in Avro's JSON, or a JSON Schema's title."""
    parsed: Any = json.loads(schema)
    if not isinstance(parsed, dict):
        return ""
    if kind == "JSON":
        return str(parsed.get("title", ""))
    name, namespace = str(parsed.get("name", "")), parsed.get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else name


def model_of(subjects: list[str]) -> int | None:
    """Return the MODEL in the bus's subjects; None if there is none."""
    found = {int(match[1]) for subject in subjects if (match := re.search(r"-v(\d+)$", subject))}
    return found.pop() if len(found) == 1 else None
