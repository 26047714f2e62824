"""A follower's fetcher against a real leader: two brokers' cores with real logs and handlers, nothing between them but frames."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_types import AppendOrigin, FetchIsolation
from kafkapy.log.log_validator import INLINE_BYTES
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.record.batches import batches
from kafkapy.runtime.clock import P, R
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.replication.follower_logs import FollowerLogs
from kafkapy.server.replication.replica_fetcher import (
    FIRST_BACKOFF_MS,
    FetcherConfig,
    Phase,
    ReplicaFetcher,
    Step,
)
from kafkapy.server.replication.replication_quota import ReplicationQuota
from tests.coordinator.held_turns import HeldTurns
from tests.server.broker_core import BROKER_ID, TOPIC, BrokerCore, HeldThreads, MakeCore, batch

LEADER, FOLLOWER = BROKER_ID, 1
NAME = TopicPartition(TOPIC, 0)
BACKOFF_MS = 1000


class HeldFetcher(HeldThreads, HeldTurns):
    """Checkpoints and threads wait for the test if `holds`."""

    def __init__(self) -> None:
        super().__init__()
        self.in_threads = 0
        """Calls that went there."""

    def should_yield(self, extra_seconds: float = 0.0) -> bool:
        return self.holds

    async def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.in_threads += 1
        return await super().in_thread(function, *args, **kwargs)


class Pair:
    """Broker 0 leads; `follower` is another broker's core, whose fetcher calls itself broker 1."""

    def __init__(self, leader: BrokerCore, follower: BrokerCore, truncates_on_fetch: bool = True) -> None:
        self.leader = leader
        self.follower = follower
        self.quota = ReplicationQuota(follower.time)
        self.now = 0
        config = FetcherConfig(
            broker_id=FOLLOWER,
            leader_id=LEADER,
            min_bytes=1,
            max_wait_ms=0,
            max_bytes=1 << 20,
            partition_max_bytes=1 << 16,
            backoff_ms=BACKOFF_MS,
            fetch_version=17 if truncates_on_fetch else 11,
            offset_for_leader_epoch_version=4,
            list_offsets_version=9,
            truncates_on_fetch=truncates_on_fetch,
        )
        self.clock = HeldFetcher()
        self.fetcher = ReplicaFetcher(config, FollowerLogs(follower.replicas), self.quota, self.clock)
        self.connection = leader.connect("follower")
        self.asked: list[Step] = []

    def lead(self, epoch: int, partitions: int = 1, **configs: Any) -> None:
        self.leader.create_topic(
            partitions=partitions, replicas=[LEADER, FOLLOWER], isr=[LEADER], epoch=epoch, **configs
        )

    def follow(self, epoch: int, index: int = 0) -> None:
        """What `Leadership` does when the controller says so."""
        core = self.follower
        topic_id = core.create_topic(partitions=index + 1, replicas=[BROKER_ID, 7], isr=[7], leader=7, epoch=epoch)
        log = self.log(index)
        start = log.high_watermark
        if self.fetcher.config.truncates_on_fetch and log.latest_epoch is not None:
            start = log.log_end_offset
        self.fetcher.add(TopicPartition(TOPIC, index), topic_id, epoch, start)

    def log(self, index: int = 0) -> Log:
        log = self.follower.partition(index=index).log
        assert log is not None
        return log

    def leaders_log(self, index: int = 0) -> Log:
        return self.leader.partition(index=index).leader_log()

    def turn(self) -> Step | None:
        """One question and its answer."""
        step = spawn(self.fetcher.next_step(self.now)).result()
        if step is not None:
            self.handle(step, self.ask(step)).result()
        return step

    def next_step(self) -> Step:
        step = spawn(self.fetcher.next_step(self.now)).result()
        assert step is not None
        return step

    def ask(self, step: Step) -> Any:
        """The leader's answer."""
        self.asked.append(step)
        if isinstance(step.request, FetchRequest):
            if step.version < 15:
                step.request.replica_id = FOLLOWER
            else:
                step.request.replica_state = FetchRequest.ReplicaState(replica_id=FOLLOWER)
        return self.connection.call(step.request, step.version)

    def handle(self, step: Step, response: Any) -> Completion[None]:
        return spawn(self.fetcher.handle(step, response, self.now))

    def handle_held(self) -> Completion[None]:
        """One question and its answer, which waits at the first checkpoint."""
        step = self.next_step()
        self.clock.holds = True
        return self.handle(step, self.ask(step))

    def settle(self, turns: int = 10) -> None:
        for _ in range(turns):
            if self.turn() is None:
                return

    def close(self) -> None:
        self.leader.close()
        self.follower.close()


