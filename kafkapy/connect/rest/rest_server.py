"""The HTTP server of a worker: Twisted's reactor receives requests, threads serve them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kafkapy.connect.herder.distributed_herder import DistributedHerder
from kafkapy.connect.rest.answers import error_answer, failed_answer
from kafkapy.connect.rest.completion import RequestCompletion
from kafkapy.connect.rest.connectors_resource import ConnectorsResource
from kafkapy.connect.rest.other_resources import (
    InternalResource,
    LoggersResource,
    PluginsResource,
    RootResource,
)
from kafkapy.connect.rest.rest_extensions import PasswordFileAuth
from kafkapy.connect.rest.routing import ConnectRouter
from kafkapy.connect.rest.worker_client import RestWorkerClient
from kafkapy.http.messages import HttpAnswer, HttpRequest

log = logging.getLogger("kafkapy.connect.rest")


class RestApi:
    """All endpoints as one blocking function, called on request threads."""

    def __init__(
        self,
        herder: DistributedHerder,
        client: RestWorkerClient,
        timeout_s: float = 90.0,
        health_timeout_s: float = 10.0,
        with_admin: bool = True,
        auth: PasswordFileAuth | None = None,
    ) -> None:
        """
        Args:
            herder: Answers.
            client: Sends requests to other workers. timeout_s: Limit of the herder's work, in seconds.
                health_timeout_s: The limit for `/health`, in seconds. with_admin: True: `/admin` is served here, too;
                False: it has separate listeners.
            auth: Checks requests, but not those to separate listeners of `/admin`; None: all are permitted.
        """
        self.completion = RequestCompletion(herder, client, timeout_s)
        loggers = LoggersResource(herder).routes()
        settings = herder.settings
        connectors = ConnectorsResource(
            herder, self.completion, settings.topic_tracking, settings.topic_tracking_allow_reset
        )
        regular = [
            *RootResource(herder, health_timeout_s).routes(),
            *connectors.routes(),
            *InternalResource(herder, self.completion).routes(),
            *PluginsResource(herder, self.completion).routes(),
        ]
        self._regular = ConnectRouter([*regular, *loggers] if with_admin else regular)
        self._admin = ConnectRouter(loggers)
        self._auth = auth

    def handle(self, request: HttpRequest) -> HttpAnswer:
        return answer_with(self._regular, request, self._auth)

    def handle_admin(self, request: HttpRequest) -> HttpAnswer:
        return answer_with(self._admin, request)


def answer_with(router: ConnectRouter, request: HttpRequest, auth: PasswordFileAuth | None = None) -> HttpAnswer:
    """Call the route's handler if `auth` permits it; return its response, or the response for its error."""
    found = router.find(request)
    if isinstance(found, HttpAnswer):
        return found
    route, asked = found
    try:
        refusal = None if auth is None else auth.refusal(asked)
        if refusal is not None:
            return refusal
        return route.answer(asked)
    except BaseException as error:
        return failed_answer(request.path, error)


def on_threads(reactor: Any, pool: Any, handle: Callable[[HttpRequest], HttpAnswer]) -> Callable[[HttpRequest], Any]:
    """Return a handler for `listen` that runs on the threads of a pool."""
    from twisted.internet.threads import deferToThreadPool

    def answer(request: HttpRequest) -> Any:
        return deferToThreadPool(reactor, pool, handle, request)

    return answer


def starting_answer() -> HttpAnswer:
    return error_answer(503, "The worker is starting up")
