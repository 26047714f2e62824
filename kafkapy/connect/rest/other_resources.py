"""`/`, `/health`, `/connector-plugins`, `/admin/loggers`, and requests between workers."""

from __future__ import annotations

from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any
from urllib.parse import quote

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.errors import (
    BadRequestException,
    ConnectException,
    ConnectRestException,
    NotFoundException,
    java_text_of,
)
from kafkapy.connect.herder.abstract_herder import CONNECTOR_CLASS
from kafkapy.connect.herder.callbacks import FutureCallback
from kafkapy.connect.herder.distributed_herder import DistributedHerder
from kafkapy.connect.herder.loggers import LEVELS
from kafkapy.connect.herder.session_keys import RequestSignature
from kafkapy.connect.rest.answers import empty_answer, json_answer
from kafkapy.connect.rest.completion import RequestCompletion
from kafkapy.connect.rest.json_body import JsonBodyError, read_body, string_map, string_maps
from kafkapy.connect.rest.routing import ConnectRoute, RestRequest
from kafkapy.http.messages import HttpAnswer

KAFKA_VERSION = "3.9.1"
KAFKA_COMMIT = "f745dfdcee2b9851"
"""The commit id that Apache's worker of this version shows."""


class RootResource:
    def __init__(self, herder: DistributedHerder, health_timeout_s: float = 10.0) -> None:
        """`health_timeout_s`: limit for the herder's thread to respond, in seconds."""
        self._herder = herder
        self._health_timeout_s = health_timeout_s

    def routes(self) -> list[ConnectRoute]:
        return [ConnectRoute("GET", "/", self.server_info), ConnectRoute("GET", "/health", self.health)]

    def server_info(self, request: RestRequest) -> HttpAnswer:
        return json_answer(
            {"version": KAFKA_VERSION, "commit": KAFKA_COMMIT, "kafka_cluster_id": self._herder.cluster_id}
        )

    def health(self, request: RestRequest) -> HttpAnswer:
        """Check whether the herder's thread responds in time (KIP-1017)."""
        alive: FutureCallback[None] = FutureCallback()
        self._herder.health_check(alive)
        try:
            alive.result(self._health_timeout_s)
        except (TimeoutError, FutureTimeoutError):
            stage = self._herder.stage
            detail = "" if stage is None else f" {stage.summarize()}"
            if not self._herder.is_ready:
                return json_answer({"status": "starting", "message": f"Worker is still starting up.{detail}"}, 503)
            message = f"Worker was unable to handle this request and may be unable to handle other requests.{detail}"
            return json_answer({"status": "unhealthy", "message": message}, 500)
        return json_answer(
            {"status": "healthy", "message": "Worker has completed startup and is ready to handle requests."}
        )


class PluginsResource:
    """`/connector-plugins`."""

    def __init__(self, herder: DistributedHerder, completion: RequestCompletion) -> None:
        self._herder = herder
        self._completion = completion

    def routes(self) -> list[ConnectRoute]:
        one = "/connector-plugins/{plugin}/config"
        return [
            ConnectRoute("GET", "/connector-plugins", self.list_plugins),
            ConnectRoute("GET", one, self.config),
            ConnectRoute("PUT", f"{one}/validate", self.validate),
        ]

    def list_plugins(self, request: RestRequest) -> HttpAnswer:
        connectors_only = (request.parameter("connectorsOnly", "true") or "").lower() == "true"
        return json_answer(
            [
                _plugin_info(plugin)
                for plugin in self._herder.plugins.list()
                if not connectors_only or plugin.type in ("sink", "source")
            ]
        )

    def config(self, request: RestRequest) -> HttpAnswer:
        from kafkapy.connect.herder.validation import plugin_config

        return json_answer([info.to_json() for info in plugin_config(self._herder.plugins, request.path["plugin"])])

    def validate(self, request: RestRequest) -> HttpAnswer:
        config = string_map(read_body(request.body))
        if config is None:
            raise JsonBodyError('Cannot invoke "java.util.Map.get(Object)" because "connectorConfig" is null')
        included, plugin = config.get(CONNECTOR_CLASS), request.path["plugin"]
        if included is not None and not _without_suffix(included).endswith(_without_suffix(plugin)):
            raise BadRequestException(f"Included connector type {included} does not match request type {plugin}")
        infos: FutureCallback[Any] = FutureCallback()
        self._herder.validate_connector_config(config, infos)
        try:
            return json_answer(self._completion.complete(infos).to_json())
        except (ConfigException, ConnectException) as error:
            if infos.done:  # Kafka's response has status 500, with the class of the other thread's exception
                raise ConnectRestException(500, java_text_of(error)) from error
            raise


