"""Requests and responses, independent of the transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from kafkapy.common import strict_json


class HttpRequest(NamedTuple):
    """One request.

    `parts`: those of the path, unquoted. `query`: the last value of each parameter; `query_string` has all. `headers`:
    names in lower case.
    """

    method: str
    path: str
    parts: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    user: str | None = None
    query_string: str = ""

    def flag(self, name: str, default: bool = False) -> bool:
        text = self.query.get(name)
        return default if text is None else text.lower() == "true"

    def json(self) -> Any:
        """Parse the body. Raises JsonError."""
        return strict_json.loads(self.body)


class HttpAnswer(NamedTuple):
    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def path_parts(path: str) -> tuple[str, ...]:
    """Split a path, without empty parts: `/a//b/` gives (a, b)."""
    return tuple(unquote(part) for part in path.split("/") if part)


def json_answer(status: int, content: Any, content_type: str, *headers: tuple[str, str]) -> HttpAnswer:
    body = strict_json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    return HttpAnswer(status, body, (("content-type", content_type), *headers))


def error_answer(status: int, code: int, message: str, content_type: str, *headers: tuple[str, str]) -> HttpAnswer:
    return json_answer(status, {"error_code": code, "message": message}, content_type, *headers)
