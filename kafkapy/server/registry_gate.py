"""The broker's `SchemaGate`: what a schema registry says of ids, remembered.

What an id means does not change, so that a topic accepts it is remembered for good; that it does not, for `REFUSED_MS` only: it
may be published meanwhile. While the registry does not answer, ids that are known go on as they are; batches with others are
answered with REQUEST_TIMED_OUT after the time-out of the registry's client, which producers repeat until their own time is up.
One question is under way at a time, so that ids that somebody makes up keep at most one record thread busy each with waiting,
and what is remembered is bounded.
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
"""How long it is remembered that a schema is not accepted: it may be registered meanwhile."""
LOCK_S = 10.0
"""How long a thread waits for another one's request; then the producer gets a retriable error."""
_MOST = 10_000
"""Bounds what made-up ids take of the memory: a few MB."""
SubjectsOf = Callable[[int], list[str] | None]
"""Return the subjects that have a schema with this id; None: there is none. Raises any exception without an answer."""


class RegistryGate:
    """For any thread."""

    def __init__(self, subjects_of: SubjectsOf, time: Time | None = None) -> None:
        self.subjects_of = subjects_of
        self.time = SystemTime() if time is None else time
        self.asking = threading.Lock()
        self._topics: dict[tuple[str, tuple[str, ...]], TopicSchemas] = {}

    def of(self, topic: str, subjects: tuple[str, ...]) -> TopicSchemas:
        """What is known outlives the topic's logs and configs."""
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
        """Why, and until when."""

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
            raise _nobody_answers("others wait for its answer")
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
            raise _nobody_answers(str(error)) from error
        if subjects is not None and any(matches(subject, self._subjects) for subject in subjects):
            if len(self._accepted) >= _MOST:
                self._accepted.clear()
            self._accepted.add(prefix)
            return ""
        if subjects is None:
            why = f"The registry knows no schema {schema_id}"
        else:
            held = ", ".join(sorted(subjects)) or "none"
            wanted = ", ".join(self._subjects)
            why = f"Schema {schema_id} is of subject {held}, and topic {self._topic} accepts {wanted}"
        if len(self._refused) >= _MOST:
            self._refused.clear()
        self._refused[prefix] = why, self._gate.time.monotonic_ms() + REFUSED_MS
        return why


def _nobody_answers(why: str) -> KafkaError:
    return KafkaError(
        Errors.REQUEST_TIMED_OUT, f"The schema registry does not answer, so the records cannot be checked: {why}"
    )
