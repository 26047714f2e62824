"""The connector that writes heartbeats (Kafka's `MirrorHeartbeatConnector`, `MirrorHeartbeatTask`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafkapy.connect import java_classes
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.data.schema import BYTES_SCHEMA
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import SourceConnector, SourceTask
from kafkapy.mirror.config.connector_config import TARGET
from kafkapy.mirror.config.heartbeat_config import MirrorHeartbeatConfig, heartbeat_config_def
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.mirror.internal_topics import create_compacted_topic
from kafkapy.mirror.mirror_classes import KAFKA
from kafkapy.mirror.mirror_records import Heartbeat
from kafkapy.mirror.mirror_scheduler import MirrorScheduler
from kafkapy.mirror.poll_pause import PollPause
from kafkapy.mirror.source_offsets import OFFSET_KEY, Offsets, check_offsets

log = logging.getLogger("kafkapy.mirror")


class MirrorHeartbeatTask(SourceTask):
    """Writes a heartbeat at each interval."""

    java_class = f"{KAFKA}MirrorHeartbeatTask"

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """`clock`: s since 1970."""
        self._clock = clock
        self._config: MirrorHeartbeatConfig | None = None
        self._pause = PollPause(None)

    def version(self) -> str:
        return java_classes.VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._config = MirrorHeartbeatConfig(config)
        self._pause = PollPause(self._config.interval_s("emit.heartbeats"))

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._config is None or not self._pause.wait():
            return None
        timestamp = int(self._clock() * 1000)
        heartbeat = Heartbeat(self._config.source_cluster_alias, self._config.target_cluster_alias, timestamp)
        return [
            SourceRecord(
                heartbeat.connect_partition(),
                {OFFSET_KEY: 0},
                self._config.replication_policy.heartbeats_topic(),
                0,
                BYTES_SCHEMA,
                heartbeat.record_key(),
                BYTES_SCHEMA,
                heartbeat.record_value(),
                timestamp,
            )
        ]

    def stop(self) -> None:
        self._pause.stop()


class MirrorHeartbeatConnector(SourceConnector):
    """Writes heartbeats to the target cluster. Their copies show that further flows are running, and their latency.

    Invariant: from `start` to `stop` there are a scheduler and an admin client, which only the scheduler's thread uses.
    """

    java_class = f"{KAFKA}MirrorHeartbeatConnector"

    def __init__(self) -> None:
        self._config: MirrorHeartbeatConfig | None = None
        self._scheduler: MirrorScheduler | None = None
        self._admin: ForwardingAdmin | None = None

    def version(self) -> str:
        return java_classes.VERSION

    def config(self) -> ConfigDef:
        return heartbeat_config_def()

    def task_class(self) -> type[MirrorHeartbeatTask]:
        return MirrorHeartbeatTask

    def start(self, config: Mapping[str, str]) -> None:
        checked = self._config = MirrorHeartbeatConfig(config)
        admin = self._admin = checked.forwarding_admin(checked.admin_config(TARGET, "heartbeats-target-admin"))
        topic, factor = checked.replication_policy.heartbeats_topic(), checked.heartbeats_topic_replication_factor
        label = f"MirrorHeartbeatConnector: {checked.entity_label()}"
        self._scheduler = MirrorScheduler(label, checked.admin_timeout_s)
        self._scheduler.execute(lambda: create_compacted_topic(admin, topic, factor), "making the heartbeats topic")

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.close()
            self._scheduler = None
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if self._config is None or self._config.interval_s("emit.heartbeats") is None:
            return []
        return [self._config.originals]

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        check_offsets(offsets, ("sourceClusterAlias", "targetClusterAlias"), has_partition=False, only_zero=True)
        return True

    def validate(self, config: Mapping[str, str | None]) -> list[Any]:
        """Return the definitions' errors of each config."""
        return heartbeat_config_def().validate(config)
