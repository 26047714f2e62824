"""Rounds of fencing of connectors' earlier tasks, which the leader runs (KIP-618)."""

from __future__ import annotations

import threading
from collections.abc import Collection

from kafkapy.connect.errors import ConnectException, ConnectRestException
from kafkapy.connect.herder.callbacks import Callback
from kafkapy.connect.herder.herder_thread import HerderThread
from kafkapy.connect.herder.infos import Config
from kafkapy.connect.herder.zombie_fencing import ZombieFencing


class SourceFencings:
    """Fences the earlier tasks of sources, one round at a time for each.

    Invariant: `_rounds` has the round of each connector that is under way; it is used under `_lock`.

    Args:
        herder: Owns the worker and the configs; `begin` is called on its thread.
    """

    def __init__(self, herder: HerderThread) -> None:
        self._herder = herder
        self._lock = threading.Lock()
        self._rounds: dict[str, ZombieFencing] = {}

    def begin(self, connector: str, config: Config, callback: Callback) -> None:
        """Fence the earlier tasks of a connector, or join the round that is under way.

        Args:
            connector: Its name.
            config: Its config.
            callback: Told the end.

        Raises:
            ConnectException: The configs cannot be read, or a record cannot be written.
        """
        if not self._herder.refresh_configs(self._herder.settings.worker_sync_timeout_ms):
            raise ConnectException("Failed to read to end of config topic before performing zombie fencing")
        state = self._herder.config_state
        tasks, recorded = state.task_count(connector), state.task_count_record(connector)
        if not state.pending_fencing(connector):
            callback(None, None)
        elif recorded is None or (recorded == 1 and tasks == 1):
            self._record_task_count(connector, tasks)
            callback(None, None)
        else:
            self._join_round(connector, recorded, tasks, config, callback)

    def end(self, error: ConnectException, connectors: Collection[str] | None = None) -> None:
        """End rounds with an error. Thread-safe.

        Args:
            error: Told to all that wait for them.
            connectors: Whose rounds. Default: all.
        """
        with self._lock:
            ended = [one for name, one in self._rounds.items() if connectors is None or name in connectors]
        for fencing in ended:
            fencing.finish(error)

    def _join_round(self, connector: str, recorded: int, tasks: int, config: Config, callback: Callback) -> None:
        generation = self._herder.config_state.task_config_generation(connector) or 0
        with self._lock:
            fencing = self._rounds.get(connector)
            begins = fencing is None
            if fencing is None:
                fencing = ZombieFencing(
                    lambda: self._herder.worker.fence_zombies(connector, recorded, config),
                    lambda: self._record(connector, tasks, generation),
                    self._herder.add_request,
                    lambda: self._forget(connector),
                )
                self._rounds[connector] = fencing
        fencing.add_callback(callback)
        if begins:
            try:
                with self._herder.in_stage(f"initiating a round of zombie fencing for connector {connector}"):
                    fencing.start()
            except Exception as error:
                fencing.finish(error)

    def _forget(self, connector: str) -> None:
        with self._lock:
            self._rounds.pop(connector, None)

    def _record(self, connector: str, tasks: int, generation: int) -> None:
        if not self._herder.refresh_configs(self._herder.settings.worker_sync_timeout_ms):
            raise ConnectException("Failed to read to end of config topic")
        if generation < (self._herder.config_state.task_config_generation(connector) or 0):
            raise ConnectRestException(
                409, "Fencing failed because new task configurations were generated for the connector"
            )
        self._record_task_count(connector, tasks)

    def _record_task_count(self, connector: str, tasks: int) -> None:
        self._herder.write_as_leader(
            f"writing a task count record for connector {connector} to the config topic",
            lambda: self._herder.config_store.put_task_count_record(connector, tasks),
        )
