"""`/connectors` (Kafka's `ConnectorsResource`)."""

from __future__ import annotations

import logging
import re
from typing import Any
from urllib.parse import quote

from kafkapy.connect.errors import BadRequestException, ConnectRestException, NotFoundException
from kafkapy.connect.herder.callbacks import FutureCallback
from kafkapy.connect.herder.distributed_herder import DistributedHerder
from kafkapy.connect.herder.infos import ConnectorInfo, Created, task_id_info
from kafkapy.connect.rest.answers import empty_answer, json_answer
from kafkapy.connect.rest.completion import RequestCompletion
from kafkapy.connect.rest.json_body import (
    ConnectorOffset,
    CreateRequest,
    JsonBodyError,
    connector_offsets,
    read_body,
    string_map,
)
from kafkapy.connect.rest.routing import ConnectRoute, RestRequest
from kafkapy.connect.rest.worker_client import WorkerAnswer
from kafkapy.connect.storage import ConnectorTaskId, RestartRequest
from kafkapy.http.messages import HttpAnswer

log = logging.getLogger("kafkapy.connect.rest")

_NAME = "name"

_TRIMMED = "".join(map(chr, range(33)))
"""What Java's `String.trim` takes away."""
_KEPT = "/!$&'()*+,;=:@~"
"""What Java's `UriBuilder` leaves in a path."""
_PERCENT = re.compile("%25([0-9A-Fa-f]{2})")


