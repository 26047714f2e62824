"""The process that `kafkapy.connect.testing` starts: a standalone worker without a REST interface, which kills itself at a
chosen point."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from functools import wraps
from typing import Any

from kafkapy.connect.connector import ConnectorTask
from kafkapy.connect.herder.callbacks import FutureCallback
from kafkapy.connect.herder.standalone_herder import StandaloneHerder
from kafkapy.connect.plugins import Plugins
from kafkapy.connect.runtime.file_offset_store import FileOffsetStore
from kafkapy.connect.runtime.memory_stores import MemoryConfigStore, MemoryStatusStore
from kafkapy.connect.runtime.worker import Worker
from kafkapy.connect.runtime.worker_config import StandaloneConfig
from kafkapy.connect.storage import StatusState

_WATCH_S = 0.1


class KillingPlugins(Plugins):
    """Finds task classes that kill the process at a point.

    Args:
        kill: The fields of a `Kill`. None: nothing is killed.
    """

    def __init__(self, kill: Mapping[str, Any] | None) -> None:
        super().__init__()
        self._kill = kill

    def find_class(self, name: str) -> Any:
        found = super().find_class(name)
        if self._kill is None or not (isinstance(found, type) and issubclass(found, ConnectorTask)):
            return found
        return _killing(found, **self._kill)


def _killing(task: type[Any], method: str, call: int, before: bool) -> type[Any]:
    """A class of tasks that are as `task`, and kill the process in a call of a method."""
    original = getattr(task, method)
    calls = 0

    @wraps(original)
    def counted(self: Any, *arguments: Any) -> Any:
        nonlocal calls
        if method == "put" and not arguments[0]:
            return original(self, *arguments)
        if before:
            calls += 1
            if calls == call:
                os.kill(os.getpid(), signal.SIGKILL)
        result = original(self, *arguments)
        if not before and (method != "poll" or result):
            calls += 1
            if calls == call:
                os.kill(os.getpid(), signal.SIGKILL)
        return result

    return type(task.__name__, (task,), {method: counted, "__module__": task.__module__})


def main() -> int:
    """Runs what the first line of the standard input says, until that ends."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    orders = json.loads(sys.stdin.readline())
    config, name = StandaloneConfig.of(orders["worker"]), orders["name"]
    statuses, plugins = MemoryStatusStore(), KillingPlugins(orders["kill"])
    offsets = FileOffsetStore(config["offset.storage.file.filename"])
    worker = Worker("localhost:0", config, plugins, offsets, statuses)
    stores = {"status_store": statuses, "config_store": MemoryConfigStore(worker.config_transformer)}
    herder = StandaloneHerder(config.herder, worker=worker, cluster_id="test", **stores)
    herder.start()
    ended = threading.Event()
    threading.Thread(target=_watch, args=(statuses, name, ended), daemon=True).start()
    try:
        made: FutureCallback[Any] = FutureCallback()
        herder.put_connector_config(name, orders["connector"], made, False)
        made.result()
        sys.stdin.read()
    except Exception as error:
        _report(f"The connector cannot be made: {error}")
        sys.stdin.read()
    ended.set()
    herder.stop()
    return 0


def _watch(statuses: MemoryStatusStore, name: str, ended: threading.Event) -> None:
    """Report the first failure."""
    while not ended.wait(_WATCH_S):
        for status in (statuses.connector(name), *statuses.all_tasks(name)):
            if status is not None and status.state is StatusState.FAILED:
                _report(status.trace or "FAILED")
                return


def _report(failure: str) -> None:
    print(json.dumps(failure), flush=True)


if __name__ == "__main__":
    sys.exit(main())
