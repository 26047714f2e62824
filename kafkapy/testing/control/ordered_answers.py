"""Injects errors and delays into a broker's answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors
from kafkapy.server.hooks import Handle


@dataclass
class _Rule:
    """Applies to the next `times` requests; None: to all until `clear`."""

    api: ApiKey | None
    times: int | None
    error: Errors | None = None
    delay_ms: int = 0

    def fits(self, api: ApiKey) -> bool:
        return self.times != 0 and self.api in (None, api)


class OrderedAnswers:
    """Intercepts client requests before the broker's handlers. Requests of other brokers are not affected.

    Invariant: `_rules` are in the order in which they were added; the first one that fits a request is applied to it.
    """

    def __init__(self, clients_listener: str, reactor: Any) -> None:
        self._listener = clients_listener
        self._reactor = reactor
        self._rules: list[_Rule] = []
        self._handle: Handle = _nobody

    def before(self, handle: Handle) -> Handle:
        self._handle = handle
        return self.handle

    def answer_with(self, api: str, error: str, times: int | None) -> None:
        self._rules.append(_Rule(_api(api), times, error=_error(error)))

    def delay(self, api: str | None, ms: int, times: int | None) -> None:
        if ms < 0:
            raise ValueError(f"a delay of {ms} ms lies in the past")
        self._rules.append(_Rule(None if api is None else _api(api), times, delay_ms=ms))

    def clear(self) -> None:
        self._rules.clear()

    def handle(self, request: Request) -> None:
        if self._rules and request.context.listener_name == self._listener:
            for rule in self._rules:
                if rule.fits(request.api_key):
                    if rule.times is not None:
                        rule.times -= 1
                    self._act(rule, request)
                    return
        self._handle(request)

    def _act(self, rule: _Rule, request: Request) -> None:
        if rule.error is not None:
            _answer(request, rule.error)
            return
        if request.api_key is ApiKey.PRODUCE:
            _keep_records(request)
        self._reactor.callLater(rule.delay_ms / 1000, self._handle_late, request)

    def _handle_late(self, request: Request) -> None:
        if not request.cancelled:
            self._handle(request)


def _nobody(request: Request) -> None:
    raise RuntimeError("a request came before the broker was built")


def _answer(request: Request, error: Errors) -> None:
    response = error_response(request.body, request.api_version, error)
    if response is None:
        request.no_response()
    else:
        request.respond(response)


def _keep_records(request: Request) -> None:
    """Copy the records, since their buffer is reused for the next request; later requests wait until they are
    appended."""
    for topic in request.body.topic_data:
        for partition in topic.partition_data:
            if partition.records is not None:
                partition.records = memoryview(bytearray(partition.records))
    request.has_unappended = True


def _api(name: str) -> ApiKey:
    try:
        return ApiKey[name.upper()]
    except KeyError:
        raise ValueError(f"there is no API {name!r}; there are {', '.join(key.name for key in ApiKey)}") from None


def _error(name: str) -> Errors:
    try:
        return Errors[name.upper()]
    except KeyError:
        raise ValueError(f"there is no error {name!r}; Kafka has {', '.join(error.name for error in Errors)}") from None