class ConnectorsResource:
    """Each public method serves one endpoint, on a request thread."""

    def __init__(
        self,
        herder: DistributedHerder,
        completion: RequestCompletion,
        topic_tracking: bool = True,
        topic_reset: bool = True,
    ) -> None:
        """
        Args:
            herder: Answers.
            completion: Waits for the herder, and forwards requests.
            topic_tracking: The worker's `topic.tracking.enable`.
            topic_reset: The worker's `topic.tracking.allow.reset`.
        """
        self._herder = herder
        self._completion = completion
        self._topic_tracking = topic_tracking
        self._topic_reset = topic_reset

    def routes(self) -> list[ConnectRoute]:
        one = "/connectors/{connector}"
        return [
            ConnectRoute("GET", "/connectors", self.list_connectors),
            ConnectRoute("POST", "/connectors", self.create),
            ConnectRoute("GET", one, self.get),
            ConnectRoute("DELETE", one, self.delete),
            ConnectRoute("GET", f"{one}/config", self.get_config),
            ConnectRoute("PUT", f"{one}/config", self.put_config),
            ConnectRoute("PATCH", f"{one}/config", self.patch_config),
            ConnectRoute("GET", f"{one}/tasks-config", self.tasks_config),
            ConnectRoute("GET", f"{one}/status", self.status),
            ConnectRoute("GET", f"{one}/topics", self.topics),
            ConnectRoute("PUT", f"{one}/topics/reset", self.reset_topics),
            ConnectRoute("POST", f"{one}/restart", self.restart),
            ConnectRoute("PUT", f"{one}/stop", self.stop),
            ConnectRoute("PUT", f"{one}/pause", self.pause),
            ConnectRoute("PUT", f"{one}/resume", self.resume),
            ConnectRoute("GET", f"{one}/tasks", self.tasks),
            ConnectRoute("GET", f"{one}/tasks/{{task}}/status", self.task_status),
            ConnectRoute("POST", f"{one}/tasks/{{task}}/restart", self.restart_task),
            ConnectRoute("GET", f"{one}/offsets", self.get_offsets),
            ConnectRoute("PATCH", f"{one}/offsets", self.alter_offsets),
            ConnectRoute("DELETE", f"{one}/offsets", self.reset_offsets),
        ]

    # -- reading

    def list_connectors(self, request: RestRequest) -> HttpAnswer:
        expansions = request.query.get("expand")
        names = self._herder.connector_names()
        if expansions is None:
            return json_answer(names)
        out = {}
        for name in names:
            try:
                out[name] = {kind: self._expansion(kind, name) for kind in expansions if kind in ("status", "info")}
            except NotFoundException:
                log.debug("Unable to get connector info for %s on this worker", name)
        return json_answer(out)

    def _expansion(self, kind: str, name: str) -> Any:
        if kind == "status":
            return self._herder.connector_status(name).to_json()
        info = self._herder.connector_info_now(name)
        return None if info is None else info.to_json()

    def get(self, request: RestRequest) -> HttpAnswer:
        info: FutureCallback[ConnectorInfo] = FutureCallback()
        self._herder.connector_info(request.path["connector"], info)
        return json_answer(self._completion.complete(info).to_json())

    def get_config(self, request: RestRequest) -> HttpAnswer:
        config: FutureCallback[Any] = FutureCallback()
        self._herder.connector_config(request.path["connector"], config)
        return json_answer(dict(self._completion.complete(config)))

    def tasks_config(self, request: RestRequest) -> HttpAnswer:
        configs: FutureCallback[Any] = FutureCallback()
        self._herder.tasks_config(request.path["connector"], configs)
        return json_answer({str(task): dict(config) for task, config in self._completion.complete(configs).items()})

    def tasks(self, request: RestRequest) -> HttpAnswer:
        configs: FutureCallback[Any] = FutureCallback()
        self._herder.task_configs(request.path["connector"], configs)
        return json_answer(
            [{"id": task_id_info(task), "config": dict(config)} for task, config in self._completion.complete(configs)]
        )

    def status(self, request: RestRequest) -> HttpAnswer:
        return json_answer(self._herder.connector_status(request.path["connector"]).to_json())

    def task_status(self, request: RestRequest) -> HttpAnswer:
        return json_answer(self._herder.task_status(_task(request)).to_json())

    # -- topics

    def topics(self, request: RestRequest) -> HttpAnswer:
        self._require_tracking()
        name = request.path["connector"]
        return json_answer({name: {"topics": self._herder.active_topics(name)}})

    def reset_topics(self, request: RestRequest) -> HttpAnswer:
        self._require_tracking()
        if not self._topic_reset:
            raise ConnectRestException(403, "Topic tracking reset is disabled.")
        self._herder.reset_active_topics(request.path["connector"])
        return empty_answer(202)

    def _require_tracking(self) -> None:
        if not self._topic_tracking:
            raise ConnectRestException(403, "Topic tracking is disabled.")

    # -- configs

    def create(self, request: RestRequest) -> HttpAnswer:
        body = CreateRequest.of(read_body(request.body))
        if body is None:
            raise JsonBodyError('Cannot invoke "CreateConnectorRequest.name()" because "createRequest" is null')
        name = (body.name or "").strip(_TRIMMED)
        config = _with_name(name, body.config)
        created: FutureCallback[Created] = FutureCallback()
        self._herder.put_connector_config(name, config, created, False, body.target_state)
        sent = body._replace(config=config).to_json()
        info, _ = self._created(created, request, "/connectors", sent)
        return json_answer(info, 201, _location(request, name))

    def put_config(self, request: RestRequest) -> HttpAnswer:
        name = request.path["connector"]
        config = _with_name(name, string_map(read_body(request.body)))
        created: FutureCallback[Created] = FutureCallback()
        self._herder.put_connector_config(name, config, created)
        info, new = self._created(created, request, _path(name, "/config"), config)
        return json_answer(info, 201, _location(request, name)) if new else json_answer(info)

    def patch_config(self, request: RestRequest) -> HttpAnswer:
        name = request.path["connector"]
        patch = string_map(read_body(request.body))
        if patch is None:
            raise JsonBodyError('Cannot invoke "java.util.Map.forEach" because "patch" is null')
        created: FutureCallback[Created] = FutureCallback()
        self._herder.patch_connector_config(name, patch, created)
        info, _ = self._created(created, request, _path(name, "/config"), patch)
        return json_answer(info)

    def _created(
        self, callback: FutureCallback[Created], request: RestRequest, path: str, body: Any
    ) -> tuple[Any, bool]:
        outcome = self._completion.complete_or_forward(callback, request, path, body)
        if isinstance(outcome, WorkerAnswer):
            return outcome.body, outcome.status == 201
        return None if outcome.info is None else outcome.info.to_json(), outcome.created

    def delete(self, request: RestRequest) -> HttpAnswer:
        name = request.path["connector"]
        deleted: FutureCallback[Created] = FutureCallback()
        self._herder.delete_connector_config(name, deleted)
        self._completion.complete_or_forward(deleted, request, _path(name))
        return empty_answer()

    # -- states

    def stop(self, request: RestRequest) -> HttpAnswer:
        name = request.path["connector"]
        stopped: FutureCallback[None] = FutureCallback()
        self._herder.stop_connector(name, stopped)
        self._completion.complete_or_forward(stopped, request, _path(name, "/stop"))
        return empty_answer()

    def pause(self, request: RestRequest) -> HttpAnswer:
        self._herder.pause_connector(request.path["connector"])
        return empty_answer(202)

    def resume(self, request: RestRequest) -> HttpAnswer:
        self._herder.resume_connector(request.path["connector"])
        return empty_answer(202)

    def restart(self, request: RestRequest) -> HttpAnswer:
        name = request.path["connector"]
        include_tasks, only_failed = _flag(request, "includeTasks"), _flag(request, "onlyFailed")
        restart = RestartRequest(name, only_failed, include_tasks)
        path = _path(name, "/restart")
        if restart.force_connector_only:
            done: FutureCallback[None] = FutureCallback()
            self._herder.restart_connector(name, done)
            self._completion.complete_or_forward(done, request, path)
            return empty_answer()
        state: FutureCallback[Any] = FutureCallback()
        self._herder.restart_connector_and_tasks(restart, state)
        query = {"includeTasks": str(include_tasks).lower(), "onlyFailed": str(only_failed).lower()}
        outcome = self._completion.complete_or_forward(state, request, path, query=query)
        return json_answer(outcome.body if isinstance(outcome, WorkerAnswer) else outcome.to_json(), 202)

    def restart_task(self, request: RestRequest) -> HttpAnswer:
        task = _task(request)
        done: FutureCallback[None] = FutureCallback()
        self._herder.restart_task(task, done)
        self._completion.complete_or_forward(done, request, _path(task.connector, f"/tasks/{task.task}/restart"))
        return empty_answer()

    # -- offsets

    def get_offsets(self, request: RestRequest) -> HttpAnswer:
        offsets: FutureCallback[Any] = FutureCallback()
        self._herder.connector_offsets(request.path["connector"], offsets)
        return json_answer({"offsets": _offsets_json(self._completion.complete(offsets))})

    def alter_offsets(self, request: RestRequest) -> HttpAnswer:
        name = request.path["connector"]
        offsets = connector_offsets(read_body(request.body, with_numbers=True))
        if not offsets:
            raise BadRequestException("Partitions / offsets need to be provided for an alter offsets request")
        altered: FutureCallback[Any] = FutureCallback()
        self._herder.alter_connector_offsets(name, [(each.partition, each.offset) for each in offsets], altered)
        sent = {"offsets": [each._asdict() for each in offsets]}
        return self._message(altered, request, _path(name, "/offsets"), sent)

    def reset_offsets(self, request: RestRequest) -> HttpAnswer:
        name = request.path["connector"]
        reset: FutureCallback[Any] = FutureCallback()
        self._herder.reset_connector_offsets(name, reset)
        return self._message(reset, request, _path(name, "/offsets"), None)

    def _message(self, callback: FutureCallback[Any], request: RestRequest, path: str, body: Any) -> HttpAnswer:
        outcome = self._completion.complete_or_forward(callback, request, path, body)
        return json_answer(outcome.body if isinstance(outcome, WorkerAnswer) else {"message": str(outcome)})


