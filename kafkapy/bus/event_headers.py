"""What travels with an event beside its value: the headers of its record, and what a reader makes of them.

    event-id        36 characters of a UUID: two records with the same id are one event that came twice
    event-type      the full name of the schema: shop.BookingCreated
    event-version   MODEL.REVISION.ADDITION of the schema that the value was written with: 1.2.0
    producer-id     which run of which program has sent it: booking-service-3f9c1d22a7b0
    producer-seq    the how manieth event of that run to that topic it is, from 1 on

All are text in UTF-8. The event's time is the record's timestamp, in milliseconds since 1970. A record without some of them is
an event nevertheless (a program without the bus may have written it): `Envelope.of` says what stands for what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafkapy.bus.schema_version import SchemaVersion
from kafkapy.serializer import Headers

EVENT_ID = "event-id"
EVENT_TYPE = "event-type"
EVENT_VERSION = "event-version"
PRODUCER_ID = "producer-id"
PRODUCER_SEQ = "producer-seq"


class Envelope(NamedTuple):
    """Place and headers of an event.

    Attributes:
        event_id: Id of the event.
        event_type: Name of the event class; empty: the record does not say.
        version: Version of its schema; None: the record does not say.
        time_ms: Time of the event, in ms since the epoch.
        topic: Name of the topic.
        partition: Partition number.
        offset: Offset of the record.
        key: Key of the record, or None.
        producer_id: Run that has sent it. None (default): the record does not say.
        producer_seq: Number of the event in that run. None (default): the record does not say.
        headers: Further headers. Default: none.

    Example:
        >>> Envelope.of("payments", 0, 42, 1_700_000_000_000, None, []).event_id
        'payments-0-42'
    """

    event_id: str
    event_type: str
    version: SchemaVersion | None
    time_ms: int
    topic: str
    partition: int
    offset: int
    key: bytes | None
    producer_id: str | None = None
    producer_seq: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @classmethod
    def of(cls, topic: str, partition: int, offset: int, time_ms: int, key: bytes | None, headers: Headers) -> Envelope:
        """Read the headers. Invalid headers count as missing. Without an id the event's place is its id:
        topic-partition-offset.

        Args:
            topic: Name of the topic.
            partition: Partition number.
            offset: Offset of the record.
            time_ms: Timestamp of the record, in ms since the epoch.
            key: Key of the record.
            headers: Headers of the record.
        """
        texts = _texts(headers)
        version = texts.get(EVENT_VERSION)
        sequence = texts.get(PRODUCER_SEQ)
        return cls(
            texts.get(EVENT_ID) or f"{topic}-{partition}-{offset}",
            texts.get(EVENT_TYPE, ""),
            None if version is None else SchemaVersion.maybe(version),
            time_ms,
            topic,
            partition,
            offset,
            key,
            texts.get(PRODUCER_ID),
            int(sequence) if sequence is not None and sequence.isascii() and sequence.isdigit() else None,
            tuple(headers),
        )


def headers_of(
    event_id: str, event_type: str, version: str, producer_id: str, producer_seq: int
) -> list[tuple[str, bytes | None]]:
    """The headers as a list for a record."""
    return [
        (EVENT_ID, event_id.encode()),
        (EVENT_TYPE, event_type.encode()),
        (EVENT_VERSION, version.encode()),
        (PRODUCER_ID, producer_id.encode()),
        (PRODUCER_SEQ, b"%d" % producer_seq),
    ]


def _texts(headers: Headers) -> Mapping[str, str]:
    """Headers by name; the last one of a name is used."""
    found = {}
    for name, value in headers:
        if value is not None:
            found[name] = value.decode("utf-8", "replace")
    return found
