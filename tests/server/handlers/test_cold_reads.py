"""Where an offset or a time lies may have to be read from a disk: a thread does that, and others are served meanwhile."""

from __future__ import annotations

import pytest

from kafkapy.common import page_cache
from kafkapy.protocol.errors import Errors
from tests.server.broker_core import BROKER_ID, TOPIC, BrokerCore, MakeCore, topic_id_of
from tests.server.handlers.test_fetch import NEWEST as NEWEST_FETCH
from tests.server.handlers.test_fetch import error, found, from_offset, only, values, wanted
from tests.server.handlers.test_fetch import fetch as fetch_of
from tests.server.handlers.test_follower_session import Follower
from tests.server.handlers.test_list_offsets import LATEST, list_offsets
from tests.server.handlers.test_list_offsets import NEWEST as NEWEST_LIST_OFFSETS
from tests.server.handlers.test_list_offsets import only as only_offset

NAMES = 12


class Disk:
    """Nothing is in memory before a thread has read it. Whoever may not wait meets an exception."""

    def __init__(self, core: BrokerCore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.core = core
        core.cold_reads.holds = True
        monkeypatch.setattr(page_cache, "read_cached", self.read_cached)

    def read_cached(self, fd: int, size: int, position: int) -> bytes:
        assert not page_cache.blocking_reads.allowed
        raise BlockingIOError

    def forget(self, *partitions: int) -> None:
        """What was just appended is known without a look into the file."""
        for index in partitions or (0,):
            log = self.core.partition(index=index).log
            assert log is not None
            log.active_segment._forget_recent_batches()


@pytest.fixture
def disk(core: BrokerCore, monkeypatch: pytest.MonkeyPatch) -> Disk:
    for value in (b"a", b"b", b"c"):
        core.append(value)
    made = Disk(core, monkeypatch)
    made.forget()
    return made


def test_a_fetch_from_the_disk_keeps_nobody_else_waiting(core: BrokerCore, disk: Disk) -> None:
    reader, other = core.connect(), core.connect()
    reader.send(from_offset(1), NAMES)
    assert reader.response() is None
    core.append(b"d")
    assert values(only(other.call(from_offset(3), NAMES))) == [b"d"]  # which is known without a look into the file
    core.cold_reads.work()
    assert values(only(reader.response())) == [b"b", b"c", b"d"]
    assert page_cache.blocking_reads.allowed
    assert core.cold_reads.held == []


def test_all_partitions_of_a_fetch_are_looked_up_at_once(make_core: MakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    core = make_core()
    core.create_topic(partitions=3)
    for index in range(3):
        core.append(b"a", b"b", index=index)
    disk = Disk(core, monkeypatch)
    disk.forget(0, 2)
    reader = core.connect()
    reader.send(fetch_of((TOPIC, [wanted(index) for index in range(3)])), NAMES)
    assert len(core.cold_reads.held) == 1
    core.cold_reads.work()
    assert [values(data) for data in found(reader.response()).values()] == [[b"a", b"b"]] * 3


def test_a_log_that_is_cut_while_it_is_looked_up(core: BrokerCore, disk: Disk) -> None:
    reader = core.connect()
    reader.send(from_offset(2), NAMES)
    log = core.partition().log
    assert log is not None
    log.truncate_to(1)
    core.cold_reads.work()
    assert error(only(reader.response())) is Errors.OFFSET_OUT_OF_RANGE


def test_a_fetch_of_a_client_that_has_gone(core: BrokerCore, disk: Disk) -> None:
    reader = core.connect()
    reader.send(from_offset(0), NEWEST_FETCH - 5)
    reader.channel.connectionLost()
    core.cold_reads.work()
    assert reader.response() is None


def test_a_follower_that_catches_up(make_core: MakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    core = make_core(others=(1,))
    core.create_topic(partitions=2, replicas=[BROKER_ID, 1])
    follower = Follower(core)
    follower.fetch({0: 0, 1: 0})
    for index in (0, 1):
        core.append(b"a", index=index)
        core.append(b"b", index=index)
    disk = Disk(core, monkeypatch)
    disk.forget(0)
    follower.ask({0: 0, 1: 1}, max_wait_ms=500)
    assert follower.client.response() is None
    assert follower.replica(1).log_end_offset.message_offset == 1, "what is known of others is noted"
    disk.forget(1)
    core.cold_reads.work()
    answer = follower.answer()
    assert (values(answer[0]), values(answer[1])) == ([b"a", b"b"], [b"b"])
    assert core.cold_reads.held == []


def test_a_follower_that_has_gone(make_core: MakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    core = make_core(others=(1,))
    core.create_topic(replicas=[BROKER_ID, 1])
    follower = Follower(core)
    follower.fetch({0: 0})
    core.append(b"a")
    Disk(core, monkeypatch).forget()
    follower.ask({0: 0})
    follower.client.channel.connectionLost()
    core.cold_reads.work()
    assert follower.client.response() is None


def test_times_are_looked_up_in_threads(core: BrokerCore, disk: Disk) -> None:
    now = core.time.milliseconds()
    reader, other = core.connect(), core.connect()
    reader.send(list_offsets(now), NEWEST_LIST_OFFSETS)
    assert reader.response() is None
    assert only_offset(other.call(list_offsets(LATEST), NEWEST_LIST_OFFSETS)).offset == 3
    core.cold_reads.work()
    answer = only_offset(reader.response())
    assert (answer.timestamp, answer.offset) == (now, 0)


def test_a_partition_that_moves_away_while_a_time_is_looked_up(core: BrokerCore, disk: Disk) -> None:
    reader = core.connect()
    reader.send(list_offsets(0), NEWEST_LIST_OFFSETS)
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), 7, 1, [7], [7, BROKER_ID])
    core.cold_reads.work()
    assert Errors.for_code(only_offset(reader.response()).error_code) is Errors.NOT_LEADER_OR_FOLLOWER
