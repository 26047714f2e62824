"""`POST /events/{topic}` for browsers and scripts: JSON bytes become records as they are.

    application/json (or text/plain, as browsers' beacons send)    one event
    application/x-ndjson                                           one event in each line; empty lines are left out

`?key=K` is the key of all; `?keyField=user.id` takes each key from its event. The answer comes when all events are on all
in-sync replicas (acks=all): how many, and where. Nothing is in the log if one of the events is no JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from kafkapy.http.content_types import media_type
from kafkapy.http.messages import HttpAnswer, HttpRequest
from kafkapy.rest.context import RestContext
from kafkapy.rest.rest_errors import RestRefusal, bad_request
from kafkapy.rest.routing import JSON, RestRoute

T = TypeVar("T")

_ONE = ("application/json", "text/plain", "")
_MANY = ("application/x-ndjson", "application/ndjson", "application/jsonlines", "application/jsonl")
_MOST_EVENTS = 100_000
_JSON_HEADERS = (("content-type", JSON),)


class Events:
    def __init__(self, context: RestContext) -> None:
        self._context = context

    def routes(self) -> list[RestRoute]:
        return [RestRoute("POST", ("events", None), self._post)]

    def _post(self, request: HttpRequest, parts: tuple[str, ...]) -> Deferred[HttpAnswer]:
        """No coroutine: ten thousand of them a second are felt."""
        pending, size = self._context.pending, len(request.body)
        events = _events(request)
        keys = checked_keys(events, request.query.get("key"), request.query.get("keyField"))
        pending.take(size)

        def given_back(outcome: T) -> T:
            pending.give_back(size)
            return outcome

        return self._send(parts[0], events, keys).addBoth(given_back)

    def _send(self, topic: str, events: list[bytes], keys: list[bytes | None] | None) -> Deferred[HttpAnswer]:
        producer = self._context.producer
        sent: Deferred[Any]
        if len(events) == 1:
            sent = producer.send(topic, events[0], keys[0] if keys else None)
            return sent.addCallback(lambda record: _answer([(record.partition, record.offset, 1)]))
        sent = producer.send_many(topic, events, keys)
        return sent.addCallback(
            lambda batches: _answer([(each.partition, each.offset, each.record_count) for each in batches])
        )


def _events(request: HttpRequest) -> list[bytes]:
    kind = media_type(request.headers.get("content-type", ""))
    if kind in _ONE:
        return [request.body.strip()]
    if kind in _MANY:
        return [line for line in map(bytes.strip, request.body.split(b"\n")) if line]
    raise RestRefusal(415, 415, f"{kind} is not supported: application/json or application/x-ndjson is")


def _answer(runs: list[tuple[int, int, int]]) -> HttpAnswer:
    """Of partition, first offset and number of each run."""
    offsets = ",".join(f'{{"partition":{run[0]},"offset":{run[1]},"count":{run[2]}}}' for run in runs)
    body = f'{{"count":{sum(run[2] for run in runs)},"offsets":[{offsets}]}}'
    return HttpAnswer(200, body.encode(), _JSON_HEADERS)


def checked_keys(events: list[bytes], key: str | None, key_field: str | None) -> list[bytes | None] | None:
    """The keys (None: there are none). Raises RestRefusal: with the line, if an event is no JSON or has no key."""
    if not events or events == [b""]:
        raise bad_request("There is no event in the body")
    if len(events) > _MOST_EVENTS:
        raise RestRefusal(413, 413, f"{len(events)} events are more than {_MOST_EVENTS}")
    if key is not None and key_field is not None:
        raise bad_request("Give key or keyField, not both")
    keys: list[bytes | None] = []
    path = key_field.split(".") if key_field else []
    loads: Callable[[bytes], Any] = json.loads
    for number, event in enumerate(events, 1):
        try:
            content = loads(event)
        except (ValueError, RecursionError) as error:
            raise bad_request(f"Line {number} is no JSON: {error}") from None
        if path:
            keys.append(_key(content, path, number))
    if key is not None:
        return [key.encode()] * len(events)
    return keys if path else None


def _key(content: Any, path: list[str], number: int) -> bytes:
    for name in path:
        if not isinstance(content, dict) or content.get(name) is None:
            raise bad_request(f"Line {number} has no {'.'.join(path)}, which is to be its key")
        content = content[name]
    return (content if isinstance(content, str) else json.dumps(content, separators=(",", ":"))).encode()
