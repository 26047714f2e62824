"""Requests whose answers are bounded, so that a server cannot fill the worker's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.connect.errors import ConnectException

if TYPE_CHECKING:
    import httpx

_OF_THE_TRANSFER = ("content-encoding", "content-length", "transfer-encoding")


def send_bounded(client: httpx.Client, request: httpx.Request, limit: int) -> httpx.Response:
    """Send a request, and read its answer.

    Args:
        client: Sends it.
        request: What is sent.
        limit: The most bytes of the answer, decompressed.

    Returns:
        The response with its whole, decompressed body.

    Raises:
        ConnectException: The answer is longer.
        httpx.HTTPError: The request has failed.
    """
    import httpx

    response = client.send(request, stream=True)
    body = bytearray()
    try:
        for part in response.iter_bytes():
            body += part
            if len(body) > limit:
                raise ConnectException(
                    f"{request.method} {request.url} was answered by more than {limit} bytes (http.response.max.bytes): ask for "
                    "smaller pages, or raise the limit"
                )
    finally:
        response.close()
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_THE_TRANSFER]
    return httpx.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)
