"""Opens the logs of a broker, each with the configs of its topic (part of Kafka's `LogManager`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.log.files.sync_queue import SyncQueue
from kafkapy.log.local_log import DirFailureHandler
from kafkapy.log.log import Log
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_loader import load_log


class LogOpener:
    """The common parameters of all logs: default configs, topics' own configs, clock, background tasks.

    Invariant: a topic without own configs is not in `_overrides`. Topics with equal configs share one `LogConfig`,
    because there may be thousands.
    """

    def __init__(
        self,
        default_config: LogConfig,
        topic_configs: Mapping[str, Mapping[str, str]],
        scheduler: Scheduler,
        time: Time,
        on_dir_failure: DirFailureHandler,
        producer_id_expiration_ms: int,
    ) -> None:
        """`ConfigException` if a topic has an invalid value."""
        self.default_config = default_config
        self.syncs = SyncQueue(scheduler)
        self._overrides = {topic: dict(overrides) for topic, overrides in topic_configs.items() if overrides}
        self._config = lru_cache(maxsize=1000)(self._parse)
        self._scheduler = scheduler
        self._time = time
        self._on_dir_failure = on_dir_failure
        self._producer_id_expiration_ms = producer_id_expiration_ms
        for topic in self._overrides:
            self.config_of(topic)

    def open(
        self,
        path: str,
        topic: str,
        topic_id: bytes | None = None,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        had_clean_shutdown: bool = True,
    ) -> Log:
        """Open a log that is not yet in use; create it if it does not exist. See `load_log`."""
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
        return self._config(frozenset(self._overrides.get(topic, {}).items()))

    def update_topic_config(self, topic: str, overrides: Mapping[str, str]) -> LogConfig | None:
        """Set the topic's own configs. Return its resulting config; None if it has not changed. `ConfigException`."""
        if overrides == self._overrides.get(topic, {}):
            return None
        config = self._config(frozenset(overrides.items()))
        if overrides:
            self._overrides[topic] = dict(overrides)
        else:
            del self._overrides[topic]
        return config

    def reconfigure_default_config(self, config: LogConfig) -> None:
        """Set the defaults; topics keep their own configs."""
        self.default_config = config
        self._config.cache_clear()

    def _parse(self, overrides: frozenset[tuple[str, str]]) -> LogConfig:
        return LogConfig.from_overrides(self.default_config, dict(overrides))
