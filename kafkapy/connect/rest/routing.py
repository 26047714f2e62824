"""Routes requests by the rules of JAX-RS, including 404, 405, 406, 415, OPTIONS and HEAD."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qs

from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.connect.rest.answers import JSON, error_answer
from kafkapy.http.messages import HttpAnswer, HttpRequest

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class RestRequest(NamedTuple):
    """A routed request. `path`: values of the parts in braces. `query`: all values of each parameter."""

    http: HttpRequest
    path: Mapping[str, str]
    query: Mapping[str, list[str]]

    def parameter(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else default

    @property
    def body(self) -> bytes:
        return self.http.body


Answer = Callable[[RestRequest], HttpAnswer]


class ConnectRoute(NamedTuple):
    """`template`: for example `/connectors/{connector}/status`. `body`: needs a JSON body; `any_body`: a body of any
    type."""

    method: str
    template: str
    answer: Answer
    any_body: bool = False


class ConnectRouter:
    """Finds the routes of a request."""

    def __init__(self, routes: list[ConnectRoute]) -> None:
        self._routes = [(tuple(route.template.strip("/").split("/")), route) for route in routes]

    def find(self, request: HttpRequest) -> tuple[ConnectRoute, RestRequest] | HttpAnswer:
        """Return the route with its request, or the error response if no route matches."""
        if _BAD_ESCAPE.search(request.path):
            return HttpAnswer(400)
        matching = [
            (route, values)
            for template, route in self._routes
            if "//" not in request.path and (values := _match(template, request.parts)) is not None
        ]
        if not matching:
            return _refusal(404, "Not Found")
        literal = min(len(values) for _, values in matching)
        matching = [(route, values) for route, values in matching if len(values) == literal]
        methods = [route.method for route, _ in matching]
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS":
            return _options(methods, request.headers.get("accept"))
        if method not in methods:
            return _refusal(405, "Method Not Allowed")
        route, values = matching[methods.index(method)]
        if not _accepts_json(request.headers.get("accept")):
            return _refusal(406, "Not Acceptable")
        if request.body and not route.any_body and not _is_json(request.headers.get("content-type")):
            refusal = error_answer(415, "HTTP 415 Unsupported Media Type")
            return refusal if "content-type" not in request.headers else refusal._replace(headers=())
        query = parse_qs(request.query_string, keep_blank_values=True, max_num_fields=100)
        return route, RestRequest(request, values, query)


def _refusal(status: int, reason: str) -> HttpAnswer:
    """Return an error response of the router; like Jersey's, it has no content type."""
    return error_answer(status, f"HTTP {status} {reason}")._replace(headers=())


def _match(template: tuple[str, ...], parts: tuple[str, ...]) -> dict[str, str] | None:
    if template == ("",):
        return {} if not parts else None
    if len(template) != len(parts):
        return None
    values = {}
    for pattern, part in zip(template, parts, strict=True):
        if pattern.startswith("{"):
            values[pattern[1:-1]] = part
        elif pattern != part:
            return None
    return values


def _options(methods: list[str], accept: str | None) -> HttpAnswer:
    allowed = hash_map_order([*methods, "OPTIONS", *(["HEAD"] if "GET" in methods else ())])
    kinds = [part.split(";")[0].strip().lower() for part in (accept or "*/*").split(",")]
    is_text = any(kind in ("text/plain", "text/*", "*/*") for kind in kinds)
    body = ", ".join(allowed).encode() if is_text else b""
    return HttpAnswer(200, body, (("content-type", "text/plain" if is_text else JSON), ("allow", ",".join(allowed))))


def _accepts_json(accept: str | None) -> bool:
    if accept is None:
        return True
    kinds = [part.split(";")[0].strip().lower() for part in accept.split(",")]
    return any(kind in (JSON, "application/*", "*/*", "*", "") for kind in kinds)


def _is_json(content_type: str | None) -> bool:
    return content_type is not None and content_type.split(";")[0].strip().lower() == JSON
