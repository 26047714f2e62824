"""The proxy's consumer instances: created by a POST, removed by a DELETE or after an idle time.

Each has a lock, which serializes its requests. All methods block, so they are called on threads.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from kafkapy.rest.embedded import FORMATS, WITH_SCHEMAS, EmbeddedValues, from_bytes
from kafkapy.rest.fields import INT32, whole_or_text
from kafkapy.rest.rest_errors import (
    RestRefusal,
    format_mismatch,
    instance_exists,
    instance_not_found,
    too_busy,
    unprocessable,
)

_TIMEOUT = "consumer.request.timeout.ms"
_OPTIONS = {
    "auto.offset.reset": "auto_offset_reset",
    "auto.commit.enable": "enable_auto_commit",
    "enable.auto.commit": "enable_auto_commit",
    "fetch.min.bytes": "fetch_min_bytes",
    _TIMEOUT: None,
    "isolation.level": "isolation_level",
}
DEFAULT_TIMEOUT_MS = 1_000
_MAX_WAIT_MS = 60_000
"""Limit, because a waiting request occupies its instance and a thread, even if its client has disconnected."""
_MOST_RECORDS = 10_000


class InstanceRequest(NamedTuple):
    name: str
    format: str
    options: dict[str, Any]
    timeout_ms: int

    @classmethod
    def of(cls, body: dict[str, Any]) -> InstanceRequest:
        """Raises RestRefusal."""
        kind = body.get("format", "binary")
        if kind not in FORMATS:
            raise unprocessable(f"Invalid format type {kind}; it is one of {', '.join(FORMATS)}")
        options: dict[str, Any] = {}
        for name, value in body.items():
            if name in ("name", "id", "format"):
                continue
            if name not in _OPTIONS:
                raise unprocessable(f"Unrecognized field: {name}")
            argument = _OPTIONS[name]
            if argument is not None:
                options[argument] = _converted(name, value)
        timeout = whole_or_text(body.get(_TIMEOUT, DEFAULT_TIMEOUT_MS), _TIMEOUT, INT32)
        name = body.get("name") or body.get("id") or f"rest-consumer-{uuid.uuid4()}"
        if not isinstance(name, str):
            raise unprocessable("name is a string")
        return cls(name, kind, options, timeout)


def _converted(name: str, value: Any) -> Any:
    if name == "auto.offset.reset":
        if value not in ("earliest", "latest", "none"):
            raise unprocessable("auto.offset.reset is earliest, latest or none")
        return value
    if name in ("auto.commit.enable", "enable.auto.commit"):
        text = str(value).lower()
        if text not in ("true", "false"):
            raise unprocessable(f"{name} is true or false")
        return text == "true"
    if name == "isolation.level":
        if value not in ("read_committed", "read_uncommitted"):
            raise unprocessable("isolation.level is read_committed or read_uncommitted")
        return value
    return whole_or_text(value, name, INT32)


class ConsumerInstance:
    """One instance. `consumer` is only used while `lock` is held. `last_used`: monotonic seconds."""

    def __init__(self, consumer: Any, request: InstanceRequest) -> None:
        self.consumer = consumer
        self.request = request
        self.lock = threading.Lock()
        self.last_used = time.monotonic()

    def records(
        self, kind: str | None, timeout_ms: int | None, max_bytes: int, values: Callable[[], EmbeddedValues]
    ) -> Any:
        """Return records as JSON; empty after a time-out. `kind` None: the instance's format. Raises RestRefusal."""
        if kind is not None and kind != self.request.format:
            raise format_mismatch()
        timeout = min(self.request.timeout_ms if timeout_ms is None else timeout_ms, _MAX_WAIT_MS)
        polled = self.consumer.poll(timeout_ms=timeout, max_records=_MOST_RECORDS)
        try:
            return self._encode_within(polled, max_bytes, values)
        except RestRefusal:
            raise
        except BaseException:
            for partition, batch in polled.items():
                self.consumer.seek(partition, batch[0].offset)  # none was returned: the next request returns them
            raise

    def _encode_within(self, polled: Any, max_bytes: int, values: Callable[[], EmbeddedValues]) -> Any:
        mine = self.request.format
        found: list[dict[str, Any]] = []
        size = 0
        for partition, batch in polled.items():
            for record in batch:
                length = len(record.key or b"") + len(record.value or b"")
                if found and size + length > max_bytes:
                    self.consumer.seek(partition, record.offset)  # the next request returns the rest
                    break
                try:
                    encoded = self._encoded(record, mine, values)
                except RestRefusal as refusal:
                    self._leave_out(record, partition, bool(found), polled, refusal)
                    return found
                size += length
                found.append(encoded)
        return found

    def _leave_out(self, record: Any, partition: Any, later: bool, polled: Any, refusal: RestRefusal) -> None:
        """Handle a record that cannot be encoded: the records before it are returned, the next request reports and skips it."""
        after = list(polled).index(partition)
        for other in list(polled)[after + 1 :]:
            self.consumer.seek(other, polled[other][0].offset)
        self.consumer.seek(partition, record.offset if later else record.offset + 1)
        if not later:
            where = f"{record.topic}-{record.partition} at offset {record.offset}"
            sentence = f"{refusal.message} ({where}; the next request goes on behind it)"
            raise RestRefusal(refusal.status, refusal.code, sentence)

    def _encoded(self, record: Any, kind: str, values: Callable[[], EmbeddedValues]) -> dict[str, Any]:
        def read(data: bytes | None) -> Any:
            return values().read(kind, data) if kind in WITH_SCHEMAS else from_bytes(kind, data)

        head = {"topic": record.topic, "key": read(record.key), "value": read(record.value)}
        return {**head, "partition": record.partition, "offset": record.offset}


