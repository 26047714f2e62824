"""Random transactions on three tables of different replica identities, and the tables as their events tell them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

import psycopg2

HIDDEN: Final = "__debezium_unavailable_value"
TABLES: Final = ("by_default", "by_full", "by_index")
_KEYS: Final = 12


class Workload:
    """Changes the tables. Invariant: the same seed makes the same statements, each of which the server accepts.

    Args:
        dsn: Of the server.
        seed: Of the random choices.
    """

    def __init__(self, dsn: str, seed: int) -> None:
        self._random = Random(seed)
        self._connection = psycopg2.connect(dsn)
        self._added: dict[str, list[str]] = {table: [] for table in TABLES}
        self._columns = 0

    def create(self) -> None:
        with self._connection, self._connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, n int, large text, many text[])")
                cursor.execute(f"ALTER TABLE {table} ALTER large SET STORAGE EXTERNAL, ALTER many SET STORAGE EXTERNAL")
                cursor.execute(
                    f"INSERT INTO {table} SELECT n, n, repeat('a', 3000), '{{x}}' FROM generate_series(1, 5) n"
                )
            cursor.execute("ALTER TABLE by_full REPLICA IDENTITY FULL")
            cursor.execute("ALTER TABLE by_index ADD code text NOT NULL DEFAULT 'c' || nextval('codes')")
            cursor.execute("CREATE UNIQUE INDEX codes_of_it ON by_index (code)")
            cursor.execute("ALTER TABLE by_index REPLICA IDENTITY USING INDEX codes_of_it")

    def prepare(self) -> None:
        """Create what tables need."""
        with self._connection, self._connection.cursor() as cursor:
            cursor.execute("CREATE SEQUENCE codes")
        self.create()

    def run(self, transactions: int) -> None:
        for _ in range(transactions):
            with self._connection, self._connection.cursor() as cursor:
                for _ in range(self._random.randint(1, 5)):
                    statement, values = self._statement()
                    cursor.execute(statement, values)
                if self._random.random() < 0.1:
                    self._connection.rollback()

    def _statement(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        table, id_ = random.choice(TABLES), random.randint(1, _KEYS)
        large = random.choice("abcdef") * random.choice((10, 4000))
        choice = random.random()
        if choice < 0.35:
            many = ["m" * random.choice((5, 1500))] * 2
            return f"INSERT INTO {table} (id, n, large, many) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING", (
                *(id_, random.randint(0, 9)),
                *(large, many),
            )
        if choice < 0.6:
            return f"UPDATE {table} SET n = n + 1 WHERE id = %s", (id_,)
        if choice < 0.7:
            return f"UPDATE {table} SET large = %s WHERE id > %s", (large, id_)
        if choice < 0.78:
            return (
                f"UPDATE {table} SET id = id + 100 WHERE id = %s AND NOT EXISTS (SELECT 1 FROM {table} WHERE id = %s)",
                (*(id_, id_ + 100),),
            )
        if choice < 0.82:
            return "UPDATE by_index SET code = 'd' || nextval('codes') WHERE id = %s", (id_,)
        if choice < 0.96:
            return f"DELETE FROM {table} WHERE id IN (%s, %s)", (id_, id_ + 100)
        if choice < 0.975:
            return f"TRUNCATE {table}", ()
        return self._alter(table), ()

    def _alter(self, table: str) -> str:
        added = self._added[table]
        # A rolled back ALTER leaves the list wrong, so that both forms are conditional.
        if added and self._random.random() < 0.5:
            return f"ALTER TABLE {table} DROP COLUMN IF EXISTS {added.pop(0)}"
        self._columns += 1
        added.append(f"extra_{self._columns}")
        return f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {added[-1]} text"

    def close(self) -> None:
        self._connection.close()


class RebuiltTables:
    """Tables made of events.

    Invariant: `tables` are as they were after the last event, by key; `_removed` has the last row that was deleted of each key,
    since the row of a changed key may lack large values that did not change.
    """

    def __init__(self) -> None:
        self.tables: dict[str, dict[Any, dict[str, Any]]] = {table: {} for table in TABLES}
        self._removed: dict[tuple[str, Any], dict[str, Any]] = {}

    def apply(self, topic: str, key: Any, op: str | None, after: Mapping[str, Any] | None, old_key: Any = None) -> None:
        """Apply an event. `op`: None for a tombstone. `old_key`: that of the header, of a changed key."""
        table = topic.rpartition(".")[2]
        rows = self.tables[table]
        if op == "t":
            rows.clear()
        elif op in ("d", None):
            if key in rows:
                self._removed[table, key] = rows.pop(key)
        elif after is not None:
            known = self._removed.get((table, old_key), {}) if old_key is not None else rows.get(key, {})
            kept = {name: known.get(name) for name, value in after.items() if value in (HIDDEN, [HIDDEN])}
            rows[key] = {**after, **kept}


def differences(dsn: str, rebuilt: RebuiltTables) -> list[str]:
    """What differs between the tables of the server and those that are rebuilt."""
    found = []
    connection = psycopg2.connect(dsn)
    try:
        with connection, connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"SELECT * FROM {table} ORDER BY id")
                names = [column.name for column in cursor.description or ()]
                expected = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
                rows = sorted(rebuilt.tables[table].values(), key=lambda row: row["id"])
                got = [{name: row.get(name) for name in names} for row in rows]
                if got != expected:
                    wrong = [(a, b) for a, b in zip(expected, got, strict=False) if a != b]
                    found.append(f"{table}: {len(expected)} rows, {len(got)} rebuilt; {str(wrong[:1])[:300]}")
    finally:
        connection.close()
    return found