def _plugin_info(plugin: Any) -> dict[str, Any]:
    info = {"class": plugin.class_name, "type": plugin.type}
    return info if plugin.version in (None, "undefined") else {**info, "version": plugin.version}


def _without_suffix(plugin: str) -> str:
    return plugin.removesuffix("Connector") or plugin


class LoggersResource:
    """`/admin/loggers` (KIP-495, KIP-976)."""

    def __init__(self, herder: DistributedHerder) -> None:
        self._herder = herder

    def routes(self) -> list[ConnectRoute]:
        return [
            ConnectRoute("GET", "/admin/loggers", self.list_loggers),
            ConnectRoute("GET", "/admin/loggers/{logger}", self.get),
            ConnectRoute("PUT", "/admin/loggers/{logger}", self.put),
        ]

    def list_loggers(self, request: RestRequest) -> HttpAnswer:
        return json_answer(self._herder.loggers.all_levels())

    def get(self, request: RestRequest) -> HttpAnswer:
        name = request.path["logger"]
        level = self._herder.loggers.level(name)
        if level is None:
            raise NotFoundException(f"Logger {name} not found.")
        return json_answer(level)

    def put(self, request: RestRequest) -> HttpAnswer:
        name = request.path["logger"]
        body = string_map(read_body(request.body))
        if body is None:
            raise JsonBodyError('Cannot invoke "java.util.Map.get(Object)" because "levelMap" is null')
        level = body.get("level")
        if level is None:
            raise BadRequestException("Desired 'level' parameter was not specified in request.")
        if level.upper() not in LEVELS:
            raise NotFoundException(f"invalid log level '{level}'.")
        if (request.parameter("scope") or "worker").lower() == "cluster":
            self._herder.set_cluster_logger_level(name, level)
            return empty_answer()
        return json_answer(self._herder.loggers.set_level(name, level))


class InternalResource:
    """Signed requests between workers (KIP-507)."""

    def __init__(self, herder: DistributedHerder, completion: RequestCompletion) -> None:
        self._herder = herder
        self._completion = completion

    def routes(self) -> list[ConnectRoute]:
        one = "/connectors/{connector}"
        return [
            ConnectRoute("POST", f"{one}/tasks", self.put_task_configs, any_body=True),
            ConnectRoute("PUT", f"{one}/fence", self.fence, any_body=True),
        ]

    def put_task_configs(self, request: RestRequest) -> HttpAnswer:
        name = request.path["connector"]
        configs = string_maps(read_body(request.body))
        written: FutureCallback[None] = FutureCallback()
        signature = RequestSignature.from_headers(request.body, request.http.headers)
        self._herder.put_task_configs(name, configs, written, signature)
        self._completion.complete_or_forward(written, request, f"/connectors/{quote(name, safe='')}/tasks", configs)
        return empty_answer()

    def fence(self, request: RestRequest) -> HttpAnswer:
        name = request.path["connector"]
        fenced: FutureCallback[None] = FutureCallback()
        signature = RequestSignature.from_headers(request.body, request.http.headers)
        self._herder.fence_zombie_source_tasks(name, fenced, signature)
        self._completion.complete_or_forward(fenced, request, f"/connectors/{quote(name, safe='')}/fence")
        return empty_answer()


def not_ready() -> ConnectRestException:
    """Return the response while the worker starts."""
    return ConnectRestException(503, "The worker is starting up")
