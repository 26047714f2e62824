"""Runs a connector on a thread of its own (Kafka's `WorkerConnector`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from enum import Enum
from typing import Any, Protocol

from kafkapy.connect.connector import Connector
from kafkapy.connect.errors import (
    ClassCastException,
    ConnectException,
    ConnectorBusyException,
    IllegalArgumentException,
)
from kafkapy.connect.herder.callbacks import Callback
from kafkapy.connect.herder.sink_checks import refuse_wrong_topics
from kafkapy.connect.runtime.offset_storage import StoredOffsetReader
from kafkapy.connect.runtime.task_contexts import WorkerConnectorContext
from kafkapy.connect.runtime.worker_task import close_quietly
from kafkapy.connect.sink import SinkConnector
from kafkapy.connect.source import SourceConnector
from kafkapy.connect.storage import ConnectorStatusListener, TargetState

log = logging.getLogger("kafkapy.connect.runtime")


class HerderContext(Protocol):
    """The part of the herder's context that a `WorkerConnector` uses."""

    def request_task_reconfiguration(self) -> None: ...
    def raise_error(self, error: BaseException) -> None: ...
    def close(self) -> None: ...


class OffsetStoreLife(Protocol):
    """The part of an offset store that a connector starts and stops."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class _Stage(Enum):
    INIT = "INIT"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    STARTED = "STARTED"
    FAILED = "FAILED"


_STAGE_OF = {TargetState.PAUSED: _Stage.PAUSED, TargetState.STOPPED: _Stage.STOPPED}


def _texts_of(config: Mapping[str, str | None]) -> dict[str, str]:
    for key, value in config.items():
        if value is None:
            raise ClassCastException(f"Non-string value found in original settings for key {key}: null")
    return {key: value for key, value in config.items() if value is not None}


class _TaskConfigsRequest:
    def __init__(self, max_tasks: int) -> None:
        self.max_tasks = max_tasks
        self.answer: Future[Sequence[Mapping[str, str]]] = Future()


class WorkerConnector:
    """Runs a connector's code on a thread of its own, a daemon.

    Invariant: only the thread calls the connector's start and stop and changes `_stage`. `_pending` has the last
    requested state; it, `_asked`, `_stopping` and `_failure` change under `_changed`. The listener is not called after
    `cancel`.
    """

    def __init__(
        self,
        name: str,
        connector: Connector,
        config: Mapping[str, str | None],
        context: HerderContext,
        listener: ConnectorStatusListener,
        reader: StoredOffsetReader | None = None,
        offset_store: OffsetStoreLife | None = None,
    ) -> None:
        """
        Args:
            name: The connector's name.
            connector: The connector, not initialized yet.
            config: The connector's config.
            context: The herder's context; closed at the end.
            listener: Called for changes of its state.
            reader: Reads a source's offsets. None: a sink.
            offset_store: The reader's store, which this object starts and stops.

        Raises:
            ClassCastException: The config has a value that is null.
        """
        self.name = name
        self.connector = connector
        self._config = _texts_of(config)
        self._context = context
        self._listener = listener
        self._reader = reader
        self._offset_store = offset_store
        self._changed = threading.Condition()
        self._pending: tuple[TargetState, Callback] | None = None
        self._asked: _TaskConfigsRequest | None = None
        self._failure: BaseException | None = None
        self._stopping = False
        self._cancelled = False
        self._stage = _Stage.INIT
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self.run, name=f"connector-thread-{name}", daemon=True)

    # -- from the worker's threads

    def start(self) -> None:
        """Start the thread, without waiting."""
        self._thread.start()

    def transition_to(self, state: TargetState, callback: Callback) -> None:
        """Request a state; `callback` is called with it, or the error. A pending request is replaced by this one."""
        with self._changed:
            earlier, self._pending = self._pending, (state, callback)
            self._changed.notify_all()
        if earlier is not None:
            earlier[1](
                ConnectException(
                    f"Could not begin changing connector state to {earlier[0].name} before another request to change state "
                    f"was made; the new request (which is to change the state to {state.name}) has pre-empted this one"
                ),
                None,
            )

    def fail(self, cause: BaseException) -> None:
        """Fail the connector because of an external error; only the first one is stored."""
        with self._changed:
            if self._failure is not None:
                return
            log.error("Connector %s has failed: %s", self.name, cause)
            self._failure = cause
            self._changed.notify_all()

    def shutdown(self) -> None:
        """Request the end, without waiting."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def await_shutdown(self, timeout_ms: float) -> bool:
        """Wait for the end; return False after the time-out."""
        return self._ended.wait(max(0.0, timeout_ms / 1000))

    def cancel(self) -> None:
        """Abandon a connector that has not ended in time."""
        with self._changed:
            self._listener.on_shutdown(self.name)
            self._context.close()
            if self._reader is not None:
                self._reader.close()
            self._cancelled = True

    def task_configs(self, max_tasks: int, timeout_s: float) -> Sequence[Mapping[str, str]]:
        """Return the connector's task configs, computed on its own thread. A late result is used for the next call.

        Raises:
            ConnectorBusyException: It does not respond in time.
            ConnectException: It is being stopped.
            BaseException: The connector's error.
        """
        with self._changed:
            if self._stopping:
                raise ConnectException(f"Connector {self.name} has been stopped")
            asked = self._asked
            if asked is None or asked.max_tasks != max_tasks:
                asked = self._asked = _TaskConfigsRequest(max_tasks)
                self._changed.notify_all()
        try:
            return asked.answer.result(timeout_s)
        except FutureTimeoutError:
            if asked.answer.done():  # the connector itself has raised a TimeoutError
                raise
            raise ConnectorBusyException(f"Connector {self.name} does not answer with configs of tasks yet") from None
        finally:
            with self._changed:
                if asked.answer.done() and self._asked is asked:
                    self._asked = None

    @property
    def is_running(self) -> bool:
        return self._stage is _Stage.STARTED

    @property
    def is_sink(self) -> bool:
        return isinstance(self.connector, SinkConnector)

    # -- the connector's thread

    def run(self) -> None:
        """Run the connector to its end; the thread's function."""
        try:
            self._initialize()
            while self._turn():
                pass
            self._do_shutdown()
        except BaseException as error:
            log.error("The thread of connector %s ends with an error", self.name, exc_info=error)
        finally:
            self._ended.set()

    def _turn(self) -> bool:
        """Execute requests and wait for more; return False if the end was requested."""
        with self._changed:
            self._changed.wait_for(self._has_work)
            if self._stopping:
                return False
            failure, configs = self._failure, self._asked
            asked, self._pending = self._pending, None
        if failure is not None:
            self._on_failure(failure)
        if asked is not None:
            self._transition(*asked)
        if configs is not None and not configs.answer.done():
            self._answer(configs)
        return True

    def _answer(self, asked: _TaskConfigsRequest) -> None:
        try:
            asked.answer.set_result(list(self.connector.task_configs(asked.max_tasks)))
        except BaseException as error:
            asked.answer.set_exception(error)

    def _has_work(self) -> bool:
        fails = self._failure is not None and self._stage is not _Stage.FAILED
        asked = self._asked is not None and not self._asked.answer.done()
        return self._stopping or self._pending is not None or fails or asked

    def _initialize(self) -> None:
        try:
            if self.is_sink:
                refuse_wrong_topics(self._config)
            elif not isinstance(self.connector, SourceConnector):
                raise ConnectException(
                    "Connector implementations must be a subclass of either SourceConnector or SinkConnector"
                )
            elif self._offset_store is not None:
                self._offset_store.start()
            self.connector.initialize(WorkerConnectorContext(self._context, self._reader))
        except BaseException as error:
            log.error("Connector %s cannot be initialized", self.name, exc_info=error)
            self._on_failure(error)

    def _transition(self, state: TargetState, callback: Callback) -> None:
        if self._stage is _Stage.FAILED and state is not TargetState.STOPPED:
            text = f"WorkerConnector{{id={self.name}}} Cannot transition connector to {state.name} since it has failed"
            callback(ConnectException(text), None)
            return
        try:
            if state is TargetState.STARTED:
                self._start_or_resume()
            else:
                self._suspend(_STAGE_OF[state])
        except BaseException as error:
            wrapped = ConnectException(f"Failed to transition connector {self.name} to state {state.name}")
            wrapped.__cause__ = error
            callback(wrapped, None)
        else:
            callback(None, state)

    def _start_or_resume(self) -> None:
        if self._stage is _Stage.STARTED:
            return
        first = self._stage is _Stage.INIT
        try:
            self.connector.start(self._config)
        except BaseException as error:
            log.error("Connector %s cannot be started", self.name, exc_info=error)
            self._on_failure(error)
            raise
        self._stage = _Stage.STARTED
        self._tell("on_startup" if first else "on_resume")

    def _suspend(self, wanted: _Stage) -> None:
        if self._stage is wanted:
            return
        paused = wanted is _Stage.PAUSED
        told = "on_pause" if paused else "on_stop"
        try:
            if self._stage is _Stage.STARTED:
                self.connector.stop()
            if self._stage is _Stage.FAILED and paused:
                raise IllegalArgumentException(
                    "Cannot transition to non-stopped state when connector has already failed"
                )
            self._tell(told)
            self._stage = wanted
        except BaseException as error:
            log.error("Connector %s cannot be %s", self.name, wanted.value.lower(), exc_info=error)
            if paused:
                self._on_failure(error)
            else:  # it counts as stopped even so
                self._stage = _Stage.STOPPED
                self._tell(told)

    def _do_shutdown(self) -> None:
        with self._changed:
            asked, self._pending = self._pending, None
            configs, self._asked = self._asked, None
        if configs is not None and not configs.answer.done():
            configs.answer.set_exception(ConnectException(f"Connector {self.name} has been stopped"))
        try:
            if asked is not None:
                text = (
                    f"Could not begin changing connector state to {asked[0].name} as the connector has been scheduled "
                )
                asked[1](ConnectException(f"{text}for shutdown"), None)
            if self._stage is _Stage.STARTED:
                self.connector.stop()
            self._stage = _Stage.STOPPED
            self._tell("on_shutdown")
        except BaseException as error:
            log.error("Connector %s cannot be shut down", self.name, exc_info=error)
            self._stage = _Stage.FAILED
            self._tell("on_failure", error)
        finally:
            self._context.close()
            if self._reader is not None:
                self._reader.close()
            if self._offset_store is not None:
                close_quietly(_Stopper(self._offset_store), f"The offset store of {self.name}")

    def _on_failure(self, error: BaseException) -> None:
        if self._stage is _Stage.FAILED:
            return  # the first cause stays
        self._tell("on_failure", error)
        self._stage = _Stage.FAILED

    def _tell(self, event: str, *details: Any) -> None:
        with self._changed:
            if not self._cancelled:
                getattr(self._listener, event)(self.name, *details)


class _Stopper:
    def __init__(self, store: OffsetStoreLife) -> None:
        self._store = store

    def close(self) -> None:
        self._store.stop()
