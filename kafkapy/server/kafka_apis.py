"""Dispatches each request to its handler and sends the response, also when the handler fails (Kafka's `KafkaApis`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from time import perf_counter_ns
from typing import Any

from kafkapy.network.large_requests import LargeRequests
from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, run, spawn
from kafkapy.server.api_error import CloseConnection
from kafkapy.server.quotas.quota_managers import QuotaManagers

log = logging.getLogger("kafkapy.server.KafkaApis")

HandlerResult = Message | Coroutine[Any, Any, Message | None] | None
"""None: the protocol has no response (Produce with acks=0)."""

Handler = Callable[[Request], HandlerResult]


class KafkaApis:
    """Calls the handler of a request and sends its response, also when the handler fails.

    Quotas, audit and request metrics are applied here as well: a handler only returns a response and never sends it.
    """

    def __init__(
        self, handlers: Mapping[ApiKey, Handler], clock: Clock, large_requests: LargeRequests, quotas: QuotaManagers
    ) -> None:
        self._handlers = handlers
        self._clock = clock
        self._large_requests = large_requests
        self._quotas = quotas

    def handle(self, request: Request) -> None:
        if not self._quotas.enabled:
            self._handle(request)
            return
        request.began_ns = perf_counter_ns()
        self._handle(request)
        request.busy_ns, request.began_ns = request.thread_ns(), 0

    def _handle(self, request: Request) -> None:
        self._clock.begin_request()
        try:
            answer = self._handlers[request.api_key](request)
            if answer is None or isinstance(answer, Message):
                self._respond(request, answer)
                return
            outcome = run(answer)
        except Exception as error:
            self._failed(request, error)
            return
        if isinstance(outcome, Completion):
            outcome.add_callback(partial(self._finish, request))
        else:
            self._respond(request, outcome)

    def _finish(self, request: Request, answer: Completion[Message | None]) -> None:
        try:
            response = answer.result()
        except Exception as error:
            self._failed(request, error)
        else:
            self._respond(request, response)

    def _respond(self, request: Request, response: Message | None) -> None:
        throttle_ms = self._quotas.answered(request, response, request.thread_ns()) if self._quotas.enabled else 0
        if response is None:
            request.no_response(throttle_ms)
            self._sent(request)
        elif self._large_requests.has_large_answer(request, response):
            spawn(self._respond_with_much(request, response, throttle_ms))
        else:
            self._send(request, response, throttle_ms)
            self._sent(request)
            self._large_requests.answered(request, None)

    async def _respond_with_much(self, request: Request, response: Message, throttle_ms: int) -> None:
        try:
            await self._large_requests.encode(request, response)
        except Exception as error:
            self._failed(request, error)
        else:
            self._send(request, response, throttle_ms)
            self._sent(request)
            self._large_requests.answered(request, response)

    def _sent(self, request: Request) -> None:
        on_sent, request.on_sent = request.on_sent, None
        if on_sent is not None:
            on_sent()

    def _send(self, request: Request, response: Message, throttle_ms: int) -> None:
        try:
            request.respond(response, throttle_ms)
        except Exception as error:
            self._failed(request, error)

    def _failed(self, request: Request, error: Exception) -> None:
        """Send the API's error response; close the connection if the API has none, or if building it fails."""
        if isinstance(error, CloseConnection):
            request.close_connection(str(error))
            return
        if isinstance(error, KafkaError):
            code, message = error.error, error.message
        else:
            log.error("Unexpected error handling %r", request, exc_info=error)
            code, message = Errors.UNKNOWN_SERVER_ERROR, None
        if request.cancelled:
            return
        try:
            response = error_response(request.body, request.api_version, code, message)
            if response is not None:
                request.failed = True
                throttle_ms = 0
                if self._quotas.enabled:
                    throttle_ms = self._quotas.answered(request, response, request.thread_ns(), code)
                request.respond(response, throttle_ms)
                return
        except Exception:
            log.exception("Could not answer %r with an error", request)
        request.close_connection(f"{request.api_key.name} failed: {code.name}")
