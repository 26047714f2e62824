"""HTTP responses of the REST interface; errors have the form of Kafka's `ConnectExceptionMapper`."""

from __future__ import annotations

import json
import logging
from typing import Any

from kafkapy.connect.errors import AlreadyExistsException, ConnectRestException, NotFoundException
from kafkapy.connect.rest.json_body import JsonBodyError
from kafkapy.http.messages import HttpAnswer

log = logging.getLogger("kafkapy.connect.rest")

JSON = "application/json"


def json_answer(content: Any, status: int = 200, *headers: tuple[str, str]) -> HttpAnswer:
    """Return a response with a JSON body."""
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return HttpAnswer(status, body, (("content-type", JSON), *headers))


def empty_answer(status: int = 204) -> HttpAnswer:
    return HttpAnswer(status)


def error_answer(status: int, message: str | None, code: int | None = None) -> HttpAnswer:
    return json_answer({"error_code": status if code is None else code, "message": message}, status)


def failed_answer(path: str, error: BaseException) -> HttpAnswer:
    """Return the response to a request that has failed.

    Args:
        path: The request's, for the log.
        error: The exception.
    """
    message = getattr(error, "message", None) or str(error) or None
    if isinstance(error, ConnectRestException):
        return error_answer(error.status, message, error.error_code)
    if isinstance(error, NotFoundException):
        return error_answer(404, message)
    if isinstance(error, AlreadyExistsException):
        return error_answer(409, message)
    if not isinstance(error, JsonBodyError):
        log.error("Uncaught exception in REST call to %s", path, exc_info=error)
    return error_answer(500, message)