@pytest.fixture
def pair(make_core: MakeCore, tmp_path: Path) -> Iterator[Pair]:
    follower = BrokerCore(tmp_path / "follower", others=(7,))
    yield Pair(make_core(others=(FOLLOWER,)), follower)
    follower.close()


def content(log: Log) -> list[tuple[int, int, list[bytes]]]:
    """(base offset, leader epoch, values) of each batch."""
    found: list[tuple[int, int, list[bytes]]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        records = log.read(offset, 1 << 20, FetchIsolation.LOG_END, True).records
        data = records if isinstance(records, bytes) else records.read()
        for b in batches(data):
            found.append((b.base_offset, b.partition_leader_epoch, [bytes(r.value or b"") for r in b.records()]))
            offset = b.last_offset + 1
    return found


# -- copying


def test_what_flush_messages_wants_on_the_disk_is_noted(pair: Pair) -> None:
    """Who moves the machine has it flushed before the next step tells the leader of it."""
    pair.lead(0)
    pair.leader.append(b"a", b"b")
    pair.follow(0)
    pair.log().update_config(LogConfig({"flush.messages": 2}))
    pair.settle()
    assert pair.fetcher.unflushed == [pair.log()]
    assert pair.log().recovery_point == 0


def test_copies_what_the_leader_has_and_learns_what_is_committed(pair: Pair) -> None:
    pair.lead(0)
    pair.leader.append(b"a", b"b")
    pair.follow(0)
    pair.settle()
    assert content(pair.log()) == content(pair.leaders_log()) == [(0, 0, [b"a", b"b"])]
    assert pair.log().latest_epoch == 0
    assert (pair.log().high_watermark, pair.leaders_log().high_watermark) == (2, 2)
    fetch = pair.fetcher.partitions[NAME]
    assert (fetch.fetch_offset, fetch.lag, fetch.last_fetched_epoch, fetch.is_in_sync) == (2, 0, 0, True)


def test_a_large_answer_is_appended_in_turns(pair: Pair) -> None:
    pair.lead(0, 3, max_message_bytes=str(1 << 22))
    for index in range(3):
        pair.leader.append(bytes(INLINE_BYTES // 2), index=index)
        pair.follow(0, index)
    pair.fetcher.config = pair.fetcher.config._replace(max_bytes=1 << 23, partition_max_bytes=1 << 21)
    handled = pair.handle_held()
    for ends in ([0, 0, 0], [1, 0, 0], [1, 1, 0]):
        assert [pair.log(index).log_end_offset for index in range(3)] == ends
        if ends == [1, 1, 0]:
            pair.fetcher.remove(TopicPartition(TOPIC, 2))
        pair.clock.go_on()
    assert handled.done
    assert [pair.log(index).log_end_offset for index in range(3)] == [1, 1, 0], "it is followed no more"


def append_large(pair: Pair) -> None:
    """One batch that is too large to be appended at once, in a topic of large batches."""
    records = bytearray(batch(bytes(INLINE_BYTES + 1)))
    pair.leader.partition().append_records_to_leader(records, AppendOrigin.COORDINATOR, 1, 11)


@pytest.mark.parametrize("meanwhile", ["nothing", "a new leader", "this broker leads", "removed"])
def test_a_large_batch_is_appended_in_a_thread(pair: Pair, meanwhile: str) -> None:
    pair.lead(0, 2, max_message_bytes=str(1 << 23))
    pair.follow(0)
    pair.follow(0, 1)
    append_large(pair)
    pair.leader.append(b"small", index=1)
    pair.fetcher.config = pair.fetcher.config._replace(max_bytes=1 << 24, partition_max_bytes=1 << 23)
    handled = pair.handle_held()
    pair.clock.go_on()
    partition = pair.follower.partition()
    assert (pair.log().log_end_offset, partition.thread_appends) == (0, 1)
    if meanwhile == "removed":
        pair.fetcher.remove(NAME)
    elif meanwhile == "a new leader":
        pair.follow(1)
    elif meanwhile == "this broker leads":
        pair.fetcher.remove(NAME)
        pair.follower.create_topic(replicas=[BROKER_ID, 7], isr=[BROKER_ID], leader=BROKER_ID, epoch=1)
    pair.clock.holds = False
    pair.clock.work()
    assert handled.done
    assert partition.thread_appends == 0
    assert pair.log(1).log_end_offset == 1
    fenced = meanwhile in ("a new leader", "this broker leads")
    assert pair.log().log_end_offset == (0 if fenced else 1)
    if meanwhile == "nothing":
        assert content(pair.log()) == content(pair.leaders_log())
        assert pair.fetcher.partitions[NAME].fetch_offset == 1
        pair.settle()
        assert pair.log().high_watermark == 1
    elif meanwhile == "a new leader":
        assert pair.fetcher.partitions[NAME].fetch_offset == 0


def test_a_large_batch_that_is_corrupt_is_asked_for_again(pair: Pair) -> None:
    pair.lead(0, max_message_bytes=str(1 << 23))
    pair.follow(0)
    append_large(pair)
    pair.fetcher.config = pair.fetcher.config._replace(max_bytes=1 << 24, partition_max_bytes=1 << 23)
    step = pair.next_step()
    response = pair.ask(step)
    data = response.responses[0].partitions[0]
    whole = data.records
    data.records = bytes(whole[:-1]) + b"x"
    pair.handle(step, response).result()
    assert pair.fetcher.partitions[NAME].delayed
    assert pair.log().log_end_offset == 0


def test_asks_only_for_what_has_changed(pair: Pair) -> None:
    pair.lead(0, partitions=3)
    for index in range(3):
        pair.follow(0, index)
    pair.settle()
    pair.leader.append(b"a", index=1)
    pair.turn()
    assert [t.partitions for t in pair.asked[-1].request.topics] == []
    pair.turn()
    (topic,) = pair.asked[-1].request.topics
    assert [(p.partition, p.fetch_offset, p.last_fetched_epoch) for p in topic.partitions] == [(1, 1, 0)]
    pair.fetcher.remove(TopicPartition(TOPIC, 2))
    pair.turn()
    (gone,) = pair.asked[-1].request.forgotten_topics_data
    assert gone.partitions == [2]


def test_a_lost_answer_starts_the_session_anew(pair: Pair) -> None:
    pair.lead(0)
    pair.follow(0)
    pair.settle()
    pair.fetcher.failed_to_ask(pair.next_step(), pair.now)
    assert spawn(pair.fetcher.next_step(pair.now)).result() is None, "for a while"
    pair.now += FIRST_BACKOFF_MS
    pair.leader.append(b"a")
    pair.settle()
    assert pair.log().log_end_offset == 1


def test_a_session_that_the_leader_has_forgotten(pair: Pair) -> None:
    pair.lead(0)
    pair.follow(0)
    pair.settle()
    pair.leader.fetch_sessions._sessions.clear()
    pair.leader.append(b"a")
    pair.settle()
    assert pair.log().log_end_offset == 1


def test_an_interrupted_fetch_is_asked_again_at_once(pair: Pair) -> None:
    pair.lead(0, partitions=2)
    pair.follow(0)
    pair.settle()
    pair.next_step()
    pair.follow(0, 1)
    pair.fetcher.interrupted()
    step = pair.turn()
    assert step is not None
    assert sum(len(topic.partitions) for topic in step.request.topics) == 2


def test_by_name_while_a_topic_id_is_not_known(pair: Pair) -> None:
    pair.lead(0)
    pair.leader.append(b"a")
    pair.follow(0)
    pair.fetcher.remove(NAME)
    pair.fetcher.add(NAME, b"\0" * 16, 0, 0)
    pair.settle()
    assert {step.version for step in pair.asked} == {12}
    assert pair.log().log_end_offset == 1


# -- errors


def test_a_leader_that_does_not_know_yet_is_asked_again_soon(pair: Pair) -> None:
    pair.lead(0)
    pair.follow(1)
    pair.turn()
    assert pair.fetcher.partitions[NAME].delayed
    assert pair.fetcher.wake_ms(pair.now) == FIRST_BACKOFF_MS
    pair.lead(1)
    pair.leader.append(b"a")
    pair.now += FIRST_BACKOFF_MS
    pair.settle()
    assert pair.log().log_end_offset == 1


def test_the_back_off_grows_to_what_is_configured(pair: Pair) -> None:
    pair.lead(0)
    pair.follow(1)
    waits = []
    for _ in range(7):
        pair.turn()
        waits.append(pair.fetcher.wake_ms(pair.now) - pair.now)
        pair.now = pair.fetcher.wake_ms(pair.now)
    assert waits == [50, 100, 200, 400, 800, 1000, 1000]


def test_a_fenced_follower_waits_for_the_controller(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    pair.lead(3)
    pair.follow(2)
    pair.turn()
    assert pair.fetcher.failed == {NAME}
    assert not pair.fetcher.partitions
    pair.leader.append(b"a")
    pair.follow(3)
    pair.settle()
    assert not pair.fetcher.failed
    assert pair.log().log_end_offset == 1


def test_an_answer_for_an_older_state_is_passed_over(pair: Pair) -> None:
    pair.lead(0)
    pair.leader.append(b"a")
    pair.follow(0)
    step = pair.next_step()
    response = pair.ask(step)
    pair.follow(1)  # while the answer is on its way
    pair.handle(step, response).result()
    assert pair.log().log_end_offset == 0


def test_a_broken_batch_is_not_taken(pair: Pair) -> None:
    pair.lead(0)
    pair.leader.append(b"a")
    pair.follow(0)
    step = pair.next_step()
    response = pair.ask(step)
    data = response.responses[0].partitions[0]
    broken = bytearray(data.records)
    broken[-1] ^= 1
    data.records = memoryview(broken)
    pair.handle(step, response).result()
    assert pair.log().log_end_offset == 0
    assert pair.fetcher.partitions[NAME].delayed
    pair.now += FIRST_BACKOFF_MS
    pair.settle()
    assert pair.log().log_end_offset == 1


# -- where the leader's log begins and ends


def test_the_log_start_follows_the_leaders(pair: Pair) -> None:
    pair.lead(0)
    for _ in range(4):
        pair.leader.append(b"a")
    pair.follow(0)
    pair.settle()
    pair.leader.partition().delete_records(3)
    pair.settle()
    assert pair.log().log_start_offset == 3
    assert pair.leader.partition().low_watermark([LEADER, FOLLOWER]) == 3


def test_a_follower_that_was_away_too_long_starts_where_the_leader_starts(pair: Pair) -> None:
    pair.lead(0)
    pair.follow(0)
    for _ in range(4):
        pair.leader.append(b"a")
    leaders = pair.leaders_log()
    leaders.update_high_watermark(4)
    leaders.maybe_increment_log_start_offset(3)
    pair.settle()
    log = pair.log()
    assert (log.log_start_offset, log.log_end_offset) == (3, 4)
    assert content(log) == content(leaders)
    assert pair.clock.in_threads == 1, "its many segments went there"


def test_a_log_start_within_a_batch(pair: Pair) -> None:
    pair.lead(0)
    pair.follow(0)
    pair.leader.append(b"a", b"b", b"c", b"d")
    leaders = pair.leaders_log()
    leaders.update_high_watermark(4)
    leaders.maybe_increment_log_start_offset(2)
    pair.settle()
    assert (pair.log().log_start_offset, pair.log().log_end_offset) == (2, 4)


def test_a_leader_that_has_less_makes_the_follower_cut(pair: Pair) -> None:
    """An unclean election, with a follower that can't tell the epoch it read last."""
    pair.fetcher.config = pair.fetcher.config._replace(truncates_on_fetch=False, fetch_version=11)
    pair.lead(0)
    pair.leader.append(b"a")
    write(pair.follower, 0, b"x", b"y", b"z")
    pair.follow(0)
    fetch = pair.fetcher.partitions[NAME]
    fetch.fetch_offset = 3
    pair.fetcher._enter(NAME, fetch, Phase.FETCHING)
    pair.settle()
    assert pair.log().log_end_offset == 1


# -- truncation


def write(core: BrokerCore, epoch: int, *values: bytes) -> None:
    """Records that came from some leader of that epoch."""
    if core.replicas.partition(NAME) is None:
        core.create_topic(replicas=[BROKER_ID, 7], isr=[7], leader=7, epoch=-1 + 1)
    log = core.partition().log
    assert log is not None
    records = bytearray(batch(*values))
    records[0:8] = log.log_end_offset.to_bytes(8, "big")
    records[12:16] = epoch.to_bytes(4, "big")
    log.append_as_follower(records)


def test_what_an_old_leader_had_alone_is_cut(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    """KIP-101: the follower led epoch 1 and wrote what nobody copied; meanwhile epoch 2 has begun elsewhere."""
    caplog.set_level("INFO")
    for core in (pair.leader, pair.follower):
        write(core, 0, b"a", b"b")
    write(pair.follower, 1, b"lost")
    pair.leader.create_topic(replicas=[LEADER, FOLLOWER], isr=[LEADER], epoch=2)
    pair.leader.append(b"c")
    pair.follow(2)
    pair.settle()
    assert content(pair.log()) == content(pair.leaders_log())
    assert [values for _, _, values in content(pair.log())] == [[b"a", b"b"], [b"c"]]
    assert "truncated from offset 3 to 2" in caplog.text


@pytest.mark.parametrize("meanwhile", ["nothing", "a new leader", "removed", "the disk fails"])
@pytest.mark.parametrize("truncates_on_fetch", [True, False])
def test_a_log_is_cut_in_a_thread(
    make_core: MakeCore, tmp_path: Path, truncates_on_fetch: bool, meanwhile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left has to be read for its producers' state, and that may be much."""
    follower = BrokerCore(tmp_path / "follower", others=(7,))
    pair = Pair(make_core(others=(FOLLOWER,)), follower, truncates_on_fetch)
    for core in (pair.leader, pair.follower):
        write(core, 0, b"a", b"b")
    write(pair.follower, 1, b"lost")
    pair.lead(2)
    pair.follow(2)
    handled = pair.handle_held()
    pair.clock.go_on()
    assert pair.fetcher.changes.of(NAME) is not None
    partition = pair.follower.partition()
    assert (pair.log().log_end_offset, partition.thread_appends) == (3, 1)
    if meanwhile == "removed":
        pair.fetcher.remove(NAME)
    elif meanwhile == "a new leader":
        pair.follow(3)
    elif meanwhile == "the disk fails":
        pair.log().segments.active.file.close()
        monkeypatch.setattr("os.ftruncate", _fails)
    pair.clock.work()
    assert handled.done
    assert partition.thread_appends == 0
    if meanwhile == "the disk fails":
        assert pair.fetcher.failed == {NAME}
    else:
        assert pair.log().log_end_offset == 2
        offsets = [fetch.fetch_offset for fetch in pair.fetcher.partitions.values()]
        assert offsets == {"nothing": [2], "removed": [], "a new leader": [3 if truncates_on_fetch else 0]}[meanwhile]
    pair.follower.close()


def _fails(*_: object) -> None:
    raise OSError("no disk")


@pytest.mark.parametrize("truncates_on_fetch", [True, False])
def test_epochs_that_took_turns(make_core: MakeCore, tmp_path: Path, truncates_on_fetch: bool) -> None:
    """KIP-279: several fast elections have left each log with epochs that the other has not."""
    follower = BrokerCore(tmp_path / "follower", others=(7,))
    pair = Pair(make_core(others=(FOLLOWER,)), follower, truncates_on_fetch)
    for core in (pair.leader, pair.follower):
        write(core, 0, b"a")
    for epoch, core in ((1, pair.follower), (2, pair.leader), (3, pair.follower), (4, pair.leader), (5, pair.follower)):
        write(core, epoch, b"%d" % epoch)
    pair.leader.create_topic(replicas=[LEADER, FOLLOWER], isr=[LEADER], epoch=6)
    pair.follow(6)
    pair.settle(20)
    assert content(pair.log()) == content(pair.leaders_log())
    assert pair.log().epochs.entries == [e for e in pair.leaders_log().epochs.entries if e.epoch < 6]
    follower.close()


History = list[tuple[int, int, int]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Each epoch has one leader (0 or 1), which writes some batches; of the leader's batches the other one copies some."""
    epochs = draw(st.integers(1, 6))
    return [(draw(st.integers(0, 1)), draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in range(epochs)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.booleans())
def test_whatever_happened_the_logs_agree_in_the_end(history: History, truncates_on_fetch: bool) -> None:
    """Leaders change, and what a leader wrote last may have been copied or not: the follower ends up with the leader's log."""
    with tempfile.TemporaryDirectory() as directory:
        leader = BrokerCore(Path(directory) / "leader", others=(FOLLOWER,))
        follower = BrokerCore(Path(directory) / "follower", others=(7,))
        pair = Pair(leader, follower, truncates_on_fetch)
        for core in (leader, follower):
            core.create_topic(replicas=[BROKER_ID, 7], isr=[7], leader=7, epoch=0)
        counter = itertools.count()
        for epoch, (who, writes, copied) in enumerate(history):
            writer, copier = (leader, follower) if who == 0 else (follower, leader)
            log, copy = writer.partition().log, copier.partition().log
            assert log is not None and copy is not None
            log.maybe_assign_epoch_start_offset(epoch, log.log_end_offset)
            before = content(log)
            for _ in range(writes):
                write(writer, epoch, b"%d" % next(counter))
            # The other one fetches only while it agrees with what the writer had before.
            if content(copy) == before:
                for _, _, values in content(log)[len(before) :][:copied]:
                    write(copier, epoch, *values)
        last = len(history)
        leader.create_topic(replicas=[LEADER, FOLLOWER], isr=[LEADER], epoch=last)
        leader.append(b"end")
        pair.follow(last)
        pair.settle(40)
        assert content(pair.log()) == content(pair.leaders_log())
        assert not pair.fetcher.failed
        pair.close()


# -- throttling


def test_a_throttled_partition_is_not_fetched_while_the_quota_is_exceeded(pair: Pair) -> None:
    pair.lead(0, partitions=2)
    pair.follow(0, 0)
    pair.follow(0, 1)
    pair.quota.mark(TOPIC, frozenset((0,)))
    pair.quota.limit = 10
    pair.quota.record(1000)
    pair.leader.append(b"a", index=0)
    pair.leader.append(b"a", index=1)
    pair.settle()
    assert (pair.log(0).log_end_offset, pair.log(1).log_end_offset) == (0, 1)
    pair.follower.time.sleep(12)
    pair.settle()
    assert pair.log(0).log_end_offset == 1
    assert pair.quota.rate() > 0


def test_an_error_of_one_partition_does_not_hold_up_the_others(pair: Pair) -> None:
    pair.lead(0, partitions=2)
    pair.follow(0, 0)
    pair.follow(0, 1)
    pair.leader.leader_and_isr(TOPIC, [0], pair.leader.cache.topic_id(TOPIC), 5, 9, [5], [LEADER, 5])
    pair.leader.append(b"a", index=1)
    pair.settle()
    assert pair.log(1).log_end_offset == 1
    assert pair.fetcher.failed == {NAME}, "fenced: the leader of epoch 9 is another"
