"""`POST /events/{topic}` for browsers and scripts: JSON bytes become records unchanged.

    application/json (or text/plain, as browsers' beacons send)    one event
    application/x-ndjson                                           one event in each line; empty lines are ignored

`?key=K` is the key of all; `?keyField=user.id` takes each key from its event. The response, with count and offsets, is
sent when all events are on all in-sync replicas (acks=all). If one of the events is no JSON, none is written.

The record header `event-id` lets readers, such as the warehouse, recognize an event that was sent twice. `?idField=id`
takes it from each event; else it is derived from the request's header `Idempotency-Key`: the key itself for one
event, the key with `-1`, `-2`, … for those of `application/x-ndjson`. A request without both sends records without an id.
`?timeField=at` takes the record's time from each event, so that a retry has the time, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from twisted.internet.defer import Deferred

from kafkapy.bus.event_headers import EVENT_ID
from kafkapy.common import strict_json
from kafkapy.http.content_types import media_type
from kafkapy.http.messages import HttpAnswer, HttpRequest
from kafkapy.rest.context import RestContext
from kafkapy.rest.fields import INT64, time_ms, whole
from kafkapy.rest.rest_errors import RestRefusal, bad_request
from kafkapy.rest.routing import JSON, RestRoute

T = TypeVar("T")

_ONE = ("application/json", "text/plain", "")
_MANY = ("application/x-ndjson", "application/ndjson", "application/jsonlines", "application/jsonl")
_MOST_EVENTS = 100_000
_JSON_HEADERS = (("content-type", JSON),)
_IDEMPOTENCY_KEY = re.compile(r'("?)([!#-\[\]-~]{1,255})\1')
"""Visible ASCII without quotes and backslashes, optionally in quotes (the form of a structured field)."""


class EventsToSend(NamedTuple):
    """Values, and for each its key, id and timestamp in ms since the epoch; None: not set."""

    values: list[bytes]
    keys: list[bytes] | None
    ids: list[bytes] | None
    times: list[int] | None


class Events:
    def __init__(self, context: RestContext) -> None:
        self._context = context

    def routes(self) -> list[RestRoute]:
        return [RestRoute("POST", ("events", None), self._post)]

    def _post(self, request: HttpRequest, parts: tuple[str, ...]) -> Deferred[HttpAnswer]:
        """Handle a POST. No coroutine, because of its overhead at ten thousand requests a second."""
        pending, size = self._context.pending, len(request.body)
        events = checked(request)
        pending.take(size)

        def given_back(outcome: T) -> T:
            pending.give_back(size)
            return outcome

        return self._send(parts[0], events).addBoth(given_back)

    def _send(self, topic: str, events: EventsToSend) -> Deferred[HttpAnswer]:
        producer, (values, keys, ids, times) = self._context.producer, events
        headers = None if ids is None else [[(EVENT_ID, each)] for each in ids]
        sent: Deferred[Any]
        if len(values) == 1:
            key, own_headers, time = (None if column is None else column[0] for column in (keys, headers, times))
            sent = producer.send(topic, values[0], key, own_headers, None, time)
            return sent.addCallback(lambda record: _answer([(record.partition, record.offset, 1)]))
        sent = producer.send_many(topic, values, keys, None, headers, times)
        return sent.addCallback(
            lambda batches: _answer([(each.partition, each.offset, each.record_count) for each in batches])
        )


def _answer(runs: list[tuple[int, int, int]]) -> HttpAnswer:
    """Return the response with partition, first offset and count of each run."""
    offsets = ",".join(f'{{"partition":{run[0]},"offset":{run[1]},"count":{run[2]}}}' for run in runs)
    body = f'{{"count":{sum(run[2] for run in runs)},"offsets":[{offsets}]}}'
    return HttpAnswer(200, body.encode(), _JSON_HEADERS)


class EventField(NamedTuple):
    """A field of each event: its path of names with dots, its purpose, and the conversion of its value (None:
    invalid)."""

    path: str
    purpose: str
    convert: Callable[[Any], Any]

    def read(self, event: Any, number: int) -> Any:
        """Return the field's value. Raises RestRefusal if the event with that number lacks it."""
        value = event
        for name in self.path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        found = None if value is None else self.convert(value)
        if found is None:
            raise bad_request(f"Line {number} has no {self.path} that can be its {self.purpose}")
        return found


def checked(request: HttpRequest) -> EventsToSend:
    """Return the events of a request. Raises RestRefusal, with the line, if one is no JSON, or lacks its key or id."""
    kind = media_type(request.headers.get("content-type", ""))
    if kind not in _ONE and kind not in _MANY:
        raise RestRefusal(415, 415, f"{kind} is not supported: application/json or application/x-ndjson is")
    lines = [request.body] if kind in _ONE else request.body.split(b"\n")
    events = [line for line in map(bytes.strip, lines) if line]
    if not events:
        raise bad_request("There is no event in the body")
    if len(events) > _MOST_EVENTS:
        raise RestRefusal(413, 413, f"{len(events)} events are more than {_MOST_EVENTS}")
    key, key_field, id_field = (request.query.get(name) for name in ("key", "keyField", "idField"))
    time_field = request.query.get("timeField")
    idempotency_key = _idempotency_key(request)
    if key is not None and key_field is not None:
        raise bad_request("Give key or keyField, not both")
    if idempotency_key is not None and id_field is not None:
        raise bad_request("Give the header Idempotency-Key or idField, not both")
    key_of = EventField(key_field, "key", _key) if key_field else None
    id_of = EventField(id_field, "id", _id) if id_field else None
    time_of = EventField(time_field, "time", _time) if time_field else None
    keys, ids, times = [], [], []
    for number, event in enumerate(events, 1):
        content = _content(event, number)
        if key_of is not None:
            keys.append(key_of.read(content, number))
        if id_of is not None:
            ids.append(id_of.read(content, number))
        if time_of is not None:
            times.append(time_of.read(content, number))
    if key is not None:
        keys = [key.encode()] * len(events)
    if idempotency_key is not None and kind in _ONE:
        ids = [idempotency_key]
    elif idempotency_key is not None:
        ids = [b"%b-%d" % (idempotency_key, number) for number in range(1, len(events) + 1)]
    return EventsToSend(events, keys or None, ids or None, times or None)


def _content(event: bytes, number: int) -> Any:
    try:
        return strict_json.loads(event.decode())
    except ValueError as error:
        raise bad_request(f"Line {number} is no JSON: {error}") from None


def _idempotency_key(request: HttpRequest) -> bytes | None:
    given = request.headers.get("idempotency-key")
    if given is None:
        return None
    found = _IDEMPOTENCY_KEY.fullmatch(given)
    if found is None:
        raise bad_request("Idempotency-Key is 1 to 255 visible characters of ASCII without quotes and backslashes")
    return found[2].encode()


def _key(value: Any) -> bytes:
    return (value if isinstance(value, str) else strict_json.dumps(value, separators=(",", ":"))).encode()


def _id(value: Any) -> bytes | None:
    """Accept a string or an integer; other values are likely to be equal in different events."""
    return str(value).encode() if type(value) in (str, int) and value != "" else None


def _time(value: Any) -> int | None:
    """Convert ISO 8601 with a zone, or ms since the epoch."""
    try:
        return whole(value, "", INT64) if type(value) is int else time_ms(value)
    except RestRefusal:
        return None
