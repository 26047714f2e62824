"""Prepares events for sending, and counts their deliveries. The classes `Bus` do the sending."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import is_dataclass
from datetime import datetime
from typing import Any, NamedTuple

from kafkapy.bus.audit_counters import AuditCounters, AuditRecord
from kafkapy.bus.codecs import Codec, codec_of
from kafkapy.bus.errors import NotAnEventError
from kafkapy.bus.event_headers import headers_of
from kafkapy.bus.event_types import EventType, event_type_of
from kafkapy.common.time import SystemTime, Time
from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.serializer import LookUpFirst

_APPLICATION = re.compile(r"[A-Za-z0-9._-]{1,100}")


class Outgoing(NamedTuple):
    """A record that is ready to be sent."""

    topic: str
    value: bytes
    key: bytes | None
    headers: list[tuple[str, bytes | None]]
    time_ms: int
    sequence: int
    event_id: str


class Outbox:
    """Prepares events; thread-safe. `producer_id` names this run: the application's name and twelve random
    hexadecimal digits."""

    def __init__(
        self,
        registry: SchemaRegistryClient,
        application: str,
        *,
        waits: bool,
        auto_register: bool = False,
        time: Time | None = None,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        """`waits`: may `prepare` query the registry? If not, it raises `LookUpFirst`. Raises KafkaConfigurationError."""
        if not _APPLICATION.fullmatch(application):
            raise KafkaConfigurationError(
                f"application names the program that sends, with letters, digits, dots, - and _; it is {application!r}"
            )
        self._registry = registry
        self._waits = waits
        self._auto_register = auto_register
        self._time = SystemTime() if time is None else time
        self._new_id = new_id
        self._codecs: dict[type[Any], tuple[EventType, Codec]] = {}
        self._lock = threading.Lock()
        self.producer_id = f"{application}-{uuid.uuid4().hex[:12]}"
        self._counters = AuditCounters(self.producer_id, application)

    def prepare(self, event: Any, time_ms: int | None = None, event_id: str | None = None) -> Outgoing:
        """Convert an event to a record. Raises NotAnEventError, SchemaSerializationError, errors of the registry, and
        `LookUpFirst`."""
        cls = type(event)
        event_type, codec = self._codecs.get(cls) or self._codec(cls, event)
        topic = event_type.topic
        key = event_type.router(event)
        value = codec.serializer.serialize(topic, (), event)
        assert value is not None
        if time_ms is None:
            time_ms = self._time.milliseconds() if event_type.time_field is None else _time(event, event_type)
        with self._lock:
            sequence = self._counters.next_sequence(topic)
        own_id = self._new_id() if event_id is None else event_id
        headers = headers_of(own_id, event_type.name, str(event_type.version), self.producer_id, sequence)
        return Outgoing(topic, bytes(value), key, headers, time_ms, sequence, own_id)

    def needs(self, event: Any) -> LookUpFirst | None:
        """The look-up that is needed before this event can be prepared, or None. Raises as `prepare`."""
        _, codec = self._codecs.get(type(event)) or self._codec(type(event), event)
        try:
            codec.serializer.serialize(event_type_of(type(event)).topic, (), event)
        except LookUpFirst as needed:
            return needed
        return None

    def settled(self, outgoing: Outgoing, error: BaseException | None) -> None:
        """Count a delivery that was acknowledged or has failed."""
        with self._lock:
            if error is None:
                self._counters.sent(outgoing.topic, outgoing.time_ms, outgoing.sequence)
            else:
                self._counters.failed(outgoing.topic, outgoing.time_ms)

    def audit(self, *, closed: bool = False) -> list[AuditRecord]:
        """The counters to write to `_bus_audit` now."""
        with self._lock:
            return list(self._counters.changed(self._time.milliseconds(), closed=closed))

    def audit_failed(self, record: AuditRecord) -> None:
        """A counter could not be written."""
        with self._lock:
            self._counters.given_back(record)

    def _codec(self, cls: type[Any], event: Any) -> tuple[EventType, Codec]:
        if not is_dataclass(event):
            raise NotAnEventError(f"send() takes an event; this is a {cls.__name__}: {event!r:.100}")
        event_type = event_type_of(cls)
        codec = codec_of(cls, self._registry, auto_register=self._auto_register, waits=self._waits)
        found = self._codecs[cls] = event_type, codec
        return found


def _time(event: Any, event_type: EventType) -> int:
    """The value of the event's time field, in milliseconds."""
    assert event_type.time_field is not None
    value = getattr(event, event_type.time_field)
    if isinstance(value, datetime):
        return int(value.timestamp() * 1000)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise NotAnEventError(
        f"The time of {event_type.name} is its field {event_type.time_field}, which must be a datetime or milliseconds since "
        f"1970; it is {value!r}"
    )
