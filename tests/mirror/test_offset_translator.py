"""Checkpoints of groups, and offsets that are committed on the target cluster."""

from __future__ import annotations

import pytest

from kafkapy.mirror import Checkpoint, DefaultReplicationPolicy, DefaultTopicFilter, OffsetSync, SourceAndTarget
from kafkapy.mirror.checkpoint_store import CheckpointStore
from kafkapy.mirror.group_offset_sync import GroupOffsetSync
from kafkapy.mirror.offset_sync_store import OffsetSyncStore
from kafkapy.mirror.offset_translator import OffsetTranslator, offsets_to_commit
from kafkapy.mirror.opposite_syncs import OppositeSyncs
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import OffsetAndMetadata, TopicPartition
from tests.mirror.fake_admin import FakeAdmin
from tests.mirror.fake_consumer import FakeConsumer, record

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
A0, A1 = TopicPartition("A.t", 0), TopicPartition("A.t", 1)


class Translation:
    """A translator with its stores."""

    def __init__(self) -> None:
        self.syncs = OffsetSyncStore()
        self.syncs.begin(keeps_only_newest=False)
        self.syncs.end_of_topic()
        self.checkpoints = CheckpointStore("c", ["g"], lambda: FakeConsumer(topics=["c"]))
        topics = self.topics = DefaultTopicFilter()
        topics.configure({"topics": "t,B.back"})
        self.translator = OffsetTranslator(
            SourceAndTarget("A", "B"), DefaultReplicationPolicy(), topics, self.syncs, self.checkpoints
        )

    def sync(self, upstream: int, downstream: int, partition: TopicPartition = T0) -> None:
        self.syncs.take(OffsetSync(partition, upstream, downstream))

    def committed(self, offset: int, partition: TopicPartition = T0) -> list[tuple[str, int, int]]:
        found = self.translator.new_checkpoints("g", {partition: OffsetAndMetadata(offset, "m")})
        self.checkpoints.update("g", found)
        return [(each.topic_partition.topic, each.upstream_offset, each.downstream_offset) for each in found.values()]


def test_a_group_that_reads_on() -> None:
    translation = Translation()
    translation.sync(100, 50)
    assert translation.committed(99) == [], "before all syncs"
    assert translation.committed(100) == [("A.t", 100, 50)]
    assert translation.committed(100) == [], "nothing new"
    assert translation.committed(120) == [("A.t", 120, 51)]
    assert translation.committed(130) == [], "the sync says no more"
    translation.sync(140, 90)
    assert translation.committed(150) == [("A.t", 150, 91)]


def test_a_group_that_goes_back() -> None:
    translation = Translation()
    translation.sync(100, 50)
    translation.sync(200, 150)
    assert translation.committed(200) == [("A.t", 200, 150)]
    assert translation.committed(100) == [("A.t", 100, 50)]


def test_an_older_translation_does_not_lead_a_group_back() -> None:
    translation = Translation()
    translation.checkpoints.update("g", {A0: Checkpoint("g", A0, 150, 120)})
    translation.sync(100, 50)
    assert translation.committed(160) == []


def test_what_is_left_out() -> None:
    translation = Translation()
    translation.sync(1, 1)
    translation.sync(1, 1, TopicPartition("other", 0))
    assert translation.committed(1, TopicPartition("other", 0)) == [], "the filter does not choose it"
    assert translation.committed(1, T1) == [], "no syncs"
    assert translation.translator.new_checkpoints("g", {T0: None}) == {}


def test_a_topic_that_came_from_the_target_has_its_own_name() -> None:
    translation = Translation()
    back = TopicPartition("B.back", 0)
    translation.sync(5, 5, back)
    assert translation.committed(5, back) == [("back", 5, 5)]
    assert translation.translator.remote_partition(TopicPartition("C.x", 2)) == ("A.C.x", 2)


