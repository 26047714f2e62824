"""Requests without connections."""

from __future__ import annotations

from typing import Any

from kafkapy.network.request import AnswerChannel, Request, RequestContext
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.security.principal import KafkaPrincipal


def request_of(
    user: str, api_key: ApiKey, version: int | None = None, client_id: str = "app", size: int = 100, body: Any = None
) -> Request:
    """As it is when its handler has returned."""
    context = RequestContext("1", "/127.0.0.1", "SASL", principal=KafkaPrincipal("User", user))
    context.client_id = client_id
    codec = ApiCodec(api_key, api_key.max_version if version is None else version)
    request = Request(AnswerChannel(), context, codec, 1, body)
    request.size = size
    return request
