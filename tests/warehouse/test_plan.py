"""Which offsets the next batch reads: of new topics, of topics made again, of trimmed logs, of open transactions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.offset_ranges import OffsetRange
from kafkapy.warehouse.config import CONTINUE, FAIL, ConfigError
from kafkapy.warehouse.plan import BatchPlan, Bounds, LogLook, PlanRules, RecordsLostError, plan_batch
from kafkapy.warehouse.snapshot import Batch, State, TopicLog

RULES = PlanRules(1_000, "earliest", FAIL)
GO_ON = RULES.__class__(1_000, "earliest", CONTINUE)
A, B = "a" * 32, "b" * 32


def look(*bounds: tuple[int, int, int], topic_id: str = A) -> dict[str, LogLook]:
    return {"t": LogLook(topic_id, {number: Bounds(*each) for number, each in enumerate(bounds)})}


def log_of(end: int, topic_id: str = A) -> dict[str, LogLook]:
    """One partition, from 0 on."""
    return look((0, end, end), topic_id=topic_id)


def after(state: State, plan: BatchPlan) -> State:
    return state.with_batch(
        Batch(state.end, plan.offsets, (), (), 0, plan.logs, plan.losses, plan.unread(state.offsets))
    )


def read(*looks: Mapping[str, LogLook], rules: PlanRules = GO_ON) -> State:
    state = State()
    for each in looks:
        state = after(state, plan_batch(state, each, rules, 0))
    return state


def ranges(plan: BatchPlan) -> list[tuple[int, int, int]]:
    return [(each.partition.partition, each.start, each.until) for each in plan.ranges]


def test_a_topic_is_read_on_where_the_ledger_ends() -> None:
    first = plan_batch(State(), look((0, 10, 10), (5, 7, 7)), RULES, 0)
    assert ranges(first) == [(0, 0, 10), (1, 5, 7)]
    assert first.logs == (TopicLog("t", "t", A, 0),)
    assert first.losses == (), "what was gone before the ledger began is no loss"
    state = after(State(), first)
    second = plan_batch(state, look((0, 12, 12), (5, 7, 7), (0, 3, 3)), RULES, 0)
    assert ranges(second) == [(0, 10, 12), (2, 0, 3)]
    assert second.offsets == {"t": {0: (10, 12), 2: (0, 3)}}
    assert not plan_batch(after(state, second), look((0, 12, 12), (5, 7, 7), (0, 3, 3)), RULES, 0).is_due


def test_an_open_transaction_is_not_read() -> None:
    plan = plan_batch(State(), look((0, 10, 15)), RULES, 0)
    assert ranges(plan) == [(0, 0, 10)]
    assert plan.unread({}) == {"t": {0: 15}}
    assert not plan.more, "it could not be read now"
    # An older version may have read further than the last transaction that is decided.
    assert ranges(plan_batch(read(log_of(15)), look((0, 10, 15)), RULES, 0)) == []


def test_a_limit_leaves_the_rest_for_the_next_batch() -> None:
    limited = PlanRules(10, "earliest", FAIL)
    plan = plan_batch(State(), look((0, 30, 30), (0, 10, 10)), limited, 0)
    assert plan.more
    assert ranges(plan) == [(0, 0, 7), (1, 0, 2)]
    assert plan.unread({}) == {"t": {0: 30, 1: 10}}


def test_where_a_ledger_begins_is_written_down() -> None:
    latest = PlanRules(100, "latest", FAIL)
    plan = plan_batch(State(), log_of(10), latest, 0)
    assert ranges(plan) == []
    assert plan.is_due
    assert ranges(plan_batch(after(State(), plan), log_of(12), latest, 0)) == [(0, 10, 12)]


def test_topics_that_come_later_are_read_whole() -> None:
    state = read(log_of(5), rules=PlanRules(100, "latest", FAIL))
    later = {**log_of(5), "u": LogLook(B, {0: Bounds(0, 3, 3)})}
    plan = plan_batch(state, later, PlanRules(100, "latest", FAIL), 0)
    assert plan.ranges == (OffsetRange(TopicPartition("u", 0), 0, 3),)


def test_given_starts() -> None:
    given = PlanRules(100, '{"t": {"0": 3, "1": -1, "2": -2}}', FAIL)
    assert ranges(plan_batch(State(), look((0, 9, 9), (0, 9, 9), (4, 9, 9), (0, 9, 9)), given, 0)) == [
        (0, 3, 9),
        (2, 4, 9),
        (3, 0, 9),
    ]
    with pytest.raises(ConfigError, match="t partition 1 has no offset"):
        plan_batch(State(), log_of(9), given, 0)


@pytest.mark.parametrize("end", [150, 100, 50, 0])
def test_a_topic_that_was_made_again_is_read_from_its_start(end: int) -> None:
    state = read(log_of(100))
    plan = plan_batch(state, log_of(end, B), RULES, 0)
    assert ranges(plan) == ([(0, 0, end)] if end else [])
    assert plan.logs == (TopicLog("t@1", "t", B, 1),)
    assert plan.losses == ()
    state = after(state, plan)
    assert state.offsets == {"t": {0: (0, 100)}, "t@1": {0: (0, end)}}
    assert state.log_of("t") == TopicLog("t@1", "t", B, 1)
    assert (state.log_of("t", 0).name, state.log_of("t", 1).name) == ("t", "t@1")
    assert [log.name for log in state.earlier_logs("t")] == ["t"]
    assert not plan_batch(state, log_of(end, B), RULES, 0).is_due


def test_what_was_unread_of_a_topic_that_is_gone_is_told() -> None:
    limited = PlanRules(60, "earliest", FAIL)
    state = after(State(), plan_batch(State(), log_of(100), limited, 0))
    (loss,) = plan_batch(state, log_of(10, B), RULES, 7).losses
    assert str(loss) == "t partition 0, offsets 60 to 99: the topic was deleted before they were read"
    assert loss.at_ms == 7
    (loss,) = plan_batch(state, log_of(10, B), RULES, 7, {"t": {0: 120}}).losses
    assert (loss.first, loss.end) == (60, 120), "the last look counts, too"


def test_a_ledger_without_ids_goes_on() -> None:
    old = State().with_batch(Batch(0, {"t": {0: (0, 100)}}, ()))
    plan = plan_batch(old, log_of(110), RULES, 0)
    assert ranges(plan) == [(0, 100, 110)]
    assert plan.logs == (TopicLog("t", "t", A, 1),), "the id is known from here on"
    state = after(old, plan)
    assert state.offsets == {"t": {0: (0, 110)}}
    assert plan_batch(state, log_of(120, B), RULES, 0).logs == (TopicLog("t@2", "t", B, 2),)
    assert ranges(plan_batch(old, log_of(50), RULES, 0)) == [(0, 0, 50)], "a log that is too short is another"


def test_brokers_without_ids() -> None:
    state = read(log_of(100, ""))
    assert ranges(plan_batch(state, log_of(110, ""), RULES, 0)) == [(0, 100, 110)]
    assert ranges(plan_batch(state, log_of(50, ""), RULES, 0)) == [(0, 0, 50)]


def test_trimmed_offsets() -> None:
    state = read(log_of(100))
    with pytest.raises(RecordsLostError, match=r't partition 0, offsets 100 to 149: .*on_data_loss = "continue"'):
        plan_batch(state, look((150, 160, 160)), RULES, 0)
    plan = plan_batch(state, look((150, 160, 160)), GO_ON, 0)
    assert ranges(plan) == [(0, 150, 160)]
    (loss,) = plan.losses
    assert (loss.log, loss.first, loss.end) == ("t", 100, 150)
    state = after(state, plan)
    assert state.losses == (loss,)
    assert state.offsets == {"t": {0: (0, 160)}}
    assert not plan_batch(state, look((150, 160, 160)), RULES, 0).is_due, "it is told once"


def test_an_empty_log_that_was_trimmed_is_told_once() -> None:
    state = after(read(log_of(100)), plan_batch(read(log_of(100)), look((150, 150, 150)), GO_ON, 0))
    assert [(each.first, each.end) for each in state.losses] == [(100, 150)]
    assert not plan_batch(state, look((150, 150, 150)), RULES, 0).is_due


def test_new_partitions_and_topics_that_were_trimmed() -> None:
    state = read(log_of(10))
    (loss,) = plan_batch(state, look((0, 10, 10), (4, 9, 9)), GO_ON, 0).losses
    assert (loss.partition, loss.first, loss.end) == (1, 0, 4)
    (loss,) = plan_batch(state, look((4, 9, 9), topic_id=B), GO_ON, 0).losses
    assert (loss.log, loss.first, loss.end) == ("t@1", 0, 4)


def test_a_log_that_became_shorter_is_another_from_there_on() -> None:
    state = read(look((0, 100, 100), (0, 20, 20)))
    with pytest.raises(RecordsLostError, match="offsets 70 to 99: the log has lost them after they were read"):
        plan_batch(state, look((0, 70, 70), (0, 25, 25)), RULES, 0)
    plan = plan_batch(state, look((0, 70, 70), (0, 25, 25)), GO_ON, 0)
    assert ranges(plan) == [(1, 20, 25)]
    state = after(state, plan)
    assert ranges(plan_batch(state, look((0, 80, 80), (0, 25, 25)), RULES, 0)) == [(0, 70, 80)]


def test_a_topic_that_is_not_there_waits() -> None:
    state = read(log_of(10))
    assert not plan_batch(state, {}, RULES, 0).is_due
    assert ranges(plan_batch(state, log_of(12), RULES, 0)) == [(0, 10, 12)]


class Topic:
    """A log with a truth beside it: what was written, trimmed, read and lost, of each topic that the name has stood for."""

    def __init__(self) -> None:
        self.number, self.first, self.end = 0, 0, 0
        self.read: set[tuple[int, int]] = set()
        self.lost: set[tuple[int, int]] = set()
        self.written: set[tuple[int, int]] = set()

    def do(self, kind: str, count: int) -> None:
        if kind == "write":
            self.written |= {(self.number, offset) for offset in range(self.end, self.end + count)}
            self.end += count
        elif kind == "trim":
            self.first = min(self.first + count, self.end)
        elif kind == "again":
            self.number, self.first, self.end = self.number + 1, 0, 0

    def look(self) -> dict[str, LogLook]:
        return look((self.first, self.end, self.end), topic_id=f"{self.number:032x}")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["write", "write", "trim", "again", "batch", "batch"]), st.integers(1, 9))),
    st.integers(1, 12),
)
def test_each_offset_is_read_once_or_told_as_lost(steps: list[tuple[str, int]], limit: int) -> None:
    topic, state = Topic(), State()
    seen: dict[str, dict[int, int]] = {}
    rules = PlanRules(limit, "earliest", CONTINUE)
    logs = {"t": 0}
    for kind, count in [*steps, *[("batch", 1)] * 60]:
        topic.do(kind, count)
        begun = state.end > 0
        if not begun and kind == "again":
            topic = Topic()  # nothing was looked at yet
        if not begun and kind == "trim":
            topic.written = {each for each in topic.written if each[1] >= topic.first}
        if begun:
            seen = {name: {0: topic.end} for name, number in logs.items() if number == topic.number} | {
                name: ends for name, ends in seen.items() if logs[name] != topic.number
            }
        if kind != "batch":
            continue
        plan = plan_batch(state, topic.look(), rules, 0, seen)
        for log in plan.logs:
            logs[log.name] = topic.number
        for each in plan.ranges:
            found = {(topic.number, offset) for offset in range(each.start, each.until)}
            assert not found & topic.read
            topic.read |= found
        topic.lost |= {(logs[loss.log], offset) for loss in plan.losses for offset in range(loss.first, loss.end)}
        if plan.is_due:
            state = after(state, plan)
    assert not topic.read & topic.lost
    numbers = set(logs.values())
    assert {each for each in topic.written if each[0] in numbers} == topic.read | topic.lost
