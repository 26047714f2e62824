"""Which table the values of a schema go to; tables begin and grow by it. Pure, but for what the registry says of a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark.sql.types import StructType

from kafkapy.warehouse.columns import QUARANTINE, AnotherModel, merged
from kafkapy.warehouse.config import TableConfig
from kafkapy.warehouse.snapshot import TableDefinition

QUARANTINE_TABLE = "quarantine"


class SchemaFacts(NamedTuple):
    """`record`: the full name of the schema's record, empty if it has none. `model`: as the bus's subject has it
    (`shop.BookingCreated-v2`), None if no subject says it."""

    columns: StructType
    record: str
    model: int | None


def route(
    tables: Mapping[str, TableDefinition], config: TableConfig, schema: str, facts: SchemaFacts
) -> TableDefinition:
    """The definition of the table for values of `schema`, as it is to be from now on.

    A topic's first record and its first model are the table of the topic's name; others are beside it, `name_record`,
    `name_v2`.
    """
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
    name = _name(config.name, facts.record, model, of_topic, tables)
    return TableDefinition(name, config.topic, config.kind, facts.columns.jsonValue(), facts.record, model, (schema,))


def _grown(table: TableDefinition, schema: str, facts: SchemaFacts) -> TableDefinition | None:
    """None if no file could be read as both, whatever the registry says."""
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
    """Deletions have no schema: they go to the newest table of their topic, or begin one without columns."""
    of_topic = [table for table in tables.values() if table.topic == config.topic]
    if of_topic:
        newest = max(of_topic, key=lambda table: table.model)
        return newest if schema in newest.schemas else newest._replace(schemas=(*newest.schemas, schema))
    return TableDefinition(config.name, config.topic, config.kind, StructType([]).jsonValue(), "", 1, (schema,))


def _name(
    base: str, record: str, model: int, of_topic: list[TableDefinition], tables: Mapping[str, TableDefinition]
) -> str:
    """The topic's first table has its name; others are beside it. A name that is taken gets a number."""
    first = next((table for table in of_topic if table.name == base), None)
    stem = base if first is None or first.record == record or not record else f"{base}_{_snake(record)}"
    name = stem if (not of_topic or model == 1) and stem not in tables else f"{stem}_v{model}"
    number = model
    while name in tables:
        number += 1
        name = f"{stem}_v{number}"
    return name


def _snake(name: str) -> str:
    own = name.rpartition(".")[2]
    return re.sub(r"\W", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", own)).lower()


def quarantine() -> TableDefinition:
    return TableDefinition(QUARANTINE_TABLE, "", "events", QUARANTINE.jsonValue(), schemas=("-1",))


def record_name(schema: str, kind: str) -> str:
    """Of Avro's JSON, or a JSON Schema's title."""
    parsed: Any = json.loads(schema)
    if not isinstance(parsed, dict):
        return ""
    if kind == "JSON":
        return str(parsed.get("title", ""))
    name, namespace = str(parsed.get("name", "")), parsed.get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else name


def model_of(subjects: list[str]) -> int | None:
    """What the bus's subjects say."""
    found = {int(match[1]) for subject in subjects if (match := re.search(r"-v(\d+)$", subject))}
    return found.pop() if len(found) == 1 else None
