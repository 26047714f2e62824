"""Builds the SQL of a table's view from the rule in `snapshot.py`. Pure.

Rows of hours are selected as they are. Rows of current are deduplicated: the first of each id (of "changes": the last
of each key) in its hour, unless the hour's partition has the event. Only late hours need that check, and the text
names them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from kafkapy.warehouse.columns import HOUR, IN_BATCH, IN_SCHEMA, ORIGIN
from kafkapy.warehouse.snapshot import FIRST_HOUR, Hour, Snapshot, TableDefinition

BATCH_DIGITS = 12


def batch_name(batch: int) -> str:
    """Return the partition value of a batch in current: a string, which every metastore can compare."""
    return f"{batch:0{BATCH_DIGITS}}"


def view_sql(database: str, table: TableDefinition, columns: Sequence[str], snapshot: Snapshot) -> str:
    """Return the view's SQL. `columns`: those of both places, without `HOUR` and `ORIGIN`."""
    current = f"({_current(database, table, snapshot)})"
    own = ", ".join(map(quoted, columns))
    origin = f"CAST({IN_BATCH} AS BIGINT) AS _batch, CAST({IN_SCHEMA} AS INT) AS _schema, ds, hr"
    last = f"SELECT {own}, {origin} FROM {current} AS c WHERE c._n = 1"
    if snapshot.cutoff == FIRST_HOUR:
        return last
    published = f"h._batch < {snapshot.boundary} AND {before('h', snapshot.cutoff)}"
    both = ", ".join(map(quoted, [*columns, *ORIGIN.names, *HOUR.names]))
    first = f"SELECT {both} FROM {hours_table(database, table)} AS h WHERE {published}"
    if snapshot.late:
        late = in_hours("h", snapshot.late)
        same = "h.ds = c.ds AND h.hr = c.hr AND "
        if table.kind == "changes":
            inner = f"SELECT 1 FROM {current} AS c WHERE c._n = 1 AND {same}h._key = c._key"
            first += f" AND NOT ({late} AND EXISTS ({inner}))"
        else:
            hours = hours_table(database, table)
            inner = f"SELECT 1 FROM {hours} AS h WHERE {published} AND {late} AND {same}h._event_id = c._event_id"
            last += f" AND NOT EXISTS ({inner})"
    return f"{first} UNION ALL {last}"


def _current(database: str, table: TableDefinition, snapshot: Snapshot) -> str:
    identity, order = ("_key", " DESC") if table.kind == "changes" else ("_event_id", "")
    ordered = ", ".join(f"{name}{order}" for name in (IN_BATCH, "_partition", "_offset"))
    return (
        f"SELECT *, ROW_NUMBER() OVER (PARTITION BY ds, hr, {identity} ORDER BY {ordered}) AS _n "
        f"FROM {current_table(database, table)} WHERE {in_current(snapshot)}"
    )


def in_current(snapshot: Snapshot, hour: Hour | None = None) -> str:
    """Return the condition for valid rows of current; `hour`: only of that one."""
    found = f"{IN_BATCH} >= '{batch_name(snapshot.oldest)}' AND {IN_BATCH} < '{batch_name(snapshot.end)}'"
    if snapshot.cutoff != FIRST_HOUR:
        found += f" AND NOT ({IN_BATCH} < '{batch_name(snapshot.boundary)}' AND {before('', snapshot.cutoff)})"
    if hour is not None:
        found += f" AND ds = '{hour[:10]}' AND hr = '{hour[11:]}'"
    return found


def before(alias: str, cutoff: Hour) -> str:
    ds, hr = (f"{alias}.{name}" if alias else name for name in HOUR.names)
    return f"({ds} < '{cutoff[:10]}' OR ({ds} = '{cutoff[:10]}' AND {hr} < '{cutoff[11:]}'))"


def in_hours(alias: str, hours: Sequence[Hour]) -> str:
    """Return a condition for the hours, grouped by day to keep the text short."""
    ds, hr = (f"{alias}.{name}" if alias else name for name in HOUR.names)
    days: dict[str, list[str]] = {}
    for hour in hours:
        days.setdefault(hour[:10], []).append(f"'{hour[11:]}'")
    found = [f"({ds} = '{day}' AND {hr} IN ({', '.join(each)}))" for day, each in days.items()]
    return f"({' OR '.join(found)})"


def current_name(table: TableDefinition) -> str:
    return f"{table.name}__current_{table.version}"


def hours_name(table: TableDefinition) -> str:
    return f"{table.name}__hours_{table.version}"


def current_table(database: str, table: TableDefinition) -> str:
    return f"{quoted(database)}.{quoted(current_name(table))}"


def hours_table(database: str, table: TableDefinition) -> str:
    return f"{quoted(database)}.{quoted(hours_name(table))}"


def view_name(database: str, table: str) -> str:
    return f"{quoted(database)}.{quoted(table)}"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def type_sql(type: DataType) -> str:
    """Return a column's type in SQL, with nested names quoted."""
    if isinstance(type, StructType):
        return f"STRUCT<{', '.join(f'{quoted(each.name)}: {type_sql(each.dataType)}' for each in type)}>"
    if isinstance(type, ArrayType):
        return f"ARRAY<{type_sql(type.elementType)}>"
    if isinstance(type, MapType):
        return f"MAP<{type_sql(type.keyType)}, {type_sql(type.valueType)}>"
    return type.simpleString()


def literal(text: str) -> str:
    """Return a string literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
