"""The place in the binary log, as it is stored in source offsets (Debezium's names)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafkapy.connect.errors import ConnectException


@dataclass(frozen=True, slots=True)
class BinlogPosition:
    """The last row that was emitted.

    Attributes:
        file: Of the server.
        place: In the file: the end of the last transaction whose rows are all emitted.
        gtids: Global transaction ids up to there, MariaDB's, one for each domain; empty: there are none yet. None: they
            are not known, and later ones don't become known either, since a part of them would be wrong.
        server: UUID of the server, which `file` and `place` belong to; None: the server has no UUID, as MariaDB.
        events: How many of the events with rows that follow in the next transaction are done.
        rows: How many rows of the event after those are done.
        seconds: Time of the last row's event, since 1970.

    Example:
        >>> BinlogPosition.of(BinlogPosition("binlog.000001", 4, "0-1-5").offset()) == BinlogPosition("binlog.000001", 4, "0-1-5")
        True
    """

    file: str
    place: int
    gtids: str | None = None
    server: str | None = None
    events: int = 0
    rows: int = 0
    seconds: int = 0

    def offset(self) -> dict[str, Any]:
        """Return the source offset."""
        offset: dict[str, Any] = {"ts_sec": self.seconds, "file": self.file, "pos": self.place}
        if self.gtids:
            offset["gtids"] = self.gtids
        if self.server is not None:
            offset["server_uuid"] = self.server
        if self.events or self.rows:
            offset |= {"tx_events": self.events, "tx_rows": self.rows}
        return offset

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> BinlogPosition:
        """Read a source offset, also one of Debezium's: a transaction that it has begun is repeated. Raises ConnectException."""
        file, place = offset.get("file"), offset.get("pos")
        if not isinstance(file, str) or not isinstance(place, int):
            raise ConnectException(
                f"The offset {dict(offset)} has no file and pos; delete the connector's offsets to begin anew"
            )
        events, rows = offset.get("tx_events") or 0, offset.get("tx_rows") or 0
        return cls(file, place, offset.get("gtids"), offset.get("server_uuid"), events, rows, offset.get("ts_sec") or 0)


def with_gtid(gtids: str | None, gtid: str) -> str:
    """Return global transaction ids of MariaDB with a newer one: one for each domain.

    Example:
        >>> with_gtid("0-1-5,3-7-1", "3-7-2")
        '0-1-5,3-7-2'
    """
    found = {each.partition("-")[0]: each for each in (gtids or "").split(",") if each}
    found[gtid.partition("-")[0]] = gtid
    return ",".join(found[domain] for domain in sorted(found, key=int))