class ConsumerInstances:
    """All instances. Invariant: the code that removes an instance closes it."""

    def __init__(self, make: Callable[..., Any], idle_s: float, most: int) -> None:
        """`make`: creates a consumer of a group from options. `most`: limit of instances."""
        self._make = make
        self._idle_s = idle_s
        self._most = most
        self._instances: dict[tuple[str, str], ConsumerInstance | None] = {}
        self._lock = threading.Lock()

    def create(self, group: str, request: InstanceRequest) -> None:
        key = group, request.name
        with self._lock:
            if key in self._instances:
                raise instance_exists()
            if len(self._instances) >= self._most:
                raise too_busy(f"There are {self._most} consumer instances already")
            self._instances[key] = None
        try:
            made = ConsumerInstance(self._make(group_id=group, **request.options), request)
        except BaseException:
            with self._lock:
                del self._instances[key]
            raise
        with self._lock:
            self._instances[key] = made

    def use(self, group: str, name: str, f: Callable[[ConsumerInstance], Any]) -> Any:
        """Call `f` with exclusive access to the instance; return its result. Raises RestRefusal."""
        with self._lock:
            instance = self._instances.get((group, name))
        if instance is None:
            raise instance_not_found()
        with instance.lock:
            instance.last_used = time.monotonic()
            try:
                return f(instance)
            finally:
                instance.last_used = time.monotonic()

    def delete(self, group: str, name: str) -> None:
        with self._lock:
            instance = self._instances.get((group, name))
            if instance is None:
                raise instance_not_found()
            del self._instances[group, name]
        with instance.lock:
            instance.consumer.close()

    def drop_idle(self) -> None:
        limit = time.monotonic() - self._idle_s
        with self._lock:
            idle = [key for key, each in self._instances.items() if each is not None and each.last_used < limit]
            gone = [(self._instances.pop(key), key) for key in idle]
        for instance, _ in gone:
            if instance is not None:
                with instance.lock:
                    instance.consumer.close()

    def close(self) -> None:
        with self._lock:
            instances, self._instances = self._instances, {}
        for instance in instances.values():
            if instance is not None:
                with instance.lock:
                    instance.consumer.close()
