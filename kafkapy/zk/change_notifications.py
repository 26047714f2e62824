"""Receives change notifications through sequential znodes (Kafka's `ZkNodeChangeNotificationListener`).

A broker writes a change, and then creates a znode `<path>/<prefix>0000000042` that says what has changed. Every broker
watches the children, and reads each znode whose number is above the last one that it processed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Final

from kafkapy.common.time import Time
from kafkapy.runtime.chunks import chunks
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.common.ZkNodeChangeNotificationListener")

CHANGE_EXPIRATION_MS: Final = 15 * 60 * 1000
"""Age at which a notification is deleted, ms."""

_CHANGED, _NEW_SESSION, _STOP = range(3)


class ZkNodeChangeNotificationListener:
    """Reads notifications on its own thread.

    Invariant: every notification up to `_last_executed_change` was passed to `process`, or existed before `startup`
    returned, and so before the caller reads the changed state. One thread at a time reads.
    """

    def __init__(
        self,
        zk_client: KafkaZkClient,
        path: str,
        sequence_prefix: str,
        process: Callable[[bytes], object],
        time: Time,
        reload: Callable[[], object] = lambda: None,
        change_expiration_ms: int = CHANGE_EXPIRATION_MS,
        process_several: Callable[[Sequence[bytes]], object] | None = None,
    ) -> None:
        """Does nothing before `startup`.

        Args:
            zk_client: Shared; its handlers for `path` are this listener's.
            path: Parent of the notifications.
            sequence_prefix: What their names begin with.
            process: Called with the data of each; may block. What it raises is logged, and the next one follows.
            time: Tells the age of notifications.
            reload: Called for a new session, as notifications that came and expired in between are lost; may block.
            change_expiration_ms: Older ones are deleted.
            process_several: Called, if it is there, with the data of those that have come together, in place of `process` with
                each; may block. Where it raises, `process` is called with each.
        """
        self._zk_client = zk_client
        self._path = path
        self._sequence_prefix = sequence_prefix
        self._process = process
        self._time = time
        self._reload = reload
        self._process_several = process_several
        self._change_expiration_ms = change_expiration_ms
        self._last_executed_change = -1
        self._events: SimpleQueue[int] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def startup(self) -> None:
        """Start watching; blocks on ZooKeeper. The caller reads the state afterwards: existing notifications are not
        processed.
        """
        self.watch()
        self.begin()

    def watch(self) -> None:
        """Do the first half of `startup`, for a caller that reads the state before the thread processes anything."""
        self._zk_client.register_state_change_handler(
            StateChangeHandler(self._handler_name, after_initializing_session=lambda: self._put(_NEW_SESSION))
        )
        self._zk_client.register_znode_child_change_handler(
            ZNodeChildChangeHandler(self._path, lambda: self._put(_CHANGED))
        )
        self._last_executed_change = max(self._notifications(), default=-1)

    def begin(self) -> None:
        """Do the second half of `startup`: process the notifications since `watch`, and all later ones."""
        self._thread = threading.Thread(target=self._run, name=f"{self._path}-event-process-thread", daemon=True)
        self._thread.start()

    def shutdown(self) -> None:
        """Stop listening; waits for the notification that is being processed."""
        self._zk_client.unregister_state_change_handler(self._handler_name)
        self._zk_client.unregister_znode_child_change_handler(self._path)
        self._put(_STOP)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def process_notifications(self) -> None:
        """Process new notifications, delete expired ones, set the watch. Nothing is raised: the next change retries."""
        try:
            notifications = self._notifications()
            now = self._time.milliseconds()
            for some in chunks([number for number in sorted(notifications) if number > self._last_executed_change]):
                nodes = self._zk_client.get_many([notifications[number] for number in some])
                if not self._handle_together([node[0] for node in nodes if node is not None and node[0] is not None]):
                    for number, node in zip(some, nodes, strict=True):
                        self._handle(notifications[number], None if node is None else node[0])
                self._last_executed_change = some[-1]
            self._purge(now, [notifications[number] for number in sorted(notifications)])
        except Exception as error:
            log.error("Error while processing notification change for path = %s", self._path, exc_info=error)

    @property
    def _handler_name(self) -> str:
        return f"change-notification-{self._path}"

    def _notifications(self) -> dict[int, str]:
        """Return paths by number, and set the watch. Znodes with other names are ignored."""
        found = {}
        for name in self._zk_client.get_children(self._path):
            number = name.removeprefix(self._sequence_prefix)
            if name.startswith(self._sequence_prefix) and number.isascii() and number.isdigit():
                found[int(number)] = f"{self._path}/{name}"
        return found

    def _put(self, event: int) -> None:
        """Called on ZooKeeper's threads. A pending change makes another one redundant."""
        if event != _CHANGED or self._events.empty():
            self._events.put(event)

    def _run(self) -> None:
        while (event := self._events.get()) != _STOP:
            self.process_notifications()
            if event == _NEW_SESSION:
                try:
                    self._reload()
                except Exception as error:
                    log.error("Error while reading again what %s is about", self._path, exc_info=error)

    def _handle_together(self, several: Sequence[bytes]) -> bool:
        """False: they are to be handled one by one."""
        if self._process_several is None or len(several) < 2:
            return False
        try:
            self._process_several(several)
        except Exception as error:
            log.warning("%d changes below %s are processed one by one: %s", len(several), self._path, error)
            return False
        return True

    def _handle(self, path: str, data: bytes | None) -> None:
        if data is None:
            log.warning("read null data from %s", path)
            return
        try:
            self._process(data)
        except Exception as error:
            log.error("error processing change notification %r from %s", data, path, exc_info=error)

    def _purge(self, now: int, paths: list[str]) -> None:
        for path in paths:
            found = self._zk_client.get_data_and_ctime(path)
            if found is None:
                continue
            if now - found[1] <= self._change_expiration_ms:
                break  # the numbers grow with time, so later ones are younger
            log.debug("Purging change notification %s", path)
            self._zk_client.delete_path(path)
