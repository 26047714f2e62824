"""Names the views of a topic's tables, independent of the order in which records arrive. Pure.

One record of the topic has the topic's name. It is, in this order,

1. the record that the configuration names (`record`);
2. the only record;
3. the record named like the topic (`Payment` in `payments`);
4. the record whose schema was registered first (it has the smallest id).

Other records have the topic's name as prefix: `payments_refund`. A record's first model has that name, others have
their number as suffix: `payments_v2`. So a later record may take over a name; rows are not moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from kafkapy.warehouse.config import TableConfig
from kafkapy.warehouse.routing import QUARANTINE_TABLE, digest_of, words_of
from kafkapy.warehouse.snapshot import TableDefinition


def named(
    tables: Mapping[str, TableDefinition], config: TableConfig, topics: Iterable[TableConfig], by_schema: bool
) -> list[TableDefinition]:
    """Return the topic's tables with the names of their views.

    Args:
        tables: All tables; those of other topics keep their names.
        config: The topic's configuration.
        topics: The configurations of all topics, whose names are reserved.
        by_schema: Number models in the order of their schemas' registration; else by the numbers in their subjects.
    """
    own = [table for table in tables.values() if table.topic == config.topic]
    reserved = {each.name.lower() for each in topics if each is not config} | {QUARANTINE_TABLE}
    reserved |= {table.view.lower() for table in tables.values() if table.topic != config.topic}
    stems = _stems({table.record for table in own}, _chief(own, config), config.name, reserved)
    found = []
    for record, stem in stems.items():
        models = [table for table in own if table.record == record]
        if by_schema:
            models = [table._replace(model=number) for number, table in enumerate(sorted(models, key=_first_schema), 1)]
        for number, table in enumerate(sorted(models, key=lambda table: (table.model, _first_schema(table)))):
            name = stem if number == 0 else f"{stem}_v{table.model}"
            found.append(table.viewed_as(name if name.lower() not in reserved else f"{name}_{digest_of(name)}"))
    return found


def _chief(own: Collection[TableDefinition], config: TableConfig) -> str:
    """Return the record that gets the topic's name."""
    records = {table.record for table in own}
    if config.record or len(records) == 1:
        return config.record or records.pop()
    alike = sorted(record for record in records if _is_called_like(words_of(record), config.name.lower()))
    return alike[0] if alike else min(own, key=_first_schema).record


def _is_called_like(words: str, topic: str) -> bool:
    plurals = {words, f"{words}s", f"{words}es", f"{words.removesuffix('y')}ies"}
    return bool(words) and any(topic == each or topic.endswith(f"_{each}") for each in plurals)


def _first_schema(table: TableDefinition) -> tuple[int, str]:
    """Return the smallest schema id; a table of deletions alone has none and sorts last."""
    ids = [int(schema) for schema in table.schemas if int(schema) >= 0]
    return min(ids, default=2**31), table.record


def _stems(records: Collection[str], chief: str, topic: str, reserved: Collection[str]) -> dict[str, str]:
    """Return the names of the records' first tables."""
    words = {record: words_of(record) for record in records if record != chief}
    counted = Counter(words.values())
    found = {record: topic for record in records if record == chief}
    for record, own in sorted(words.items()):
        stem = f"{topic}_{own}"
        if not own or counted[own] > 1 or stem.lower() in reserved:
            stem = f"{stem.rstrip('_')}_{digest_of(record)}"
        found[record] = stem
    return found
