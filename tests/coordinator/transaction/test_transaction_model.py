"""Producers that begin, add, end and come back as they like, under a log that fails and a coordinator that moves.

Whatever they do: every request is answered once, a decision that stands in the log is never changed, a producer that has
been told of an end finds it in the log, and when all is well again every transaction comes to its end.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.coordinator.transaction.metadata import TransactionMetadata
from kafkapy.coordinator.transaction.transaction import InitProducerIdResult, Transaction
from kafkapy.coordinator.transaction.transaction_state import (
    COMPLETED,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE_COMMIT,
    PREPARING,
    TRANSITIONS,
)
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.runtime.completion import Completion
from tests.coordinator.transaction.transaction_harness import CONFIG, T0, T1, TX, TransactionHarness

BROKEN = [Errors.NOT_ENOUGH_REPLICAS, Errors.REQUEST_TIMED_OUT, Errors.NOT_LEADER_OR_FOLLOWER]
FORGOTTEN_MS = 200_000
FORGETFUL = CONFIG._replace(
    transactional_id_expiration_ms=FORGOTTEN_MS // 2, remove_expired_interval_ms=FORGOTTEN_MS // 4
)
KNOWN_ERRORS = {
    NONE,
    Errors.CONCURRENT_TRANSACTIONS,
    Errors.PRODUCER_FENCED,
    Errors.INVALID_PRODUCER_ID_MAPPING,
    Errors.INVALID_TXN_STATE,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.NOT_COORDINATOR,
}


class Transactions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.h = TransactionHarness(config=FORGETFUL)
        self.producers = [ProducerIdAndEpoch(5, 5)]
        """All who have been told who they are, the newest last."""
        self.inits: list[Completion[InitProducerIdResult]] = []
        self.ends: list[tuple[Completion[Errors], bool, int]] = []
        """With the outcome asked for, and how long the log was then."""
        self.others: list[Completion[Errors]] = []

    def read_answers(self) -> None:
        for init in [init for init in self.inits if init.done]:
            self.inits.remove(init)
            result = init.result()
            assert result.error in KNOWN_ERRORS
            if result.error is NONE:
                producer = ProducerIdAndEpoch(result.producer_id, result.producer_epoch)
                assert producer not in self.producers, "two producers are one"
                self.producers.append(producer)
        for reply in [reply for reply in self.others if reply.done]:
            self.others.remove(reply)
            assert reply.result() in KNOWN_ERRORS
        for end in [end for end in self.ends if end[0].done]:
            self.ends.remove(end)
            reply, commit, _ = end
            assert reply.result() in KNOWN_ERRORS
            if reply.result() is NONE:
                self.check_told(commit)

    def check_told(self, commit: bool) -> None:
        decided = [step.state for step in self.h.history() if step is not None and step.state in PREPARING]
        assert decided, "told of an end that the log does not have"
        assert (decided[-1] is PREPARE_COMMIT) is commit

    # ------------------------------------------------------------------------------------------------ rules

    @rule()
    def init(self) -> None:
        self.inits.append(self.h.start_init())
        self.read_answers()

    @rule(back=st.integers(0, 2))
    def go_on(self, back: int) -> None:
        """As KIP-360 has it; not twice the same, for then the same is answered."""
        expected = self.someone(back)
        result = self.h.start_init(expected=expected)
        if result.done and result.result().error is NONE:
            told = ProducerIdAndEpoch(result.result().producer_id, result.result().producer_epoch)
            if told not in self.producers:
                self.producers.append(told)
            assert told.producer_id != expected.producer_id or told.epoch == expected.epoch + 1

    def someone(self, back: int) -> ProducerIdAndEpoch:
        return self.producers[max(0, len(self.producers) - 1 - back)]

    @rule(back=st.integers(0, 1), partitions=st.sets(st.sampled_from([T0, T1]), min_size=1))
    def add(self, back: int, partitions: set[object]) -> None:
        self.others.append(self.h.start_add(self.someone(back), *(name for name in (T0, T1) if name in partitions)))
        self.read_answers()

    @rule(back=st.integers(0, 1), commit=st.booleans())
    def end(self, back: int, commit: bool) -> None:
        self.ends.append((self.h.start_end(self.someone(back), commit), commit, len(self.h.history())))
        self.read_answers()

    @rule()
    def transact(self) -> None:
        """Bring the id to the point where its markers are sent, if nothing is in the way."""
        self.init()
        self.add(0, {T0, T1})
        self.end(0, True)

    @rule(which=st.sampled_from([(T0,), (T1,), ()]))
    def write_markers(self, which: tuple[object, ...]) -> None:
        self.h.write_markers(*(name for name in (T0, T1) if name in which))
        self.read_answers()

    @rule(ms=st.sampled_from([1, 100, 10_000, 60_000, FORGOTTEN_MS]))
    def wait(self, ms: int) -> None:
        self.h.advance(ms)
        self.read_answers()

    @rule(error=st.sampled_from([NONE, NONE, *BROKEN]))
    def log_error(self, error: Errors) -> None:
        self.h.log.error = error

    @rule(hold=st.booleans(), error=st.sampled_from([NONE, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND]))
    def log_delay(self, hold: bool, error: Errors) -> None:
        self.h.log.hold = hold
        if not hold:
            self.h.log.release(error)
            self.read_answers()

    @rule(loads=st.booleans())
    def move(self, loads: bool) -> None:
        """The log is asked about what it has before the id moves, for the next coordinator reads no more."""
        self.h.log.release(Errors.NOT_LEADER_OR_FOLLOWER if self.h.log.error in BROKEN else NONE)
        self.h.resign()
        self.read_answers()
        self.h.elect()
        if loads:
            self.h.advance(0)

    # ------------------------------------------------------------------------------------------------ what must hold

    @invariant()
    def log_is_a_way_through_the_table(self) -> None:
        """And every decision is followed by itself or by its end, with the same producer."""
        before: TransactionMetadata | None = None
        for step in self.h.history():
            if step is not None and before is not None:
                same = step.state is before.state
                assert same or step.state in TRANSITIONS[before.state]
                assert step.producer_id != before.producer_id or step.producer_epoch >= before.producer_epoch
                if before.state in PREPARING:
                    assert same or step.state is COMPLETED[before.state]
                    assert (step.producer_id, step.producer_epoch) == (before.producer_id, before.producer_epoch)
                    assert step.partitions == (before.partitions if same else frozenset())
            before = step

    @invariant()
    def books_agree(self) -> None:
        found: Transaction | None = self.h.coordinator.transactions.get(TX)
        if found is None:
            return
        now, pending = found.metadata, found.pending
        assert not found.is_gone
        assert now.state is not DEAD
        assert found.unmarked <= now.partitions
        assert not found.unmarked or now.state in PREPARING
        if now.state in PREPARING:
            assert pending is not None
            assert pending.state is COMPLETED[now.state]
        if now.state is EMPTY:
            assert not now.partitions
        if pending is not None:
            assert pending.state in TRANSITIONS[now.state]

    @invariant()
    def what_holds_is_in_the_log(self) -> None:
        found = self.h.coordinator.transactions.get(TX)
        if found is not None and found.metadata.state is not EMPTY:
            states = [(s.state, s.producer_id, s.partitions) for s in self.h.history() if s is not None]
            now = found.metadata
            assert (now.state, now.producer_id, now.partitions) in states

    def teardown(self) -> None:
        """All is well again: what was begun ends, a new producer can do all it wants, and nobody waits."""
        self.h.log.error, self.h.log.hold = NONE, False
        self.h.log.release()
        for _ in range(10):
            self.h.advance(10_000)
            self.h.write_markers()
        self.read_answers()
        assert not (self.inits or self.ends or self.others)
        found = self.h.coordinator.transactions.get(TX)
        assert found is None or found.metadata.state is not ONGOING
        assert found is None or found.pending is None
        producer = self.h.producer()
        assert self.h.add(producer, T0) is NONE
        assert self.h.end(producer) is NONE
        self.h.write_markers()
        assert self.h.state() == "CompleteCommit"
        self.log_is_a_way_through_the_table()


Transactions.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestTransactions = Transactions.TestCase
