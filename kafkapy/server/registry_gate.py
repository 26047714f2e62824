"""The broker's `SchemaGate`: asks a schema registry which schema ids a topic accepts, and caches the results.

A schema id never changes its meaning, so an accepted id is cached for good; a refused one for `REFUSED_MS` only, as
its schema may be registered later. While the registry is unreachable, cached results stay valid; batches with other
ids fail with REQUEST_TIMED_OUT after the registry client's time-out, and producers retry them until
`delivery.timeout.ms`.

Only one request to the registry is in flight at a time, and the cache is bounded, so made-up ids cost little.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from kafkapy.common.time import SystemTime, Time
from kafkapy.log.schema_configs import matches
from kafkapy.protocol.errors import Errors, KafkaError

_log = logging.getLogger("kafkapy.server.SchemaGate")

REFUSED_MS = 10_000
"""How long a refused schema id is cached: its schema may be registered later."""
LOCK_S = 10.0
"""How long a thread waits for another thread's request to the registry; after it the producer gets a retriable error."""
_MOST = 10_000
"""Maximum cached ids; bounds the memory that made-up ids take to a few MB."""
SubjectsOf = Callable[[int], list[str] | None]
"""Return the subjects with this schema id; None: the id is unknown. Raises any exception if the registry can't be reached."""


class RegistryGate:
    """Caches which ids are accepted. Thread-safe."""

    def __init__(self, subjects_of: SubjectsOf, time: Time | None = None) -> None:
        self.subjects_of = subjects_of
        self.time = SystemTime() if time is None else time
        self.asking = threading.Lock()
        self._topics: dict[tuple[str, tuple[str, ...]], TopicSchemas] = {}

    def of(self, topic: str, subjects: tuple[str, ...]) -> TopicSchemas:
        """Return the topic's checks; their cache outlives the topic's logs and configs."""
        key = topic, subjects
        found = self._topics.get(key)
        if found is None:
            if len(self._topics) >= _MOST:
                self._topics.clear()
            found = self._topics[key] = TopicSchemas(self, topic, subjects)
        return found


class TopicSchemas:
    def __init__(self, gate: RegistryGate, topic: str, subjects: tuple[str, ...]) -> None:
        self._gate = gate
        self._topic = topic
        self._subjects = subjects
        self._accepted: set[bytes] = set()
        self._refused: dict[bytes, tuple[str, int]] = {}
        """Refused id → (reason, time of expiry)."""

    def verdict(self, prefix: bytes) -> str | None:
        if prefix in self._accepted:
            return ""
        if len(prefix) < 5 or prefix[0] != 0:
            return f"The value names no schema, as topic {self._topic} demands: it begins with 0x{prefix[:5].hex()}"
        refused = self._refused.get(prefix)
        if refused is None or refused[1] <= self._gate.time.monotonic_ms():
            return None
        return refused[0]

    def look_up(self, prefix: bytes) -> str:
        gate = self._gate
        if not gate.asking.acquire(timeout=LOCK_S):
            raise _registry_unavailable("others wait for its answer")
        try:
            found = self.verdict(prefix)  # another thread may have asked
            return self._ask(prefix) if found is None else found
        finally:
            gate.asking.release()

    def _ask(self, prefix: bytes) -> str:
        schema_id = int.from_bytes(prefix[1:], "big")
        try:
            subjects = self._gate.subjects_of(schema_id)
        except Exception as error:
            _log.warning(
                "Whether topic %s accepts schema %d cannot be found out now: %s", self._topic, schema_id, error
            )
            raise _registry_unavailable(str(error)) from error
        if subjects is not None and any(matches(subject, self._subjects) for subject in subjects):
            if len(self._accepted) >= _MOST:
                self._accepted.clear()
            self._accepted.add(prefix)
            return ""
        if subjects is None:
            why = f"The registry has no schema {schema_id}"
        else:
            held = ", ".join(sorted(subjects)) or "none"
            wanted = ", ".join(self._subjects)
            why = f"Schema {schema_id} is of subject {held}, and topic {self._topic} accepts {wanted}"
        if len(self._refused) >= _MOST:
            self._refused.clear()
        self._refused[prefix] = why, self._gate.time.monotonic_ms() + REFUSED_MS
        return why


def _registry_unavailable(why: str) -> KafkaError:
    """Return the retriable error for batches while the schema registry does not answer."""
    return KafkaError(
        Errors.REQUEST_TIMED_OUT, f"The schema registry does not answer, so the records cannot be checked: {why}"
    )