def _offsets_json(offsets: Any) -> list[dict[str, Any]]:
    """Convert pairs (partition, offset) to JSON."""
    return [ConnectorOffset(partition, offset)._asdict() for partition, offset in offsets]


def _with_name(name: str, config: dict[str, str | None] | None) -> dict[str, str | None]:
    """Return the config with the connector's name added. Raises BadRequestException, JsonBodyError."""
    if config is None:
        raise JsonBodyError('Cannot invoke "java.util.Map.get(Object)" because "connectorConfig" is null')
    included = config.get(_NAME)
    if included is None:
        return {**config, _NAME: name}
    if included != name:
        raise BadRequestException(
            f"Connector name configuration ({included}) doesn't match connector name in the URL ({name})"
        )
    return config


def _path(name: str, rest: str = "") -> str:
    return f"/connectors/{quote(name, safe='')}{rest}"


def _location(request: RestRequest, name: str) -> tuple[str, str]:
    host = request.http.headers.get("host", "")
    return "location", f"http://{host}/connectors/{_PERCENT.sub(_as_it_is, quote(name, safe=_KEPT))}"


def _as_it_is(escaped: re.Match[str]) -> str:
    """What has the form of an escape stays one, as in Java's `UriBuilder`."""
    return "%" + escaped[1]


def _flag(request: RestRequest, name: str) -> bool:
    return (request.parameter(name) or "").lower() == "true"


def _task(request: RestRequest) -> ConnectorTaskId:
    """Raises ConnectRestException."""
    text = request.path["task"]
    digits = text.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
        raise ConnectRestException(404, "HTTP 404 Not Found")
    return ConnectorTaskId(request.path["connector"], int(text))
