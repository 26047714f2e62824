"""Waits for the herder, or forwards a request to the responsible worker (Kafka's `HerderRequestHandler`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar
from urllib.parse import urlencode

from kafkapy.connect.errors import ConnectRestException, RebalanceNeededException, RequestTargetException
from kafkapy.connect.herder.abstract_herder import AbstractHerder
from kafkapy.connect.herder.callbacks import FutureCallback
from kafkapy.connect.rest.routing import RestRequest
from kafkapy.connect.rest.worker_client import RestWorkerClient, WorkerAnswer

log = logging.getLogger("kafkapy.connect.rest")

T = TypeVar("T")

DEFAULT_TIMEOUT_S = 90.0


class RequestCompletion:
    """Invariant: a request is forwarded at most twice: to the leader, and from there to the owner."""

    def __init__(
        self, herder: AbstractHerder, client: RestWorkerClient | None, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        """
        Args:
            herder: Answers.
            client: Sends requests to other workers; None: there are none. timeout_s: Limit of the herder's work, in
                seconds.
        """
        self._herder = herder
        self._client = client
        self.timeout_s = timeout_s

    def complete(self, callback: FutureCallback[T]) -> T:
        """Wait for the result. Raises the herder's error, ConnectRestException."""
        try:
            return callback.result(self.timeout_s)
        except (TimeoutError, FutureTimeoutError):
            stage = self._herder.stage
            summary = "" if stage is None else f". {stage.summarize()}"
            raise ConnectRestException(500, f"Request timed out{summary}") from None

    def complete_or_forward(
        self,
        callback: FutureCallback[T],
        request: RestRequest,
        path: str,
        body: Any = None,
        query: Mapping[str, str] | None = None,
    ) -> T | WorkerAnswer:
        """Wait for the result; forward the request if another worker is responsible.

        Args:
            callback: Receives the herder's result.
            request: The user's request.
            path: The path at the other worker, quoted.
            body: The JSON body to send; None: no body. query: The query parameters to send.

        Raises:
            ConnectRestException: No worker can serve the request now, or the other worker has refused it.
        """
        forward = request.parameter("forward")
        try:
            return self.complete(callback)
        except RequestTargetException as error:
            if forward is not None and forward.lower() != "true":
                log.error("'%s %s' reached no worker that can answer within two hops", request.http.method, path)
                raise ConnectRestException(
                    409, "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
                ) from None
            url = error.forward_url
            if not url or self._client is None:
                raise ConnectRestException(
                    409,
                    "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was "
                    "underway.",
                ) from None
            parameters = {"forward": str(forward is None).lower(), **(query or {})}
            where = f"{url.rstrip('/')}{path}?{urlencode(parameters)}"
            return self._client.forward(where, request.http.method, body, request.http.headers.get("authorization"))
        except RebalanceNeededException:
            raise ConnectRestException(
                409,
                "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent "
                "config change)",
            ) from None
