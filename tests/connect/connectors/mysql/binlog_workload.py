"""Random transactions on three tables, and the tables as their events tell them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from random import Random
from typing import Any, Final

import pymysql

from tests.databases.mariadb import MariadbServer

BINLOG_TABLES: Final = ("plain", "pair", "moved")
_KEYS: Final = 12


class BinlogWorkload:
    """Changes the tables. Invariant: the same seed makes the same statements, each of which the server accepts.

    Args:
        server: The server; it may be killed between two calls.
        seed: Of the random choices.
    """

    def __init__(self, server: MariadbServer, seed: int) -> None:
        self._random, self._server = Random(seed), server
        self._columns = 0

    def create(self) -> None:
        for table in BINLOG_TABLES:
            keys = "id, part" if table == "pair" else "id"
            self._server.sql(
                f"CREATE TABLE {table} (id int, part varchar(5) NOT NULL DEFAULT 'a', n int unsigned, large text,"
                f" kind enum('x','y'), PRIMARY KEY ({keys}))",
                f"INSERT INTO {table} (id, n, large, kind) SELECT seq, seq, repeat('a', 3000), 'x' FROM seq_1_to_5",
            )

    def run(self, transactions: int) -> None:
        with closing(pymysql.connect(**self._server.arguments)) as connection, connection.cursor() as cursor:
            for _ in range(transactions):
                for _ in range(self._random.randint(1, 5)):
                    cursor.execute(*self._statement())
                if self._random.random() < 0.1:
                    connection.rollback()
                connection.commit()

    def _statement(self) -> tuple[str, tuple[Any, ...]]:
        random = self._random
        table, id_ = random.choice(BINLOG_TABLES), random.randint(1, _KEYS)
        large = random.choice("abcdef") * random.choice((10, 4000))
        choice = random.random()
        if choice < 0.35:
            values = (id_, random.choice("ab"), random.randint(0, 9), large, random.choice("xy"))
            return f"INSERT IGNORE INTO {table} (id, part, n, large, kind) VALUES (%s, %s, %s, %s, %s)", values
        if choice < 0.6:
            return f"UPDATE {table} SET n = n + 1 WHERE id = %s", (id_,)
        if choice < 0.7:
            return f"UPDATE {table} SET large = %s WHERE id > %s", (large, id_)
        if choice < 0.78:
            return f"UPDATE IGNORE {table} SET id = id + 100 WHERE id = %s", (id_,)
        if choice < 0.82:
            return "UPDATE IGNORE pair SET part = 'c' WHERE id = %s", (id_,)
        if choice < 0.96:
            return f"DELETE FROM {table} WHERE id IN (%s, %s)", (id_, id_ + 100)
        if choice < 0.975:
            return f"TRUNCATE TABLE {table}", ()
        if choice < 0.99:
            self._columns += 1
            return (
                f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS extra_{self._columns % 3} varchar(10) DEFAULT 'e' FIRST",
                (),
            )
        return f"ALTER TABLE {table} DROP COLUMN IF EXISTS extra_{random.randint(0, 2)}", ()


class BinlogCopies:
    """Tables made of events. Invariant: `tables` are as they were after the last event, by key."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[Any, dict[str, Any]]] = {table: {} for table in BINLOG_TABLES}

    def apply(self, topic: str, key: Any, op: str | None, after: Mapping[str, Any] | None) -> None:
        """Apply an event. `op`: None for a tombstone."""
        rows = self.tables[topic.rpartition(".")[2]]
        if op == "t":
            rows.clear()
        elif op in ("d", None):
            rows.pop(key, None)
        elif after is not None:
            rows[key] = dict(after)

    def differences(self, server: MariadbServer) -> list[str]:
        """What differs between the tables of the server and those that are rebuilt."""
        found = []
        for table in BINLOG_TABLES:
            names = [str(row[0]) for row in server.sql(f"SHOW COLUMNS FROM {table}")]
            shown = server.sql(f"SELECT {', '.join(names)} FROM {table}")
            expected = sorted((dict(zip(names, row, strict=True)) for row in shown), key=_key)
            rows = sorted(self.tables[table].values(), key=_key)
            # An ALTER is no event: a row has the columns of its last change.
            common = [name for name in names if all(name in row for row in rows)]
            got = [{name: row[name] for name in common} for row in rows]
            if got != [{name: row[name] for name in common} for row in expected]:
                found.append(f"{table}: {len(expected)} rows, {len(got)} rebuilt")
        return found


def _key(row: Mapping[str, Any]) -> Any:
    return row["id"], row["part"]
