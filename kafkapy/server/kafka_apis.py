"""Every request comes by here: it is given to its handler, and answered, whatever happens."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from kafkapy.network.channel import DECODED_AT_ONCE
from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.many import free, has_many_structs
from kafkapy.protocol.message import Message
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.runtime.completion import Completion, run, spawn

log = logging.getLogger("kafkapy.server.KafkaApis")

Answer = Message | Coroutine[Any, Any, Message | None] | None
"""None: the protocol has no answer (Produce with acks=0)."""

Handler = Callable[[Request], Answer]


MANY = 2_000
"""Structs of a response that take so long to encode that others would notice."""


class KafkaApis:
    """Calls the handler of a request and sends its answer, whatever happens.

    A large answer is encoded in a thread, and what was made for it is freed there; handlers know nothing of that.
    """

    def __init__(self, handlers: Mapping[ApiKey, Handler], clock: Clock, in_thread: InThread) -> None:
        self._handlers = handlers
        self._clock = clock
        self._in_thread = in_thread

    def handle(self, request: Request) -> None:
        self._clock.slice_begins()
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
            spawn(self._finish(request, outcome))
        else:
            self._respond(request, outcome)

    async def _finish(self, request: Request, answer: Completion[Message | None]) -> None:
        try:
            response = await answer
        except Exception as error:
            self._failed(request, error)
        else:
            self._respond(request, response)

    def _respond(self, request: Request, response: Message | None) -> None:
        if response is None:
            if request.api_key is ApiKey.PRODUCE:
                request.no_response()
            self._sent(request)
        elif (request.api_key is not ApiKey.PRODUCE or request.unwritten) and has_many_structs(response, MANY):
            spawn(self._respond_in_thread(request, response))
        else:
            self._send(request, response)
            self._sent(request)
            if request.size > DECODED_AT_ONCE and request.api_key is not ApiKey.PRODUCE:
                self._free(request, [])

    async def _respond_in_thread(self, request: Request, response: Message) -> None:
        try:
            await self._in_thread(request.encode, response)
        except Exception as error:
            self._failed(request, error)
        else:
            self._send(request, response)
            self._sent(request)
            self._free(request, [response])

    def _sent(self, request: Request) -> None:
        afterwards, request.afterwards = request.afterwards, None
        if afterwards is not None:
            afterwards()

    def _free(self, request: Request, things: list[object]) -> None:
        """It is answered: what was asked, and made for the answer, goes in a thread."""
        things += [request.body, *request.kept]
        rest = request.rest
        request.body, request.rest, request.kept = None, None, ()
        spawn(_finished(self._in_thread(free, things), rest))

    def _send(self, request: Request, response: Message) -> None:
        try:
            request.respond(response)
        except Exception as error:
            self._failed(request, error)

    def _failed(self, request: Request, error: Exception) -> None:
        """Answer with the error in the API's own shape; where it has none, or that fails as well, hang up."""
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
                request.respond(response)
                return
        except Exception:
            log.exception("Could not answer %r with an error", request)
        request.close_connection(f"{request.api_key.name} failed: {code.name}")


async def _finished(work: Awaitable[None], rest: object) -> None:
    """The collector rests until then."""
    await work
