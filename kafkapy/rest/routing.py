"""Routes requests to their handlers, and converts refusals to responses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkapy.errors import KafkaError
from kafkapy.http.content_types import accepted
from kafkapy.http.messages import HttpAnswer, HttpRequest, error_answer, json_answer
from kafkapy.rest.rest_errors import RestRefusal, bad_request, not_found, of_kafka

V2 = "application/vnd.kafka.v2+json"
JSON = "application/json"

Action = Callable[[HttpRequest, tuple[str, ...]], "Coroutine[Any, Any, Any] | Deferred[Any]"]
"""The request and the path's parameters -> JSON, None for 204, or a whole response."""


class RestRoute(NamedTuple):
    """One route. `parts`: those of the path, None: a parameter. `offered`: content types of responses, the default
    first."""

    method: str
    parts: tuple[str | None, ...]
    action: Action
    offered: tuple[str, ...] = (JSON,)


class RestRouter:
    def __init__(self, routes: Iterable[RestRoute]) -> None:
        """`routes`: the first part of each path must not be a parameter."""
        self._routes: dict[tuple[int, str | None], list[RestRoute]] = {}
        for route in routes:
            self._routes.setdefault((len(route.parts), route.parts[0] if route.parts else None), []).append(route)

    def handle(self, request: HttpRequest) -> HttpAnswer | Deferred[HttpAnswer]:
        """Return the response or a Deferred of it, which fails only with internal errors of the proxy."""
        content_type = V2 if not request.path.startswith(("/v3", "/events")) else JSON
        try:
            route, parameters = self._find(request)
            wanted = accepted(request.headers.get("accept"), route.offered)
            if wanted is None:
                raise RestRefusal(406, 406, "HTTP 406 Not Acceptable")
            found = route.action(request, parameters)
        except RestRefusal as refusal:
            return refused(refusal, content_type)
        answer: Deferred[Any] = found if isinstance(found, Deferred) else Deferred.fromCoroutine(found)
        return answer.addCallbacks(_answered, _failed, callbackArgs=(wanted,), errbackArgs=(wanted,))

    def _find(self, request: HttpRequest) -> tuple[RestRoute, tuple[str, ...]]:
        known = False
        method = "GET" if request.method == "HEAD" else request.method
        for route in self._routes.get((len(request.parts), request.parts[0] if request.parts else None), ()):
            pairs = list(zip(route.parts, request.parts, strict=True))
            if all(own in (None, given) for own, given in pairs):
                known = True
                if route.method == method:
                    return route, tuple(given for own, given in pairs if own is None)
        raise RestRefusal(405, 405, "HTTP 405 Method Not Allowed") if known else not_found()


def _answered(answer: Any, content_type: str) -> HttpAnswer:
    if isinstance(answer, HttpAnswer):
        return answer
    return HttpAnswer(204) if answer is None else json_answer(200, answer, content_type)


def _failed(failure: Failure, content_type: str) -> HttpAnswer:
    if isinstance(failure.value, RestRefusal):
        return refused(failure.value, content_type)
    if isinstance(failure.value, KafkaError):
        return refused(of_kafka(failure.value), content_type)
    assert failure.value is not None
    raise failure.value


def refused(refusal: RestRefusal, content_type: str) -> HttpAnswer:
    headers = (("retry-after", str(refusal.retry_after)),) if refusal.retry_after is not None else ()
    return error_answer(refusal.status, refusal.code, refusal.message, content_type, *headers)


def json_body(request: HttpRequest, empty: Any = None) -> Any:
    """Parse the body, a JSON object. `empty`: the result for an empty body. Raises RestRefusal."""
    if not request.body and empty is not None:
        return empty
    try:
        body = request.json()
    except ValueError as error:
        raise bad_request(f"The body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise RestRefusal(422, 422, "The body is a JSON object")
    return body
