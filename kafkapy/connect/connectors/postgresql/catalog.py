"""What the connector asks the catalog, and what it creates there: publication and slot."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.postgresql.column_types import PgType
from kafkapy.connect.connectors.postgresql.database import SqlSession
from kafkapy.connect.connectors.postgresql.lsn import parse_lsn
from kafkapy.connect.connectors.postgresql.pgoutput import PgRelation, PgRelationColumn
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.postgresql.table_schemas import TableFacts
from kafkapy.connect.errors import ConnectException

log: Final = logging.getLogger("kafkapy.connect.connectors.postgresql")

_TYPES: Final = """
SELECT t.oid, t.typname, t.typtype, CASE WHEN t.typlen = -1 AND t.typcategory = 'A' THEN t.typelem ELSE 0 END,
       t.typbasetype, t.typtypmod, t.typdelim,
       coalesce((SELECT string_agg(enumlabel, chr(1) ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid), '')
FROM pg_type t WHERE t.oid = %(oid)s"""
_FACTS: Final = """
SELECT a.attname, a.attnotnull, CASE WHEN array_position(i.indkey::int2[], a.attnum) < i.indnkeyatts
       THEN array_position(i.indkey::int2[], a.attnum) ELSE -1 END
FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = %(oid)s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 3, a.attnum"""
_COLUMNS: Final = """
SELECT a.attname, a.atttypid, a.atttypmod,
       CASE c.relreplident WHEN 'f' THEN true WHEN 'n' THEN false
       ELSE coalesce(a.attnum = ANY (i.indkey), false) END
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
LEFT JOIN pg_index i ON i.indrelid = c.oid
  AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END
WHERE c.oid = %(oid)s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum"""
_PUBLISHED: Final = """
SELECT c.oid, n.nspname, c.relname, c.relreplident
FROM pg_publication_tables p JOIN pg_namespace n ON n.nspname = p.schemaname
JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename
WHERE p.pubname = %(name)s"""
_ALL: Final = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1, 2"""
_SLOT: Final = """
SELECT plugin, database, coalesce(confirmed_flush_lsn, restart_lsn) FROM pg_replication_slots WHERE slot_name = %(name)s"""


@dataclass(frozen=True)
class SlotState:
    """A slot that is there: up to where its changes are confirmed."""

    lsn: int


def quoted(name: str) -> str:
    """Return an identifier in quotes.

    Example:
        >>> quoted('a"b')
        '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


class PgCatalog:
    """Reads the catalog through a session.

    Invariant: `_types` has the types that were asked for; an enum's labels may grow, so `forget_types` is called when a
    relation is announced.

    Args:
        session: For SQL.
        settings: Names of publication and slot.
    """

    def __init__(self, session: SqlSession, settings: CaptureSettings) -> None:
        self._session, self._settings = session, settings
        self._types: dict[int, PgType] = {}

    def forget_types(self) -> None:
        """Ask for types anew."""
        self._types.clear()

    def type(self, oid: int) -> PgType:
        """Return a type; one that is dropped is unknown."""
        found = self._types.get(oid)
        if found is None:
            found = self._types[oid] = self._read_type(oid)
        return found

    def _read_type(self, oid: int) -> PgType:
        rows = self._session.rows(_TYPES, {"oid": oid})
        if not rows:
            return PgType(oid, "unknown", "u")
        _, name, kind, element, base, modifier, delimiter, labels = rows[0]
        return PgType(
            oid,
            name,
            kind,
            self.type(int(element)) if int(element) else None,
            self.type(int(base)) if int(base) else None,
            int(modifier),
            tuple(labels.split("\1")) if labels else (),
            # That of the elements is what counts; arrays have the same.
            delimiter,
        )

    def facts(self, relation: PgRelation) -> TableFacts:
        """Return what the catalog has of a table beside its relation; nothing if the table is dropped."""
        rows = self._session.rows(_FACTS, {"oid": relation.oid})
        key = [name for name, _, place in rows if int(place) >= 0]
        required = frozenset(name for name, is_required, _ in rows if is_required == "t")
        return TableFacts(tuple(key), required, {c.type_oid: self.type(c.type_oid) for c in relation.columns})

    def published(self) -> list[PgRelation]:
        """Return the captured tables of the publication, in the order of their names."""
        found = []
        for oid, schema, name, identity in self._session.rows(_PUBLISHED, {"name": self._publication}):
            if self._settings.includes_table(TableId(schema, name)):
                columns = [
                    PgRelationColumn(column, int(type), int(modifier), is_key == "t")
                    for column, type, modifier, is_key in self._session.rows(_COLUMNS, {"oid": oid})
                ]
                found.append(PgRelation(int(oid), schema, name, identity, tuple(columns)))
        return sorted(found, key=lambda relation: (relation.schema, relation.name))

    @property
    def _publication(self) -> str:
        return str(self._settings["publication.name"])

    def ensure_publication(self) -> None:
        """Create the publication, or set its tables, as the config says.

        Raises:
            ConnectException: It is missing and must not be created, or the role may not do so.
        """
        mode, name = self._settings.word("publication.autocreate.mode"), self._publication
        exists = self._session.rows("SELECT puballtables FROM pg_publication WHERE pubname = %(name)s", {"name": name})
        if exists and (mode != "filtered" or exists[0][0] == "t"):
            return
        if mode == "disabled":
            raise ConnectException(
                f"There is no publication {name}, and publication.autocreate.mode is disabled; create it"
            )
        if mode == "filtered":
            tables = ", ".join(f"{quoted(table.schema)}.{quoted(table.name)}" for table in self._matching())
            if not tables:
                raise ConnectException("No table matches the include and exclude lists; the publication would be empty")
            verb = (
                f"ALTER PUBLICATION {quoted(name)} SET TABLE"
                if exists
                else f"CREATE PUBLICATION {quoted(name)} FOR TABLE"
            )
            self._session.execute(f"{verb} {tables}")
        else:
            extent = " FOR ALL TABLES" if mode == "all_tables" else ""
            self._session.execute(f"CREATE PUBLICATION {quoted(name)}{extent}")
        log.info("Set the publication %s (%s)", name, mode)

    def _matching(self) -> Iterable[TableId]:
        return filter(self._settings.includes_table, (TableId(*row) for row in self._session.rows(_ALL)))

    def slot(self) -> SlotState | None:
        """Return the slot; None if it is missing.

        Raises:
            ConnectException: A slot of this name is of another plug-in or database.
        """
        name = self._settings["slot.name"]
        rows = self._session.rows(_SLOT, {"name": name})
        if not rows:
            return None
        plugin, database, lsn = rows[0]
        if plugin != "pgoutput" or database != self._settings["database.dbname"]:
            raise ConnectException(
                f"The slot {name} is of {plugin or 'physical replication'} and database {database}; set another slot.name"
            )
        return SlotState(parse_lsn(lsn))

    def current_lsn(self) -> int:
        """Return the server's place in its log."""
        return parse_lsn(self._session.rows("SELECT pg_current_wal_lsn()")[0][0])

    def check_server(self) -> int:
        """Return the server's version, such as 150004. Raises ConnectException unless it decodes its log."""
        rows = self._session.rows("SELECT current_setting('wal_level'), current_setting('server_version_num')")
        level, version = rows[0]
        if level != "logical":
            raise ConnectException(f"The server has wal_level={level}; set wal_level=logical and restart it")
        return int(version)
