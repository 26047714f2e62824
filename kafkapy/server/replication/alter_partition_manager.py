"""Changes ISRs for leaders: through the controller (KIP-497), or in ZooKeeper with an old
inter.broker.protocol.version."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial

from kafkapy.clients.driver import Driver
from kafkapy.cluster.in_sync_replicas import AlterPartitionOutcome
from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from kafkapy.common.scheduler import Scheduler
from kafkapy.common.stored_errors import raisable_copy
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kafkapy.runtime.completion import spawn
from kafkapy.server.inter_broker.controller_channel import ControllerChannel
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.request_pipeline import MATCH_ANY_VERSION

log = logging.getLogger("kafkapy.server.AlterPartitionManager")

RETRY_BACKOFF_MS = 50
"""Pause before a retry (Kafka's `DefaultAlterPartitionManager`)."""
ALTER_PARTITION_VERSION = 3
FIRST_WITH_EPOCHS = 3
LAST_WITH_NAMES = 1

Done = Callable[[AlterPartitionOutcome], None]


class _Item:
    """The ISR change that one partition has requested."""

    __slots__ = ("broker_epochs", "done", "proposed", "topic_id")

    def __init__(self, topic_id: bytes, proposed: LeaderAndIsr, broker_epochs: Mapping[int, int], done: Done) -> None:
        self.topic_id = topic_id
        self.proposed = proposed
        self.broker_epochs = broker_epochs
        self.done = done


class AlterPartitionManager:
    """Collects ISR changes while a request is in flight, and sends them together (Kafka's
    `DefaultAlterPartitionManager`).

    Invariant: `_unsent` holds each change without a response yet, at most one for a partition. At most one request is
    in flight.
    """

    def __init__(
        self,
        channel: ControllerChannel,
        driver: Driver,
        broker_id: int,
        broker_epoch: Callable[[], int],
    ) -> None:
        self._channel = channel
        self._driver = driver
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._unsent: dict[TopicPartition, _Item] = {}
        self._running = False

    def startup(self) -> None:
        """Do nothing: the first request connects."""

    def shutdown(self) -> None:
        self._channel.close()

    def submit(
        self,
        partition: TopicPartition,
        topic_id: bytes,
        proposed: LeaderAndIsr,
        broker_epochs: Mapping[int, int],
        done: Done,
    ) -> None:
        """As `PartitionHost.alter_partition`. A newer change of a partition replaces an older one."""
        self._unsent[partition] = _Item(topic_id, proposed, broker_epochs, done)
        if not self._running:
            self._running = True
            # Sent in a later iteration of the event loop, so that the partitions of one fetch share a request.
            self._driver.call_soon(lambda: spawn(self._send_all()))

    async def _send_all(self) -> None:
        try:
            while self._unsent:
                items = dict(self._unsent)
                with_ids = all(item.topic_id != ZERO_UUID for item in items.values())
                version = ALTER_PARTITION_VERSION if with_ids else LAST_WITH_NAMES
                build = partial(self._request, items)
                response = await self._channel.call(ApiKey.ALTER_PARTITION, build, version)
                if response is None:
                    return
                if not self._handle(items, response):
                    await self._driver.sleep(RETRY_BACKOFF_MS)
        finally:
            self._running = False

    def _request(self, items: Mapping[TopicPartition, _Item], version: int) -> AlterPartitionRequest:
        request = AlterPartitionRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        topics: dict[str, AlterPartitionRequest.TopicData] = {}
        for partition, item in items.items():
            topic = topics.get(partition.topic)
            if topic is None:
                topic = AlterPartitionRequest.TopicData(topic_name=partition.topic, topic_id=item.topic_id)
                topics[partition.topic] = topic
                request.topics.append(topic)
            topic.partitions.append(_partition_data(partition, item, version, self._broker_id, request.broker_epoch))
        return request

    def _handle(self, items: Mapping[TopicPartition, _Item], response: AlterPartitionResponse) -> bool:
        """Pass the results to the partitions. Return False if all changes are to be sent again after the backoff."""
        error = Errors.for_code(response.error_code)
        if error is not Errors.NONE:
            log.warning("The controller refuses all ISR changes for now: %s", error.name)
            return False
        names = {item.topic_id: partition.topic for partition, item in items.items() if item.topic_id != ZERO_UUID}
        for topic in response.topics:
            name = topic.topic_name or names.get(topic.topic_id, "")
            for answer in topic.partitions:
                partition = TopicPartition(name, answer.partition_index)
                item = items.get(partition)
                if item is None or self._unsent.get(partition) is not item:
                    continue  # the partition has requested another change meanwhile
                del self._unsent[partition]
                item.done(_outcome(answer))
        for partition, item in items.items():
            if self._unsent.get(partition) is item:
                log.warning("The controller has not answered for %s; asking again", partition)
        return not any(self._unsent.get(partition) is item for partition, item in items.items())


def _partition_data(
    partition: TopicPartition, item: _Item, version: int, broker_id: int, broker_epoch: int
) -> AlterPartitionRequest.PartitionData:
    proposed = item.proposed
    data = AlterPartitionRequest.PartitionData(
        partition_index=partition.partition,
        leader_epoch=proposed.leader_epoch,
        partition_epoch=proposed.partition_epoch,
    )
    if version > 0:
        data.leader_recovery_state = int(proposed.leader_recovery_state)
    if version < FIRST_WITH_EPOCHS:
        data.new_isr = list(proposed.isr)
    else:
        epochs = {**item.broker_epochs, broker_id: broker_epoch}
        data.new_isr_with_epochs = [
            AlterPartitionRequest.BrokerState(broker_id=broker, broker_epoch=epochs.get(broker, -1))
            for broker in proposed.isr
        ]
    return data


def _outcome(answer: AlterPartitionResponse.PartitionData) -> AlterPartitionOutcome:
    if answer.error_code:
        return Errors.for_code(answer.error_code)
    return LeaderAndIsr(
        answer.leader_id,
        tuple(answer.isr),
        answer.leader_epoch,
        LeaderRecoveryState(answer.leader_recovery_state),
        answer.partition_epoch,
    )


# --- inter.broker.protocol.version below 2.7-IV2 ----------------------------------------------------------------------

CHECK_INTERVAL_MS = 2_500
"""This and the next two are values of Kafka's `ZkAlterPartitionManager.DefaultIsrPropagationConfig`."""
BLACKOUT_MS = 5_000
MAX_DELAY_MS = 60_000


class ZkAlterPartitionManager:
    """Writes partitions' state znodes, and notifies the controller through ZooKeeper (Kafka's
    `ZkAlterPartitionManager`).

    Changes are collected into one notification: it is sent 5 s after the last change, or 60 s after the last
    notification.
    """

    def __init__(
        self,
        zk_client: KafkaZkClient,
        scheduler: Scheduler,
        time: Time,
        driver: Driver,
        controller_epoch: Callable[[], int],
    ) -> None:
        self._zk_client = zk_client
        self._time = time
        self._driver = driver
        self._scheduler = scheduler
        self._controller_epoch = controller_epoch
        self._changed: set[TopicPartition] = set()
        self._last_change_ms = time.monotonic_ms()
        self._last_notification_ms = time.monotonic_ms()

    def startup(self) -> None:
        self._scheduler.schedule("isr-change-propagation", self.maybe_propagate, CHECK_INTERVAL_MS, CHECK_INTERVAL_MS)

    def shutdown(self) -> None:
        """Do nothing: the scheduler is stopped elsewhere."""

    def submit(
        self,
        partition: TopicPartition,
        topic_id: bytes,
        proposed: LeaderAndIsr,
        broker_epochs: Mapping[int, int],
        done: Done,
    ) -> None:
        epoch = self._controller_epoch()
        outcome = self._driver.run_in_thread(lambda: self._write(partition, proposed, epoch))

        def written(_: object) -> None:
            error = outcome.exception()
            if error is not None:
                log.warning("The state of %s could not be written: %s", partition, error)
                self._driver.call_later(RETRY_BACKOFF_MS, lambda: done(Errors.UNKNOWN_SERVER_ERROR))
                return
            update = outcome.result()
            if update is None:
                done(Errors.INVALID_UPDATE_VERSION)
                return
            self._changed.add(partition)
            self._last_change_ms = self._time.monotonic_ms()
            done(update)

        outcome.add_callback(written)

    def _write(self, partition: TopicPartition, proposed: LeaderAndIsr, controller_epoch: int) -> LeaderAndIsr | None:
        """Return the znode's new content; None if it was changed concurrently. Blocks."""
        zk_client = self._zk_client
        result = zk_client.update_leader_and_isr({partition: proposed}, controller_epoch, MATCH_ANY_VERSION)
        if not result.partitions_to_retry:
            update = result.finished_partitions[partition]
            if isinstance(update, Exception):
                raise raisable_copy(update)
            return update
        found = zk_client.get_topic_partition_states([partition]).get(partition)
        if found is not None and found.leader_and_isr == proposed.with_partition_epoch(
            found.leader_and_isr.partition_epoch
        ):
            return found.leader_and_isr  # our own write, whose response was lost
        return None

    def maybe_propagate(self) -> None:
        now = self._time.monotonic_ms()
        if not self._changed:
            return
        if now - self._last_change_ms > BLACKOUT_MS or now - self._last_notification_ms > MAX_DELAY_MS:
            changed, self._changed = self._changed, set()
            self._last_notification_ms = now
            self._driver.run_in_thread(lambda: self._zk_client.propagate_isr_changes(changed))
