"""A worker alone, as a process (Kafka's `ConnectStandalone`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.connect.connect_process import ConnectProcess
from kafkapy.connect.connector_files import read_connector_file
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.callbacks import FutureCallback
from kafkapy.connect.herder.config_transformer import resolve_worker_configs
from kafkapy.connect.herder.override_policies import make_policy
from kafkapy.connect.herder.standalone_herder import StandaloneHerder
from kafkapy.connect.runtime.file_offset_store import FileOffsetStore
from kafkapy.connect.runtime.memory_stores import MemoryConfigStore, MemoryStatusStore
from kafkapy.connect.runtime.worker import Worker
from kafkapy.connect.runtime.worker_config import StandaloneConfig

log = logging.getLogger("kafkapy.connect")


class StandaloneProcess(ConnectProcess):
    """Makes the connectors of its files one after the other; the process ends if one of them cannot be made."""

    def __init__(self, properties: Mapping[str, str], connector_files: Sequence[str], reactor: Any) -> None:
        """
        Args:
            properties: The worker's.
            connector_files: Paths of files with configs.
            reactor: Twisted's.

        Raises:
            ConfigException: A property is wrong.
        """
        properties = resolve_worker_configs(properties)
        self._config = StandaloneConfig.of(properties)
        self._policy = make_policy(self._config["connector.client.config.override.policy"])
        self._files = list(connector_files)
        super().__init__(properties, self._config["plugin.path"] or (), reactor)

    def make_herder(self, worker_id: str, url: str, cluster_id: str) -> StandaloneHerder:
        statuses = MemoryStatusStore()
        offsets = FileOffsetStore(self._config["offset.storage.file.filename"])
        worker = Worker(worker_id, self._config, self.plugins, offsets, statuses, self._policy)
        return StandaloneHerder(
            self._config.herder,
            worker=worker,
            cluster_id=cluster_id,
            status_store=statuses,
            config_store=MemoryConfigStore(worker.config_transformer),
            override_policy=self._policy,
        )

    def started(self) -> None:
        for path in self._files:
            try:
                file = read_connector_file(path)
                made: FutureCallback[Any] = FutureCallback()
                self.herder.put_connector_config(file.name, file.config, made, False, file.state)
                made.result()
            except OSError as error:
                raise ConnectException(f"{path}: {error.strerror}") from None
            except Exception as error:
                raise ConnectException(f"The connector of {path} cannot be made: {error}") from error
            log.info("Made connector %s", file.name)
        self.herder.ready()
