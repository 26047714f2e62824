"""A herder whose group, worker and topics are in memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from kafkapy.common.time import MockTime
from kafkapy.connect.group.assignment import ConnectAssignment
from kafkapy.connect.herder.callbacks import FutureCallback
from kafkapy.connect.herder.distributed_herder import DistributedHerder
from kafkapy.connect.herder.settings import HerderSettings
from kafkapy.connect.herder.task_requests import TaskRequest
from kafkapy.connect.storage import ConnectorTaskId, TargetState
from kafkapy.connect.topics.config_store import KafkaConfigStore
from kafkapy.connect.topics.status_store import KafkaStatusStore
from tests.connect.topics.fake_log import FakeLog

ME, URL = "member-1", "http://me:1"


class FakeMember:
    """A group in which this worker leads, and gets all that is configured."""

    def __init__(self, version: int = 2) -> None:
        self.member_id = ME
        self.current_protocol_version = version
        self.leader = ME
        self.rejoins = 0
        self.pending = True
        self.herder: Any = None
        self.give: Callable[[], ConnectAssignment] | None = None
        self.generation = 0

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def wakeup(self) -> None: ...
    def leave(self, reason: str) -> None: ...

    def request_rejoin(self, reason: str = "") -> None:
        self.rejoins += 1
        self.pending = True

    def ensure_active(self) -> bool:
        if self.pending:
            self.pending = False
            self.generation += 1
            state = self.herder.config_store.snapshot()
            given = self.give() if self.give is not None else self.all_of(state)
            self.herder.on_assigned(given, self.generation)
        return True

    def all_of(self, state: Any) -> ConnectAssignment:
        tasks = [task for name in state.connectors for task in state.tasks(name)]
        return ConnectAssignment(
            self.current_protocol_version, 0, self.leader, URL, state.offset, tuple(state.connectors), tuple(tasks)
        )

    def poll(self, timeout_ms: float | None) -> bool:
        return True

    def connector_url(self, connector: str) -> str | None:
        return "http://owner:1"

    def task_url(self, task: ConnectorTaskId) -> str | None:
        return "http://owner:1"


class FakeWorker:
    """Notes what it is asked for; connectors and tasks run at once."""

    worker_id = "me:1"
    config_transformer = None

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.running: set[str] = set()
        self.task_configs: list[dict[str, str]] = [{"n": "0"}]
        self.fenced: Future[None] = Future()
        self.plugins: Any = None
        self.checks: list[Callable[[], None]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))

    def start_connector(
        self, name: str, config: Any, context: Any, listener: Any, state: TargetState, callback: Any
    ) -> None:
        self.calls.append(("start_connector", name))
        self.running.add(name)
        listener.on_startup(name)
        callback(None, state)

    def is_running(self, name: str) -> bool:
        return name in self.running

    def connector_task_configs(self, name: str, config: Any) -> list[dict[str, str]]:
        return self.task_configs

    def set_target_state(self, name: str, state: TargetState, callback: Any) -> None:
        self.calls.append(("set_target_state", name, state))
        callback(None, state)

    def start_source_task(self, request: TaskRequest) -> bool:
        self.calls.append(("start_task", request.id))
        request.listener.on_startup(request.id)
        return True

    def start_exactly_once_source_task(self, request: TaskRequest) -> bool:
        assert request.checks is not None
        self.checks = [request.checks.before_producer, request.checks.after_producer]
        return self.start_source_task(request)

    def fence_zombies(self, name: str, tasks: int, config: Any) -> Future[None]:
        self.calls.append(("fence_zombies", name, tasks))
        return self.fenced

    def names(self, kind: str) -> list[Any]:
        return [call[1] for call in self.calls if call[0] == kind]


class Infos:
    error_count = 0
    configs: list[Any] = []


class Herder(DistributedHerder):
    def validation(self, config: Any) -> Any:
        return Infos()

    def validate_connector_config(self, config: Any, callback: Any) -> None:
        callback(None, self.validation(config))

    def connector_type(self, config: Any) -> str:
        return "source"


class FakeClient:
    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.error: Exception | None = None

    def send_signed(self, url: str, method: str, body: Any, key: bytes | None, algorithm: str) -> None:
        self.sent.append((url, method, body))
        if self.error is not None:
            raise self.error


class OneWorker:
    def __init__(self, version: int = 2, **settings: Any) -> None:
        self.logs: list[FakeLog] = []
        self.member = FakeMember(version)
        self.worker = FakeWorker()
        self.client = FakeClient()
        self.time = MockTime()
        self.herder = Herder(
            client=self.client,
            settings=HerderSettings("g", **settings),
            member=self.member,
            worker=self.worker,
            cluster_id="c",
            status_store=KafkaStatusStore(self._make_log),
            config_store=KafkaConfigStore("configs", self._make_log),
            time=self.time,
        )
        self.member.herder = self.herder
        self.herder.config_store.set_update_listener(self.herder)
        self.herder.initialize()
        self.turn()

    def _make_log(self, on_record: Any) -> Any:
        self.logs.append(FakeLog(on_record))
        return self.logs[-1]

    @property
    def config_log(self) -> FakeLog:
        return self.logs[1]

    def turn(self, times: int = 6) -> None:
        for _ in range(times):
            self.herder.tick()

    def ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the herder that answers a callback, and return the answer."""
        callback: FutureCallback[Any] = FutureCallback()
        bound = getattr(self.herder, method)
        before = {"put_connector_config": 2, "put_task_configs": 2, "fence_zombie_source_tasks": 1}
        place = before.get(method, len(arguments))
        bound(*arguments[:place], callback, *arguments[place:], **options)
        self.turn()
        return callback.result(timeout_s=5)

    def create(self, name: str = "a", tasks: int = 1) -> None:
        self.worker.task_configs = [{"n": str(number)} for number in range(tasks)]
        self.ask("put_connector_config", name, {"name": name, "connector.class": "X"})
        self.turn()