def test_offsets_of_copies_become_offsets_of_their_originals() -> None:
    """B->A and A->B both run: on A, a group has read `B.back`, which is a copy of B's `back`."""
    translation = Translation()
    syncs = [OffsetSync(TopicPartition("back", 0), upstream, downstream) for upstream, downstream in ((10, 5), (20, 9))]
    records = [record("s", 0, each.record_key(), each.record_value()) for each in syncs]
    opposite = OppositeSyncs("s", lambda: FakeConsumer(records, topics=["s"]))
    translation.translator = OffsetTranslator(
        SourceAndTarget("A", "B"),
        DefaultReplicationPolicy(),
        translation.topics,
        translation.syncs,
        translation.checkpoints,
        opposite,
    )
    back = TopicPartition("B.back", 0)
    opposite.follow_if_wanted(False)
    assert translation.committed(9, back) == [], "not read: no group has needed it"
    opposite.follow_if_wanted(False)
    opposite.close()
    assert translation.committed(4, back) == [], "before all syncs"
    assert translation.committed(5, back) == [("back", 5, 10)]
    assert translation.committed(8, back) == [("back", 8, 11)], (
        "the record of the sync was read, others are not certain"
    )
    assert translation.committed(9, back) == [("back", 9, 20)]
    assert translation.committed(12, back) == [("back", 12, 21)]


def test_the_opposite_flow_may_have_no_topic_yet() -> None:
    consumers: list[FakeConsumer] = []

    def make() -> FakeConsumer:
        consumers.append(FakeConsumer([], topics=["s"] if consumers else []))
        return consumers[-1]

    opposite = OppositeSyncs("s", make)
    assert opposite.translate(T0, 5) is None
    for _ in range(3):
        opposite.follow_if_wanted(False)
    opposite.close()
    assert len(consumers) == 2 and all(each.is_closed for each in consumers)


def test_what_is_committed() -> None:
    translated = {"g": {A0: OffsetAndMetadata(5), A1: OffsetAndMetadata(6)}, "new": {A0: OffsetAndMetadata(1)}}
    there = {A0: OffsetAndMetadata(5), A1: OffsetAndMetadata(3)}
    assert offsets_to_commit(translated, {"g": there}) == {"g": {A1: OffsetAndMetadata(6)}, "new": translated["new"]}
    assert offsets_to_commit(translated, {"g": {A0: None}, "new": {A0: OffsetAndMetadata(1)}}) == {"g": translated["g"]}
    assert offsets_to_commit({"g": {}}, {}) == {}


class Sync:
    """Offsets of a group on the target cluster."""

    def __init__(self, state: str, *there: int) -> None:
        self.admin = FakeAdmin()
        self.admin.states["g"] = state
        if there:
            self.admin.offsets["g"] = {A0: OffsetAndMetadata(there[0])}
        store = CheckpointStore("c", ["g"], FakeConsumer)
        store.update("g", {A0: Checkpoint("g", A0, 100, 50)})
        self.sync = GroupOffsetSync(["g"], store, self.admin)

    def committed(self) -> int | None:
        self.sync.refresh_idle_groups()
        self.sync.commit()
        found = self.admin.list_group_offsets("g").get(A0)
        return None if found is None else found.offset


def test_groups_on_the_target() -> None:
    assert Sync("Dead").committed() == 50, "the group is new"
    assert Sync("Empty", 40).committed() == 50
    assert Sync("Empty", 60).committed() == 60, "it has read on there"
    assert Sync("Stable", 40).committed() == 40, "it has members there"


def test_errors_of_groups(caplog: pytest.LogCaptureFixture) -> None:
    sync = Sync("Empty", 40)
    sync.admin.errors["list_group_offsets"] = KafkaError(Errors.COORDINATOR_NOT_AVAILABLE)
    sync.sync.refresh_idle_groups()
    assert "cannot be read on the target cluster" in caplog.text
    stable = Sync("Stable", 40)
    stable.committed()
    assert "has members on the target cluster" in caplog.text
