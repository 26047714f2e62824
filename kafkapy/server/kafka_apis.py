"""Every request comes by here: it is given to its handler, and answered, whatever happens."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, cast

from kafkapy.network.channel import DECODED_AT_ONCE
from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.many import has_many_structs, let_go
from kafkapy.protocol.message import Message
from kafkapy.runtime.clock import InThread
from kafkapy.runtime.completion import Completion, run, spawn

log = logging.getLogger("kafkapy.server.KafkaApis")

Answer = Message | Awaitable[Message | None] | None
Handler = Callable[[Request], Answer]


MANY = 2_000
"""Structs of a response that take so long to encode that others would notice."""


class KafkaApis:
    """Calls the handler of a request and sees to it that the request is answered, whatever happens."""

    def __init__(self, handlers: Mapping[ApiKey, Handler], in_thread: InThread) -> None:
        """`in_thread` encodes answers that have much in them."""
        self._handlers = handlers
        self._in_thread = in_thread

    def handle(self, request: Request) -> None:
        try:
            answer = self._handlers[request.api_key](request)
        except Exception as error:
            self._failed(request, error)
            return
        if isinstance(answer, Message):
            self._respond(request, answer)
        elif answer is not None:
            self._run(request, answer)

    def _run(self, request: Request, handler: Awaitable[Message | None]) -> None:
        """Answer at once if the handler has nothing to wait for."""
        try:
            answer = (
                handler if isinstance(handler, Completion) else run(cast(Coroutine[Any, Any, Message | None], handler))
            )
        except Exception as error:
            self._failed(request, error)
            return
        if isinstance(answer, Completion):
            spawn(self._finish(request, answer))
        elif answer is not None:
            self._respond(request, answer)

    async def _finish(self, request: Request, answer: Awaitable[Message | None]) -> None:
        try:
            response = await answer
        except Exception as error:
            self._failed(request, error)
            return
        if response is not None:
            self._respond(request, response)

    def _respond(self, request: Request, response: Message) -> None:
        if request.api_key is not ApiKey.PRODUCE and has_many_structs(response, MANY):
            spawn(self._respond_in_thread(request, response))
        else:
            self._send(request, response)
            if request.size > DECODED_AT_ONCE and request.api_key is not ApiKey.PRODUCE:
                self._let_go(request, [])

    async def _respond_in_thread(self, request: Request, response: Message) -> None:
        try:
            await self._in_thread(request.encode, response)
        except Exception as error:
            self._failed(request, error)
        else:
            self._send(request, response)
            self._let_go(request, [response])

    def _let_go(self, request: Request, messages: list[Message]) -> None:
        """It is answered, so nobody needs what was asked any more."""
        body, request.body = request.body, None
        messages.append(body)
        rest, request.rest = request.rest, None
        spawn(_finished(self._in_thread(let_go, messages), rest))

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
                request.note_errors(response)
                request.respond(response)
                return
        except Exception:
            log.exception("Could not answer %r with an error", request)
        request.close_connection(f"{request.api_key.name} failed: {code.name}")


async def _finished(work: Awaitable[None], rest: object) -> None:
    """The collector rests until then."""
    await work
