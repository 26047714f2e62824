"""Commits to the ledger and updates the metastore. Every process that changes tables has a `Warehouse`."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from kafkapy.common.time import SystemTime, Time
from kafkapy.schemas.errors import SchemaRegistryError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import describe
from kafkapy.schemas.types import AVRO, JSON
from kafkapy.warehouse.config import TableConfig, WarehouseConfig
from kafkapy.warehouse.decoding import DELETION, value_decoder
from kafkapy.warehouse.event_fields import EventFields
from kafkapy.warehouse.file_system import FileExists, FileSystem, file_system
from kafkapy.warehouse.ingest import QUARANTINED, IngestSettings, TopicSettings
from kafkapy.warehouse.ledger import Ledger
from kafkapy.warehouse.metastore import Metastore
from kafkapy.warehouse.plan import BatchPlan
from kafkapy.warehouse.routing import (
    QUARANTINE_TABLE,
    SchemaFacts,
    for_deletions,
    model_of,
    quarantine,
    record_name,
    route,
)
from kafkapy.warehouse.snapshot import (
    Batch,
    BatchPart,
    Rollup,
    State,
    TableDefinition,
    effects_of_batch,
    effects_of_restart,
    effects_of_rollup,
    effects_of_sweep,
)
from kafkapy.warehouse.view_names import named

_log = logging.getLogger("kafkapy.warehouse")


class Warehouse:
    """Thread-safe: commits are serialized by a lock. Raises errors of Spark and the registry, and OSError."""

    def __init__(self, spark: Any, config: WarehouseConfig, time: Time | None = None) -> None:
        self.spark = spark
        self.config = config
        self.time: Time = time or SystemTime()
        self.files: FileSystem = file_system(config.root, spark)
        self.ledger = Ledger(self.files)
        self.metastore = Metastore(spark, config.database, self.files)
        self.state = State()
        self.lock = threading.RLock()
        self._applied: dict[int, int] = {}
        """By rollup number: when the views began to show it (ms)."""
        self._topics = {table.topic: _settings(table) for table in config.tables}
        self._registry = SchemaRegistryClient.from_conf(config.registry) if config.registry else None
        self._refused: dict[tuple[str, int], str] = {}
        """By topic and schema: the reason why no table can hold its values."""

    def start(self) -> None:
        """Load the ledger, and perform the effects that the last process may have omitted."""
        with self.lock:
            self.state = self.ledger.load()
            lost = [name for name, table in self.state.tables.items() if not self.metastore.knows(table)]
            self.metastore.perform(effects_of_restart(self.state, lost))
            self._applied = {self.state.rollups - 1: self.time.milliseconds()}
            self._settle()

    def reload(self) -> None:
        """Load other processes' commits and update the views. That is needed because the other process may have died
        before it updated them, and because of two concurrent updates the older one may be applied last."""
        with self.lock:
            before, self.state = self.state, self.ledger.load()
            self.metastore.learn(self.state.tables.values())
            if (self.state.rollups, self.state.end) != (before.rollups, before.end):
                self.metastore.perform(effects_of_restart(self.state))
            if self.state.rollups != before.rollups:
                self._applied[self.state.rollups - 1] = self.time.milliseconds()

    def _settle(self) -> None:
        """Reload until the views show every commit."""
        while self.ledger.has_more_than(self.state):
            self.reload()

    # -- batches

    def settings(
        self,
        directory: str,
        now_ms: int,
        logs: Mapping[str, str] | None = None,
        batches: Mapping[str, Any] | None = None,
    ) -> IngestSettings:
        """Return the settings of tasks that write into `directory`. `logs`, `batches`: see `IngestSettings`."""
        config = self.config
        place = directory
        if self.files.is_local:
            self.files.make_directory(directory)
            place = self.files.url(directory).removeprefix("file://")
        return IngestSettings(
            self._topics,
            json.dumps(dict(config.registry)),
            self.source_options(),
            place if self.files.is_local else "",
            directory,
            now_ms,
            int(config.max_future_minutes * 60_000),
            dict(batches or {}),
            dict(logs or {}),
            refused=dict(self._refused),
        )

    def reading(self, topic: str) -> tuple[str, TopicSettings]:
        """Return the registry's configuration as JSON, and the decoding options of a topic's values."""
        return json.dumps(dict(self.config.registry)), self._topics[topic]

    def source_options(self) -> dict[str, str]:
        kafka = {f"kafka.{name}": value for name, value in self.config.kafka.items()}
        return {**kafka, "subscribe": ",".join(table.topic for table in self.config.tables)}

    def attempt(self, number: int) -> str:
        """Return a unique directory for an attempt at a batch."""
        return f"current/{number:012}-{uuid4().hex[:8]}"

    def refuse(self, rows: Sequence[Any]) -> bool:
        """Return whether the tasks' rows have a schema that no table can hold. The tasks must then run again: with the
        new settings they write such values to the quarantine.

        Raises errors of the registry and the metastore.
        """
        tables = dict(self.state.tables)
        before = len(self._refused)
        for topic, schema in _schemas(rows):
            try:
                changed = self._routed(tables, topic, schema)
            except Exception as error:
                if getattr(error, "retriable", False) or isinstance(error, SchemaRegistryError):
                    raise
                objections: list[str | None] = [describe(error)]
            else:
                fresh = [new for new in changed.values() if self._is_fresh(new)]
                objections = [self.metastore.objection(table) for table in fresh]
            objection = next(filter(None, objections), None)
            if objection is None:
                tables |= changed
            else:
                _log.error("No table can hold schema %d of topic %s: %s", schema, topic, objection)
                self._refused[topic, schema] = f"no table can hold schema {schema}: {objection}"
        return len(self._refused) > before

    def _is_fresh(self, table: TableDefinition) -> bool:
        """Return whether the metastore has no table of this definition yet."""
        known = self.state.tables.get(table.name)
        return known is None or known.version != table.version

    def commit_batch(
        self, number: int, directory: str, rows: Sequence[Any], at_ms: int, plan: BatchPlan
    ) -> Batch | None:
        """Commit a batch; return None if another process has committed that number. `rows`: returned by the tasks of
        `plan`."""
        self._settle()
        batch = self.batch_of(number, directory, rows, at_ms, plan)
        with self.lock:
            try:
                self.ledger.add_batch(batch)
            except FileExists:
                _log.warning("Batch %d has been committed by another process", number)
                self.reload()
                return None
            self.state = self.state.with_batch(batch)
            self.metastore.perform(effects_of_batch(self.state, batch))
            self._settle()
        return batch

    def batch_of(self, number: int, directory: str, rows: Sequence[Any], at_ms: int, plan: BatchPlan) -> Batch:
        """Build the ledger's record from the rows of the tasks: files and their tables."""
        parts: dict[tuple[str, str, str], dict[str, int]] = {}
        tables = {**self.state.tables, **self.tables_for(rows)}
        names = {(table.topic, schema): name for name, table in tables.items() for schema in table.schemas}
        for row in rows:
            if row.name:
                key = names[row.topic, str(row.schema)], str(row.schema), part_path(directory, row)
                hours = parts.setdefault(key, {})
                for hour, count in json.loads(row.hours).items():
                    hours[hour] = hours.get(hour, 0) + count
        changed = tuple(table for name, table in tables.items() if self.state.tables.get(name) != table)
        found = tuple(BatchPart(*key, hours) for key, hours in sorted(parts.items()))
        unread = plan.unread(self.state.offsets)
        return Batch(number, plan.offsets, found, changed, at_ms, plan.logs, plan.losses, unread)

    def tables_for(self, rows: Sequence[Any]) -> dict[str, TableDefinition]:
        """Return the tables that are created or changed by the tasks' rows."""
        tables = dict(self.state.tables)
        for topic, schema in _schemas(rows):
            tables |= self._routed(tables, topic, schema)
        return {name: table for name, table in tables.items() if self.state.tables.get(name) != table}

    def _routed(self, tables: Mapping[str, TableDefinition], topic: str, schema: int) -> dict[str, TableDefinition]:
        """Return the tables that are created or changed to hold values of a schema."""
        if any(table.topic == topic and str(schema) in table.schemas for table in tables.values()):
            return {}
        if schema == QUARANTINED:
            return {QUARANTINE_TABLE: quarantine()}
        config = self.config.table(topic)
        if schema == DELETION:
            table, by_schema = for_deletions(tables, config, str(schema)), False
        else:
            facts = self._facts(topic, schema)
            table, by_schema = route(tables, config, str(schema), facts), facts.model is None
        whole = {**tables, table.name: table}
        found = {each.name: each for each in named(whole, config, self.config.tables, by_schema)}
        return {name: each for name, each in found.items() if tables.get(name) != each}

    def _facts(self, topic: str, schema: int) -> SchemaFacts:
        registry, settings = self.reading(topic)
        decoder = value_decoder(registry, settings.schema, settings.schema_type)
        values = decoder.of(schema)
        assert not isinstance(values, str), values
        if settings.schema:
            return SchemaFacts(values.columns, record_name(settings.schema, settings.schema_type), None)
        assert self._registry is not None
        text = self._registry.get_schema(schema)
        model = model_of(self._subjects(schema))
        record = values.message_name or record_name(text.schema_str, text.schema_type)
        return SchemaFacts(values.columns, record, model)

    def _subjects(self, schema: int) -> list[str]:
        assert self._registry is not None
        try:
            return self._registry.get_subjects_by_schema_id(schema)
        except SchemaRegistryError as error:
            if error.http_status_code != 404:
                raise
            return []  # the subjects were deleted

    # -- rollups

    def commit_rollup(self, make: Callable[[State], Rollup]) -> Rollup:
        """Commit a rollup. `make`: builds the record from the state under the lock. Raises FileExists if another
        process has committed that number."""
        with self.lock:
            self.reload()
            rollup = make(self.state)
            self.ledger.add_rollup(rollup)
            self.state = self.state.with_rollup(rollup)
            self.metastore.perform(effects_of_rollup(self.state, rollup))
            self._settle()
            self._applied[rollup.number] = self.time.milliseconds()
        return rollup

    def sweep(self) -> int:
        """Delete directories that no view has shown for the grace period; return their number."""
        grace = int(self.config.grace_minutes * 60_000)
        now = self.time.milliseconds()
        with self.lock:
            self.reload()
            old = [number for number, at in self._applied.items() if at + grace <= now]
            batches, superseded = self.state.garbage(max(old, default=-1) + 1)
            if not batches and not superseded:
                return 0
            self.metastore.perform(effects_of_sweep(batches, superseded))
            self.state = self.state.without((batch.number for batch in batches), superseded)
            self.ledger.fold(self.state, batches)
        self._delete_orphans()
        return len(batches) + len(superseded)

    def _delete_orphans(self) -> None:
        """Delete the directories of failed attempts: a committed batch has one directory."""
        known = {part.path.split("/")[1] for batch in self.state.batches.values() for part in batch.parts}
        for name in self.files.names("current"):
            number = name.partition("-")[0]
            if number.isdigit() and int(number) < self.state.end and name not in known:
                self.files.delete(f"current/{name}")


def _schemas(rows: Sequence[Any]) -> list[tuple[str, int]]:
    """Return the rows' schemas by topic, sorted, so that the order of tasks has no influence."""
    return sorted({(row.topic, row.schema) for row in rows if row.name})


def part_path(directory: str, row: Any) -> str:
    """Return the path of a file that a task reported."""
    return f"{directory}/s={row.schema}" if row.schema == QUARANTINED else f"{directory}/{row.topic}/s={row.schema}"


def _settings(table: TableConfig) -> TopicSettings:
    text = Path(table.schema).read_text() if table.schema else ""
    kind = JSON if table.format == "json" else AVRO
    fields = EventFields(table.id_field, table.time_field)
    return TopicSettings(table.kind, table.id_header, text, kind if text else "", fields)
