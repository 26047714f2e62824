"""One partition: who leads, what is committed, who may ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafkapy.cluster.in_sync_replicas import AlterPartitionOutcome
from kafkapy.cluster.partition import Partition
from kafkapy.common.leader_and_isr import LeaderAndIsr
from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_loader import load_log
from kafkapy.log.log_types import AppendOrigin, FetchIsolation, LogOffsetMetadata
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.record.records_builder import MemoryRecordsBuilder

NAME = TopicPartition("t", 0)
TOPIC_ID = b"t" * 16
ME = 0


class Host:
    """The broker around a partition: everybody is alive but `dead`; proposals of ISRs are kept."""

    replica_lag_time_max_ms = 100

    def __init__(self) -> None:
        self.dead: set[int] = set()
        self.proposals: list[tuple[LeaderAndIsr, dict[int, int], Callable[[AlterPartitionOutcome], None]]] = []
        self.moved = 0
        self.flushes: list[Callable[[Errors], None]] = []

    def is_alive(self, broker_id: int) -> bool:
        return broker_id not in self.dead

    def alter_partition(
        self, name: TopicPartition, topic_id: bytes, proposed: LeaderAndIsr, epochs: Any, done: Any
    ) -> None:
        assert (name, topic_id) == (NAME, TOPIC_ID)
        self.proposals.append((proposed, dict(epochs), done))

    def flush_log(self, log: Log, done: Callable[[Errors], None]) -> None:
        self.flushes.append(done)

    def high_watermark_moved(self, name: TopicPartition) -> None:
        self.moved += 1


class Replicated:
    """This broker's replica, on a real log; the others' progress is set by hand."""

    def __init__(self, directory: Path, **config: Any) -> None:
        self.time = MockTime()
        self.directory = str(directory / "t-0")
        self.config = LogConfig({name.replace("_", "."): value for name, value in config.items()})
        self.host = Host()
        self.partition = Partition(NAME, ME, self.time, self.host)
        self.created = 0

    def create_log(self, name: TopicPartition, topic_id: bytes, is_new: bool) -> Log:
        self.created += 1
        return load_log(
            self.directory, self.config, MockScheduler(self.time), self.time, lambda directory, doing, error: None
        )

    def lead(self, epoch: int = 0, replicas: Sequence[int] = (ME,), isr: Sequence[int] | None = None) -> bool:
        return self.partition.make_leader(self._state(ME, epoch, replicas, isr), TOPIC_ID, self.create_log)

    def follow(self, leader: int = 1, epoch: int = 0, replicas: Sequence[int] = (ME, 1)) -> bool:
        return self.partition.make_follower(self._state(leader, epoch, replicas, None), TOPIC_ID, self.create_log)

    def _state(
        self, leader: int, epoch: int, replicas: Sequence[int], isr: Sequence[int] | None
    ) -> LeaderAndIsrRequest.LeaderAndIsrPartitionState:
        return LeaderAndIsrRequest.LeaderAndIsrPartitionState(
            leader=leader,
            leader_epoch=epoch,
            partition_epoch=epoch,
            isr=list(replicas if isr is None else isr),
            replicas=list(replicas),
        )

    def append(self, records: int = 1, acks: int = 1) -> None:
        builder = MemoryRecordsBuilder()
        for _ in range(records):
            builder.append(0, None, b"value")
        self.partition.append_records_to_leader(bytearray(builder.build()), AppendOrigin.CLIENT, acks, 11)

    def follower_has(self, broker: int, offset: int) -> None:
        self.partition.remote_replicas[broker].log_end_offset = LogOffsetMetadata(offset)
        self.partition.maybe_increment_high_watermark()

    @property
    def high_watermark(self) -> int:
        return self.partition.leader_log().high_watermark


@pytest.fixture
def replica(tmp_path: Path) -> Replicated:
    return Replicated(tmp_path)


def error_of(action: Any, *arguments: Any) -> Errors:
    with pytest.raises(KafkaError) as refusal:
        action(*arguments)
    return refusal.value.error


# -- roles


def test_tells_who_leads_newly(replica: Replicated) -> None:
    assert replica.lead(0)
    assert not replica.lead(1)
    assert replica.follow(epoch=2)
    assert not replica.follow(epoch=2)
    assert replica.follow(epoch=3)
    assert replica.follow(leader=2, epoch=3)
    assert replica.lead(4)
    assert replica.created == 1


def test_a_leader_notes_where_its_epoch_begins(replica: Replicated) -> None:
    replica.lead(0)
    replica.append(2)
    replica.lead(5)
    log = replica.partition.leader_log()
    assert replica.partition.leader_epoch_start_offset == 2
    assert log.end_offset_for_epoch(0) == (0, 2)
    assert log.end_offset_for_epoch(5) == (5, 2)


def test_an_older_state_is_passed_over(replica: Replicated) -> None:
    replica.lead(3)
    replica.partition.partition_epoch = 10
    assert not replica.lead(9)
    assert not replica.follow(epoch=9)
    assert (replica.partition.leader_epoch, replica.partition.is_leader) == (3, True)


def test_nobody_uses_a_deleted_partition(replica: Replicated) -> None:
    replica.lead()
    replica.partition.delete()
    assert error_of(replica.partition.leader_log) is Errors.NOT_LEADER_OR_FOLLOWER
    assert error_of(replica.partition.local_log, -1, False) is Errors.NOT_LEADER_OR_FOLLOWER
    assert replica.partition.is_replicated_up_to(0) == (True, Errors.NOT_LEADER_OR_FOLLOWER)


def test_who_may_ask_for_the_log(replica: Replicated) -> None:
    replica.follow(epoch=4)
    partition = replica.partition
    assert error_of(partition.leader_log) is Errors.NOT_LEADER_OR_FOLLOWER
    assert error_of(partition.local_log, -1, True) is Errors.NOT_LEADER_OR_FOLLOWER
    assert partition.local_log(4, False) is partition.log
    assert error_of(partition.local_log, 3, False) is Errors.FENCED_LEADER_EPOCH
    assert error_of(partition.local_log, 5, False) is Errors.UNKNOWN_LEADER_EPOCH
    replica.lead(5)
    assert partition.local_log(5, True) is partition.log


# -- what is committed


def test_alone_everything_is_committed_at_once(replica: Replicated) -> None:
    replica.lead()
    replica.append(3)
    assert replica.high_watermark == 3


def test_the_slowest_in_sync_replica_decides(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1, 2, 3), isr=(ME, 1, 2))
    replica.append(5)
    assert replica.high_watermark == 0
    replica.follower_has(1, 4)
    assert replica.high_watermark == 0, "of replica 2 nothing is known yet"
    replica.follower_has(2, 3)
    assert replica.high_watermark == 3
    assert replica.partition.is_replicated_up_to(3) == (True, Errors.NONE)
    assert replica.partition.is_replicated_up_to(4) == (False, Errors.NONE)
    replica.follower_has(2, 5)
    assert replica.high_watermark == 4


def test_it_never_goes_back(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1))
    replica.append(5)
    replica.follower_has(1, 4)
    replica.follower_has(1, 2)
    assert replica.high_watermark == 4


def test_it_moves_when_the_isr_shrinks(replica: Replicated) -> None:
    replica.lead(0, replicas=(ME, 1))
    replica.append(5)
    replica.lead(1, replicas=(ME, 1), isr=(ME,))
    assert replica.high_watermark == 5


def test_it_stands_still_below_min_insync_replicas(tmp_path: Path) -> None:
    replica = Replicated(tmp_path, min_insync_replicas=2)
    replica.lead(replicas=(ME, 1), isr=(ME,))
    replica.append(5, acks=1)
    replica.follower_has(1, 5)
    assert replica.high_watermark == 0
    assert error_of(replica.append, 1, -1) is Errors.NOT_ENOUGH_REPLICAS
    replica.lead(1, replicas=(ME, 1))
    replica.follower_has(1, 5)
    assert replica.high_watermark == 5
    replica.lead(2, replicas=(ME, 1), isr=(ME,))
    assert replica.partition.is_replicated_up_to(5) == (True, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


def test_readers_see_only_what_is_committed(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1))
    replica.append(2)
    log = replica.partition.leader_log()
    assert len(log.read(0, 1000, FetchIsolation.HIGH_WATERMARK, True).records) == 0
    assert len(log.read(0, 1000, FetchIsolation.LOG_END, True).records) > 0


# -- deletion of records


def test_the_low_watermark_is_that_of_the_live_replicas(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1, 2), isr=(ME,))
    replica.append(5)
    replica.follower_has(1, 5)
    assert replica.partition.delete_records(4) == 4
    replica.partition.remote_replicas[1].log_start_offset = 3
    assert replica.partition.low_watermark([ME]) == 4
    assert replica.partition.low_watermark([ME, 1]) == 3
    assert replica.partition.low_watermark([ME, 1, 2]) == -1


def test_deletion_needs_a_leader(replica: Replicated) -> None:
    replica.follow()
    assert error_of(replica.partition.delete_records, 0) is Errors.NOT_LEADER_OR_FOLLOWER


# -- who is in sync


def fetched(replica: Replicated, broker: int, offset: int, broker_epoch: int = -1) -> bool:
    """A fetch of a follower, as `ReplicaManager` passes it on."""
    partition = replica.partition
    log = partition.leader_log()
    position = LogOffsetMetadata(offset, 0, 0)
    return partition.update_follower_fetch_state(
        partition.follower(broker, True), position, 0, replica.time.monotonic_ms(), log.log_end_offset, broker_epoch
    )


def proposed(replica: Replicated) -> tuple[int, ...]:
    return replica.host.proposals[-1][0].isr


def confirm(replica: Replicated) -> None:
    state, _, done = replica.host.proposals[-1]
    done(state.with_partition_epoch(state.partition_epoch + 1))


def refuse(replica: Replicated, error: Errors) -> None:
    replica.host.proposals[-1][2](error)


def test_whoever_has_caught_up_is_taken_in(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1, 2), isr=(ME, 2))
    replica.append(3)
    fetched(replica, 2, 3)
    assert replica.high_watermark == 3
    fetched(replica, 1, 2)
    assert not replica.host.proposals, "2 is below the high watermark"
    fetched(replica, 1, 3, broker_epoch=77)
    (state, epochs, _) = replica.host.proposals[-1]
    assert (state.isr, state.leader_epoch, state.partition_epoch, epochs) == ((ME, 2, 1), 0, 0, {1: 77})
    assert replica.partition.isr == {ME, 2}
    confirm(replica)
    assert (replica.partition.isr, replica.partition.partition_epoch) == (frozenset((ME, 1, 2)), 1)


def test_not_before_it_has_all_from_before_this_epoch(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1, 2), isr=(ME, 2))
    replica.append(3)
    replica.lead(1, replicas=(ME, 1, 2), isr=(ME, 2))
    assert replica.high_watermark == 0
    fetched(replica, 1, 2)
    assert not replica.host.proposals
    fetched(replica, 1, 3)
    assert proposed(replica) == (ME, 2, 1)


def test_not_while_its_broker_is_dead(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1), isr=(ME,))
    replica.host.dead.add(1)
    fetched(replica, 1, 0)
    assert not replica.host.proposals
    replica.host.dead.clear()
    fetched(replica, 1, 0)
    assert proposed(replica) == (ME, 1)


def test_one_proposal_at_a_time(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1, 2), isr=(ME,))
    fetched(replica, 1, 0)
    fetched(replica, 2, 0)
    assert len(replica.host.proposals) == 1
    confirm(replica)
    fetched(replica, 2, 0)
    assert proposed(replica) == (ME, 1, 2)


def test_what_is_committed_is_what_both_isrs_have(replica: Replicated) -> None:
    """While an expansion is under way the newcomer may be in the ISR already: it is waited for."""
    replica.lead(replicas=(ME, 1), isr=(ME,))
    fetched(replica, 1, 0)
    assert replica.partition.maximal_isr == {ME, 1}
    replica.append(2)
    assert replica.high_watermark == 0
    fetched(replica, 1, 2)
    assert replica.high_watermark == 2


def test_whoever_lags_is_put_out(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1, 2))
    for broker in (1, 2):
        fetched(replica, broker, 0)
    replica.append(2)
    replica.time.sleep(0.09)
    fetched(replica, 1, 2)
    replica.partition.maybe_shrink_isr()
    assert not replica.host.proposals, "replica.lag.time.max.ms is 100"
    replica.time.sleep(0.02)
    replica.partition.maybe_shrink_isr()
    assert proposed(replica) == (ME, 1)
    assert replica.high_watermark == 0, "the controller has not confirmed it"
    confirm(replica)
    assert (replica.high_watermark, replica.host.moved) == (2, 1)


def test_an_idle_partition_keeps_its_followers(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1))
    fetched(replica, 1, 0)
    replica.time.sleep(60)
    replica.partition.maybe_shrink_isr()
    assert not replica.host.proposals


def test_a_refusal_that_says_nothing_was_written_restores_the_old_isr(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1), isr=(ME,))
    fetched(replica, 1, 0)
    refuse(replica, Errors.INELIGIBLE_REPLICA)
    assert (replica.partition.maximal_isr, replica.partition.in_sync.in_flight) == (frozenset((ME,)), False)
    fetched(replica, 1, 0)
    assert len(replica.host.proposals) == 2


@pytest.mark.parametrize(
    "error", [Errors.INVALID_UPDATE_VERSION, Errors.FENCED_LEADER_EPOCH, Errors.NEW_LEADER_ELECTED]
)
def test_a_refusal_that_leaves_it_open_keeps_both(replica: Replicated, error: Errors) -> None:
    replica.lead(replicas=(ME, 1), isr=(ME,))
    fetched(replica, 1, 0)
    refuse(replica, error)
    assert replica.partition.maximal_isr == {ME, 1}
    fetched(replica, 1, 0)
    assert len(replica.host.proposals) == 1, "the controller's decision is on its way"
    replica.lead(1, replicas=(ME, 1), isr=(ME,))
    assert replica.partition.maximal_isr == {ME}


def test_any_other_error_is_asked_again(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1), isr=(ME,))
    fetched(replica, 1, 0)
    refuse(replica, Errors.UNKNOWN_SERVER_ERROR)
    assert len(replica.host.proposals) == 2
    confirm(replica)
    assert replica.partition.isr == {ME, 1}


def test_a_late_answer_is_passed_over(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1), isr=(ME,))
    fetched(replica, 1, 0)
    replica.lead(1, replicas=(ME, 1), isr=(ME,))
    confirm(replica)
    assert replica.partition.isr == {ME}


def test_a_follower_of_an_earlier_life_is_fenced(replica: Replicated) -> None:
    replica.lead(replicas=(ME, 1), isr=(ME,))
    fetched(replica, 1, 0, broker_epoch=5)
    assert error_of(fetched, replica, 1, 0, 4) is Errors.NOT_LEADER_OR_FOLLOWER
    assert error_of(replica.partition.follower, 9, True) is Errors.UNKNOWN_LEADER_EPOCH
    assert error_of(replica.partition.follower, 9, False) is Errors.NOT_LEADER_OR_FOLLOWER


def test_a_leader_that_is_confirmed_goes_on_with_what_it_knows(replica: Replicated) -> None:
    replica.lead(0, replicas=(ME, 1))
    replica.append(2)
    fetched(replica, 1, 2)
    replica.lead(1, replicas=(ME, 1))
    assert replica.partition.remote_replicas[1].log_end_offset.message_offset == 2
    replica.follow(epoch=2)
    assert not replica.partition.isr
    replica.lead(3, replicas=(ME, 1))
    assert replica.partition.remote_replicas[1].log_end_offset.message_offset == -1


def test_nobody_is_waited_for_who_is_out_of_sync_since_before(replica: Replicated) -> None:
    replica.lead(0, replicas=(ME, 1), isr=(ME,))
    replica.append(2)
    assert replica.high_watermark == 2


def test_whoever_is_about_to_join_is_waited_for(replica: Replicated) -> None:
    replica.lead(0, replicas=(ME, 1), isr=(ME,))
    replica.append(2)
    fetched(replica, 1, 2)
    refuse(replica, Errors.INELIGIBLE_REPLICA)
    replica.append(1)
    assert replica.high_watermark == 2, "it has caught up just now, and will be in the ISR with its next fetch"
    replica.time.sleep(0.2)
    replica.append(1)
    assert replica.high_watermark == 4
