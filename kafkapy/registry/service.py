"""An instance of the registry: serves reads, and writes if it is the primary; other instances forward writes to the
primary.

Requests are handled on several threads. One lock guards the state (the topic's reader applies records under it, too).
Another serializes writes, from the decision until the records are applied.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from kafkapy.common import strict_json
from kafkapy.common.deep_calls import run_deep
from kafkapy.common.strict_json import JsonError, JsonSurrogateError
from kafkapy.http.content_types import accepted, media_type
from kafkapy.http.messages import HttpAnswer, HttpRequest, error_answer, json_answer
from kafkapy.registry.api import RawText, RegistryApi
from kafkapy.registry.election import InstanceIdentity
from kafkapy.registry.records import RegistryRecord, noop_record
from kafkapy.registry.refusals import RegistryRefusal, unknown_leader, unprocessable
from kafkapy.registry.schema_rules import RegistryChange

log = logging.getLogger("kafkapy.registry")

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
OFFERED = (CONTENT_TYPE, "application/vnd.schemaregistry+json", "application/json")
TAKEN = (*OFFERED, "application/octet-stream")
FORWARDED = "x-forward"
"""A request with this header was forwarded once, and is not forwarded again."""

Forward = Callable[[str, HttpRequest], HttpAnswer]
"""URL of the primary and a request -> its response. Raises RegistryRefusal."""


class RegistryLog(Protocol):
    def write(self, records: Sequence[RegistryRecord]) -> None:
        """Write records, and wait until they are applied. Raises RegistryRefusal."""
        ...


class RegistryService:
    """Invariant: while `_caught_up`, the state has all records that are in the log or may still be appended, including
    those of the previous primary and of writes that timed out. To catch up, the primary writes a NOOP and reads to
    it."""

    def __init__(self, api: RegistryApi, forward: Forward) -> None:
        self._api = api
        self._forward = forward
        self._state_lock = threading.RLock()
        self._write_lock = threading.Lock()
        self._log: RegistryLog | None = None
        self._primary: InstanceIdentity | None = None
        self._is_primary = False
        self._caught_up = False

    def apply(self, record: RegistryRecord) -> None:
        with self._state_lock:
            self._api.state.apply(record)

    def use(self, topic: RegistryLog) -> None:
        self._log = topic

    def elected(self, primary: InstanceIdentity | None, me: InstanceIdentity) -> None:
        """Set the elected primary. Thread-safe."""
        is_primary = primary is not None and primary.url == me.url
        if primary != self._primary:
            log.info(
                "The primary is %s", "unknown" if primary is None else "this instance" if is_primary else primary.url
            )
        if not is_primary:
            self._caught_up = False
        self._primary, self._is_primary = primary, is_primary

    # -- requests

    def is_write(self, request: HttpRequest) -> bool:
        """Return whether the request needs the primary."""
        try:
            return self._api.find(request)[0].writes
        except RegistryRefusal:
            return False

    def handle(self, request: HttpRequest) -> HttpAnswer:
        wanted = accepted(request.headers.get("accept"), OFFERED)
        if wanted is None:
            return error_answer(406, 406, "HTTP 406 Not Acceptable", CONTENT_TYPE)
        try:
            sent = media_type(request.headers.get("content-type", ""))
            if request.body and sent not in ("", *TAKEN):
                raise RegistryRefusal(415, 415, "HTTP 415 Unsupported Media Type")
            route, parameters = self._api.find(request)
            action = partial(route.action, self._api, request, parameters, partial(_body, request))
            if not route.writes:
                with self._state_lock:
                    answer = _decided(action)
            else:
                answer = self._write(request, action)
                if isinstance(answer, HttpAnswer):
                    return answer
        except RegistryRefusal as refusal:
            return error_answer(refusal.status, refusal.code, refusal.message, wanted)
        if isinstance(answer, RawText):
            return HttpAnswer(200, answer.encode(), (("content-type", wanted),))
        return HttpAnswer(204) if answer is None else json_answer(200, answer, wanted)

    def _write(self, request: HttpRequest, decide: Callable[[], RegistryChange]) -> Any:
        if not self._is_primary:
            primary = self._primary
            if primary is None or FORWARDED in request.headers:
                raise unknown_leader()
            return self._forward(primary.url, request)
        if self._log is None:
            raise unknown_leader()
        with self._write_lock:
            if not self._caught_up:
                self._log.write([noop_record()])
                self._caught_up = True
            with self._state_lock:
                change = _decided(decide)
            try:
                self._log.write(change.records)
            except RegistryRefusal:
                self._caught_up = False  # the records may still be appended
                raise
            return change.answer


def _decided(action: Callable[[], Any]) -> Any:
    """Run an action; it may recurse as deep as schemas are nested. Raises RegistryRefusal."""
    try:
        return run_deep(action)
    except RecursionError:
        raise unprocessable("The schema is nested too deep") from None


def _body(request: HttpRequest) -> Any:
    try:
        return strict_json.loads(request.body)
    except JsonSurrogateError as error:
        raise unprocessable(f"The body is no text: {error}") from None
    except JsonError as error:
        raise RegistryRefusal(400, 400, f"The body is no JSON: {error}") from None
