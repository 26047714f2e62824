"""Opens the logs of a broker, each with the configs of its topic (part of Kafka's `LogManager`)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.log.files.sync_queue import SyncQueue
from kafkapy.log.local_log import DirFailureHandler
from kafkapy.log.log import Log
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_loader import load_log


class LogOpener:
    """What is the same for all logs: defaults, the configs that topics have of their own, clock, background tasks.

    Invariant: a topic that has no config of its own is not in `_topic_configs`.
    """

    def __init__(
        self,
        default_config: LogConfig,
        topic_configs: Mapping[str, LogConfig],
        scheduler: Scheduler,
        time: Time,
        on_dir_failure: DirFailureHandler,
        producer_id_expiration_ms: int,
    ) -> None:
        self.default_config = default_config
        self.syncs = SyncQueue(scheduler)
        self._topic_configs = dict(topic_configs)
        self._scheduler = scheduler
        self._time = time
        self._on_dir_failure = on_dir_failure
        self._producer_id_expiration_ms = producer_id_expiration_ms

    def open(
        self,
        path: str,
        topic: str,
        topic_id: bytes | None = None,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        had_clean_shutdown: bool = True,
    ) -> Log:
        """A log that is not in use yet, made if it is not there. As `load_log`."""
        return load_log(
            path,
            self.config_of(topic),
            self._scheduler,
            self._time,
            self._on_dir_failure,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            had_clean_shutdown=had_clean_shutdown,
            topic_id=topic_id,
            producer_id_expiration_ms=self._producer_id_expiration_ms,
            syncs=self.syncs,
        )

    def config_of(self, topic: str) -> LogConfig:
        return self._topic_configs.get(topic, self.default_config)

    def update_topic_config(self, topic: str, overrides: Mapping[str, str]) -> LogConfig:
        """The topic's own configs are these now; what it has by them and the defaults. `ConfigException`."""
        config = LogConfig.from_overrides(self.default_config, overrides)
        if overrides:
            self._topic_configs[topic] = config
        else:
            self._topic_configs.pop(topic, None)
        return config

    def reconfigure_default_config(self, config: LogConfig) -> None:
        """The defaults are these now; topics keep what they have of their own."""
        self.default_config = config
        self._topic_configs = {
            topic: LogConfig.from_overrides(config, {name: own.get(name) for name in own.overridden})
            for topic, own in self._topic_configs.items()
        }
