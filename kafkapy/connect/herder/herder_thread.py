"""The distributed herder's thread: its life, the requests that run on it, and the configs that it reads and writes.

All changes of the worker's connectors and tasks happen on this thread, one after the other.
"""

from __future__ import annotations

import logging
import threading
import time as system_time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafkapy.connect.errors import ConnectException, StartCancelled
from kafkapy.connect.herder.abstract_herder import AbstractHerder
from kafkapy.connect.herder.callbacks import Callback, WorkStage
from kafkapy.connect.herder.infos import Config
from kafkapy.connect.herder.request_queue import HerderRequest, RequestQueue
from kafkapy.connect.herder.settings import HerderSettings
from kafkapy.connect.herder.worker_membership import WorkerMembership
from kafkapy.connect.storage import EMPTY_CONFIG_STATE

log = logging.getLogger("kafkapy.connect.herder")

_STOP_S = 60.0
_PRIVILEGED = "org.apache.kafka.connect.storage.PrivilegedWriteException"


class HerderThread(AbstractHerder):
    """Invariant: `config_state` is replaced on the herder's thread only. `_can_read_configs` is False from a failure to
    read the configs topic until it was read to its end; `_fenced` is True from a write that another leader has refused
    until this worker has reclaimed its privileges.
    """

    def __init__(
        self,
        settings: HerderSettings,
        member: WorkerMembership,
        stopping: threading.Event | None = None,
        **common: Any,
    ) -> None:
        """
        Args:
            settings: The worker's.
            member: The membership; its listener must be this herder.
            stopping: Set by `request_stop`. Logs that are being read to their ends give up then. Default: its own.
            common: Arguments of `AbstractHerder`.
        """
        super().__init__(**common)
        self.settings = settings
        self.member = member
        self.config_state = EMPTY_CONFIG_STATE
        self.failure: BaseException | None = None
        """The error that has ended the herder's thread; None while it runs, and after `stop`."""
        self._requests = RequestQueue()
        self._lock = threading.RLock()
        self._stopping = stopping or threading.Event()
        self._thread: threading.Thread | None = None
        self._stage: WorkStage | None = WorkStage("awaiting startup", self._now())
        self._can_read_configs = True
        self._fenced = False

    @abstractmethod
    def tick(self) -> None:
        """Run one iteration."""

    # -- life cycle

    def initialize(self) -> None:
        """Start worker and stores, and read the topics; on the herder's thread. Raises ConnectException, KafkaError."""
        with self.in_stage("initializing and reading to the end of internal topics"):
            self._start_services()
            self.member.start()

    def start(self, on_failure: Callable[[], None] = lambda: None) -> None:
        """Initialize and run on a thread of its own; returns immediately.

        Args:
            on_failure: Called on the herder's thread if an error ends it, after `failure` is set. Default: nothing.
        """
        self._thread = threading.Thread(target=self._live, args=(on_failure,), name="connect-herder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the herder's thread, with all connectors and tasks, and wait for its end."""
        self.request_stop()
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def _live(self, on_failure: Callable[[], None]) -> None:
        try:
            self.initialize()
            self.run()
        except StartCancelled as cancelled:
            log.info("The worker stops before it has started: %s", cancelled)
            self._stop_services()
        except Exception as error:
            log.exception("The herder has failed, and the worker cannot continue")
            self.failure = error
            on_failure()

    def run(self) -> None:
        """Run the herder's thread until `request_stop`. Raises errors after which the worker can't continue."""
        while not self._stopping.is_set():
            self.tick()
            self._ready = True
        self._halt()

    def request_stop(self) -> None:
        """Let `run` end soon. Thread-safe."""
        self._stopping.set()
        self.member.wakeup()

    def _halt(self) -> None:
        with self.in_stage("shutting down"):
            log.info("Stopping connectors and tasks that are still assigned to this worker")
            self.worker.stop_and_await_connectors()
            self.worker.stop_and_await_tasks()
            for request in self._requests.take_all():
                request.failed(ConnectException("Worker is shutting down"), None)
            self.member.stop()
            self._stop_services()

    # -- stages of the work

    @property
    def stage(self) -> WorkStage | None:
        return self._stage

    def _now(self) -> int:
        return int(self.time.milliseconds())

    @contextmanager
    def in_stage(self, description: str) -> Iterator[None]:
        """Name what the herder's thread does meanwhile, for messages of time-outs."""
        self._stage = WorkStage(description, self._now())
        try:
            yield
        finally:
            self._stage = self._stage.completed(self._now())

    def _sleep(self, ms: int) -> None:
        with self.in_stage(f"sleeping for a backoff duration of {ms}ms"):
            end = system_time.monotonic() + ms / 1000
            while not self._stopping.wait(max(0.0, min(1.0, end - system_time.monotonic()))):
                if system_time.monotonic() >= end:
                    return

    # -- requests

    def add_request(self, action: Callable[[], None], failed: Callback, delay_ms: int = 0) -> HerderRequest:
        """Schedule `action` on the herder's thread.

        Args:
            action: The function to be called.
            failed: Called with the error that `action` raises.
            delay_ms: Delay from now, in ms. Default: none.
        """
        request, first = self._requests.add(self._now() + delay_ms, action, failed)
        if first:
            self.member.wakeup()
        return request

    def _run_requests(self) -> None:
        now = self._now()
        while (request := self._requests.take_due(now)) is not None:
            request.run()

    # -- configs

    def _raw_config(self, connector: str) -> Config | None:
        return self.config_state.raw_connector_config(connector)

    def refresh_configs(self, timeout_ms: float) -> bool:
        """Read the configs topic to its end; False: timed out."""
        try:
            with self.in_stage("reading to the end of the config topic"):
                self.config_store.refresh(timeout_ms)
        except TimeoutError as error:
            log.warning("Didn't reach end of config log quickly enough: %s", error)
            self._can_read_configs = False
            return False
        self.config_state = self.config_store.snapshot()
        return True

    def write_as_leader(self, description: str, write: Callable[[], None]) -> None:
        """Write configs. Raises ConnectException, also if another leader has fenced this worker."""
        try:
            with self.in_stage(description):
                write()
        except ConnectException as error:
            if error.java_class != _PRIVILEGED:
                raise
            self._fenced = True
            raise ConnectException(
                "Failed to write to config topic; this may be due to a transient error and the request can be safely retried"
            ) from error
