"""A task that translates offsets of groups (Kafka's `MirrorCheckpointTask`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

from kafkapy.connect import java_classes
from kafkapy.connect.clients import make_consumer
from kafkapy.connect.data.schema import BYTES_SCHEMA
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.metric_names import ConnectMetricName
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import SourceTask
from kafkapy.mirror.checkpoint_store import CheckpointStore
from kafkapy.mirror.config.checkpoint_config import CHECKPOINTS_TARGET_CONSUMER_ROLE, MirrorCheckpointTaskConfig
from kafkapy.mirror.config.connector_config import SOURCE, TARGET
from kafkapy.mirror.filters import TopicFilter
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.mirror.group_offset_sync import GroupOffsetSync
from kafkapy.mirror.mirror_classes import KAFKA
from kafkapy.mirror.mirror_metrics import MirrorCheckpointMetrics
from kafkapy.mirror.mirror_records import Checkpoint, OffsetSync
from kafkapy.mirror.mirror_scheduler import MirrorScheduler
from kafkapy.mirror.offset_sync_store import OffsetSyncStore
from kafkapy.mirror.offset_translator import OffsetTranslator
from kafkapy.mirror.opposite_syncs import OppositeSyncs
from kafkapy.mirror.poll_pause import PollPause
from kafkapy.mirror.replication_policy import SourceAndTarget
from kafkapy.mirror.source_offsets import OFFSET_KEY
from kafkapy.mirror.topic_reader import TopicReader
from kafkapy.producer.future import RecordMetadata
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.mirror")

_RETRY_S = 5.0
_OPPOSITE_S = 5.0


class MirrorCheckpointTask(SourceTask):
    """Writes a checkpoint when a group's offset has changed, and commits offsets on the target cluster if that is
    enabled.

    Invariant: the task's thread uses the source cluster's admin client, the scheduler's thread all other clients.
    """

    java_class = f"{KAFKA}MirrorCheckpointTask"

    def __init__(self) -> None:
        self._metrics: MirrorCheckpointMetrics | None = None
        self._config: MirrorCheckpointTaskConfig | None = None
        self._groups: list[str] = []
        self._topics: TopicFilter | None = None
        self._source_admin: ForwardingAdmin | None = None
        self._target_admin: ForwardingAdmin | None = None
        self._syncs = OffsetSyncStore()
        self._sync_reader: TopicReader | None = None
        self._opposite: OppositeSyncs | None = None
        self._checkpoints: CheckpointStore | None = None
        self._translator: OffsetTranslator | None = None
        self._scheduler: MirrorScheduler | None = None
        self._pause = PollPause(None)

    def version(self) -> str:
        return java_classes.VERSION

    def start(self, config: Mapping[str, str]) -> None:
        checked = self._config = MirrorCheckpointTaskConfig(config)
        pair = SourceAndTarget(checked.source_cluster_alias, checked.target_cluster_alias)
        self._groups = checked.consumer_groups()
        self._topics = checked.topic_filter()
        self._source_admin = checked.forwarding_admin(checked.admin_config(SOURCE, "checkpoint-source-admin"))
        self._target_admin = checked.forwarding_admin(checked.admin_config(TARGET, "checkpoint-target-admin"))
        self._metrics = MirrorCheckpointMetrics(*pair)
        self._sync_reader = TopicReader(
            checked.offset_syncs_topic(),
            lambda: make_consumer(checked.offset_syncs_topic_consumer_config(), group_id=None),
            lambda record: self._syncs.take(OffsetSync.from_record(record.key, record.value)),
        )
        self._checkpoints = CheckpointStore(
            checked.checkpoints_topic(),
            self._groups,
            lambda: make_consumer(checked.consumer_config(TARGET, CHECKPOINTS_TARGET_CONSUMER_ROLE), group_id=None),
        )
        topic, configs = checked.opposite_offset_syncs_topic()
        self._opposite = OppositeSyncs(topic, lambda: make_consumer(configs, group_id=None))
        self._translator = OffsetTranslator(
            pair, checked.replication_policy, self._topics, self._syncs, self._checkpoints, self._opposite
        )
        self._pause = PollPause(
            checked.interval_s("emit.checkpoints"), float(checked["consumer.poll.timeout.ms"]) / 1000
        )
        self._scheduler = MirrorScheduler(f"MirrorCheckpointTask: {checked.entity_label()}", checked.admin_timeout_s)
        self._scheduler.execute_async(self._load, "reading checkpoints and offset syncs")
        log.info("%s translates offsets of %d groups", checked.entity_label(), len(self._groups))

    def poll(self) -> Sequence[SourceRecord] | None:
        if not self._pause.wait() or self._checkpoints is None or not self._checkpoints.is_initialized:
            return None
        records = []
        for group in self._groups:
            if self._pause.is_stopped:
                return None
            try:
                records += self._records_of(group)
            except (KafkaError, ValueError) as error:  # the latter: metadata that no record can hold
                log.error("Offsets of group %s cannot be translated: %s", group, error)
        return records or None

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        place = record.source_partition or {}
        if self._metrics is not None and record.timestamp is not None:
            partition = TopicPartition(place["topic"], place["partition"])
            self._metrics.checkpoint_latency(partition, place["group"], time.time() * 1000 - record.timestamp)

    def read_metrics(self) -> Mapping[ConnectMetricName, float]:
        return {} if self._metrics is None else self._metrics.read()

    def stop(self) -> None:
        self._pause.stop()
        for reader in (self._checkpoints, self._sync_reader, self._opposite):
            if reader is not None:
                reader.stop()
        parts = (
            self._scheduler,
            self._sync_reader,
            self._opposite,
            self._topics,
            self._source_admin,
            self._target_admin,
        )
        for part in parts:
            try:
                if part is not None:
                    part.close()
            except Exception as error:
                log.warning("Closing a part of a checkpoint task failed: %s", error)

    def _load(self) -> None:
        assert self._checkpoints is not None and self._sync_reader is not None and self._config is not None
        assert self._scheduler is not None and self._target_admin is not None
        keeps_only_newest = not self._checkpoints.start()
        self._syncs.begin(keeps_only_newest)
        while not self._pause.is_stopped:
            try:
                if not self._sync_reader.read_to_end():
                    return
                break
            except (KafkaError, ConnectException) as error:
                log.error("Offset syncs cannot be read, which is tried again: %s", error)
                self._sync_reader.reset()
                self._pause.sleep(_RETRY_S)
        else:
            return
        self._syncs.end_of_topic()
        self._sync_reader.follow()
        opposite = self._opposite
        assert opposite is not None
        self._scheduler.repeat(
            lambda: opposite.follow_if_wanted(keeps_only_newest),
            _OPPOSITE_S,
            "reading the opposite flow's offset syncs",
        )
        sync = GroupOffsetSync(self._groups, self._checkpoints, self._target_admin)
        interval = self._config.interval_s("sync.group.offsets")
        self._scheduler.repeat(sync.refresh_idle_groups, interval, "reading offsets of groups on the target cluster")
        self._scheduler.repeat(sync.commit, interval, "committing translated offsets", is_delayed=True)

    def _records_of(self, group: str) -> list[SourceRecord]:
        assert self._source_admin is not None and self._translator is not None and self._checkpoints is not None
        timestamp = int(time.time() * 1000)
        checkpoints = self._translator.new_checkpoints(group, self._source_admin.list_group_offsets(group))
        self._checkpoints.update(group, checkpoints)
        return [self._record(checkpoint, timestamp) for checkpoint in checkpoints.values()]

    def _record(self, checkpoint: Checkpoint, timestamp: int) -> SourceRecord:
        assert self._config is not None
        return SourceRecord(
            checkpoint.connect_partition(),
            {OFFSET_KEY: 0},
            self._config.checkpoints_topic(),
            0,
            BYTES_SCHEMA,
            checkpoint.record_key(),
            BYTES_SCHEMA,
            checkpoint.record_value(),
            timestamp,
        )
