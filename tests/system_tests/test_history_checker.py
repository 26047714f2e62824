"""The checker finds each anomaly where it was planted, and none in a right history."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from system_tests.checker import ANOMALIES, OF_REPEATED_SENDS, Verdict, check, main
from system_tests.history import History, Kind, Poll, Send
from tests.system_tests.simulated_kafka import SimulatedKafka

P = ("t", 0)
Q = ("t", 1)


def sent(history: History, *places: tuple[int, int], process: str = "p", transaction: int | None = None) -> None:
    """(value, offset) in partition P, acknowledged in this order."""
    for value, offset in places:
        history.invoke(process, P, value, transaction)
        history.ok(process, P, value, offset)


def polled(history: History, *places: tuple[int, int], process: str = "c", read_committed: bool = False) -> None:
    """(value, offset) in one poll."""
    history.poll(process, [(P, offset, value) for value, offset in places], read_committed)


def ended(history: History, transaction: int, commit: bool, process: str = "p") -> None:
    history.end_transaction(Kind.INVOKE, process, transaction, commit)
    history.end_transaction(Kind.OK, process, transaction, commit)


def good() -> History:
    history = History()
    sent(history, (10, 0), (11, 1), (12, 2), (13, 3))
    polled(history, (10, 0), (11, 1))
    polled(history, (12, 2), (13, 3))
    return history


def only(history: History, name: str) -> Verdict:
    verdict = check(history)
    assert verdict.names == {name}, verdict
    assert check(history, allowed=[name]).valid
    return verdict


def test_good_history() -> None:
    verdict = check(good())
    assert verdict.valid
    assert (verdict.sent, verdict.acknowledged, verdict.unknown, verdict.polled) == (4, 4, 0, 4)
    assert str(verdict) == "4 sent, 4 acknowledged, 0 unknown, 4 polled: no anomaly"
    verdict.require_valid()


def test_lost_write() -> None:
    history = History()
    sent(history, (10, 0), (11, 1), (12, 2))
    polled(history, (10, 0))
    polled(history, (12, 2), process="d")
    verdict = only(history, "lost-write")
    assert str(verdict.anomalies[0]) == (
        "lost-write in t-0: record 11, acknowledged at offset 1, was never polled, though offset 2 was"
    )
    with pytest.raises(AssertionError, match="lost-write"):
        verdict.require_valid()


def test_acknowledged_without_offset_and_lost() -> None:
    history = good()
    sent(history, (14, -1))
    only(history, "lost-write")


def test_acknowledged_without_offset_and_found() -> None:
    history = good()
    sent(history, (14, -1))
    polled(history, (14, 4))
    assert check(history).valid


def test_unseen() -> None:
    history = good()
    sent(history, (14, 4))
    only(history, "unseen")


def test_unseen_by_a_group() -> None:
    history = History()
    sent(history, (10, 0), (11, 1), (12, 2))
    polled(history, (10, 0), (11, 1), (12, 2), process="reader")
    history.assign("a", [P], "g")
    polled(history, (10, 0), process="a")
    history.assign("b", [P], "g")
    polled(history, (12, 2), process="b")
    verdict = only(history, "unseen")
    assert "group g has not polled 1 records, at offsets 1" in str(verdict)


def test_group_that_never_polls() -> None:
    history = good()
    history.assign("a", [P], "g")
    only(history, "unseen")


def test_duplicate() -> None:
    history = good()
    polled(history, (13, 4))
    only(history, "duplicate")


def test_inconsistent_offsets() -> None:
    history = good()
    history.assign("c", [P])
    polled(history, (10, 0), (11, 1))
    history.invoke("q", P, 20)
    polled(history, (20, 2), process="d")
    only(history, "inconsistent-offsets")


def test_acknowledged_at_an_offset_where_another_record_is() -> None:
    history = History()
    sent(history, (10, 0), (11, 1))
    history.invoke("q", P, 20)
    history.ok("q", P, 20, 1)
    polled(history, (10, 0), (11, 1))
    assert check(history).names == {"inconsistent-offsets", "lost-write"}


def test_gap() -> None:
    history = History()
    sent(history, (10, 0), (11, 2))
    polled(history, (10, 0), (11, 2))
    assert "1 offsets: 1" in str(only(history, "gap"))


def test_no_gap_where_transactions_end() -> None:
    history = History()
    sent(history, (10, 0), transaction=1)
    ended(history, 1, commit=True)
    sent(history, (11, 2), transaction=2)
    ended(history, 2, commit=True)
    polled(history, (10, 0), (11, 2), read_committed=True)
    assert check(history).valid


def test_nonmonotonic_poll() -> None:
    history = good()
    polled(history, (13, 3))
    only(history, "nonmonotonic-poll")


def test_polls_go_back_after_an_assignment() -> None:
    history = good()
    history.assign("c", [P])
    polled(history, (11, 1), (12, 2))
    assert check(history).valid


def test_assignment_of_another_partition_changes_nothing() -> None:
    history = good()
    history.assign("c", [Q])
    polled(history, (13, 3))
    only(history, "nonmonotonic-poll")


def test_int_nonmonotonic_poll() -> None:
    history = History()
    sent(history, (10, 0), (11, 1))
    polled(history, (10, 0), (11, 1), process="d")
    polled(history, (11, 1), (10, 0))
    only(history, "int-nonmonotonic-poll")


def test_poll_skip() -> None:
    history = good()
    polled(history, (10, 0), process="d")
    polled(history, (13, 3), process="d")
    assert "without 1, 2" in str(only(history, "poll-skip"))


def test_int_poll_skip() -> None:
    history = good()
    polled(history, (10, 0), (13, 3), process="d")
    only(history, "int-poll-skip")


def test_skip_of_a_record_of_unknown_fate_that_others_saw() -> None:
    history = History()
    sent(history, (10, 0))
    history.invoke("p", P, 11)
    history.info("p", P, 11)
    sent(history, (12, 2))
    polled(history, (10, 0), (11, 1), (12, 2))
    polled(history, (10, 0), (12, 2), process="d")
    only(history, "int-poll-skip")


def test_nonmonotonic_send() -> None:
    history = History()
    sent(history, (10, 1), (11, 0))
    polled(history, (11, 0), (10, 1))
    only(history, "nonmonotonic-send")
    assert check(history, OF_REPEATED_SENDS).valid


def test_order_is_that_of_invocations() -> None:
    history = History()
    history.invoke("p", P, 10)
    history.invoke("p", P, 11)
    history.ok("p", P, 11, 1)
    history.ok("p", P, 10, 0)
    polled(history, (10, 0), (11, 1))
    assert check(history).valid


def test_two_processes_may_overtake_each_other() -> None:
    history = History()
    sent(history, (10, 1), process="p")
    sent(history, (11, 0), process="q")
    polled(history, (11, 0), (10, 1))
    assert check(history).valid


def test_int_nonmonotonic_send() -> None:
    history = History()
    sent(history, (10, 1), (11, 0), transaction=1)
    ended(history, 1, commit=True)
    polled(history, (11, 0), (10, 1), read_committed=True)
    only(history, "int-nonmonotonic-send")


def test_read_of_a_refused_record() -> None:
    history = good()
    history.invoke("p", P, 14)
    history.fail("p", P, 14)
    polled(history, (14, 4))
    only(history, "aborted-read")


def aborted_transaction(read_committed: bool) -> History:
    history = History()
    sent(history, (10, 0), transaction=1)
    ended(history, 1, commit=False)
    polled(history, (10, 0), read_committed=read_committed)
    return history


def test_aborted_read() -> None:
    only(aborted_transaction(read_committed=True), "aborted-read")


def test_aborted_records_are_for_readers_of_all() -> None:
    assert check(aborted_transaction(read_committed=False)).valid


def test_aborted_records_may_be_skipped() -> None:
    history = History()
    sent(history, (10, 0), transaction=1)
    ended(history, 1, commit=True)
    sent(history, (11, 2), transaction=2)
    ended(history, 2, commit=False)
    sent(history, (12, 4), transaction=3)
    ended(history, 3, commit=True)
    polled(history, (10, 0), (12, 4), read_committed=True)
    polled(history, (10, 0), (11, 2), (12, 4), process="d")
    assert check(history).valid


def test_precommitted_read() -> None:
    history = History()
    sent(history, (10, 0), transaction=1)
    polled(history, (10, 0), read_committed=True)
    ended(history, 1, commit=True)
    only(history, "precommitted-read")


def test_intermediate_read() -> None:
    history = History()
    sent(history, (10, 0), transaction=1)
    polled(history, (10, 0), read_committed=True)
    sent(history, (11, 1), transaction=1)
    ended(history, 1, commit=True)
    polled(history, (11, 1), read_committed=True)
    verdict = check(history)
    assert verdict.names == {"intermediate-read", "precommitted-read"}
    assert "transaction 1 of p went on there" in str(verdict)


def test_torn_transaction() -> None:
    """Nobody knows how it ended, so neither half is wrong by itself."""
    history = History()
    sent(history, (10, 0), process="q")
    sent(history, (11, 1), (12, 2), transaction=1)
    history.end_transaction(Kind.INVOKE, "p", 1, True)
    history.end_transaction(Kind.INFO, "p", 1, True)
    sent(history, (13, 4), process="q")
    polled(history, (10, 0), (12, 2), (13, 4), read_committed=True)
    verdict = only(history, "torn-transaction")
    assert "of transaction 1 of p c polled 12, and went past 11" in str(verdict)


def test_a_transaction_of_unknown_outcome_may_be_there_or_not() -> None:
    for records in ([(10, 0), (13, 4)], [(10, 0), (11, 1), (12, 2), (13, 4)], [(12, 2), (13, 4)]):
        history = History()
        sent(history, (10, 0), process="q")
        sent(history, (11, 1), (12, 2), transaction=1)
        history.end_transaction(Kind.INVOKE, "p", 1, True)
        sent(history, (13, 4), process="q")
        polled(history, *records, read_committed=True)
        polled(history, (10, 0), (13, 4), process="e")
        assert check(history, allowed=["poll-skip"]).valid


def circle(*, commits: bool) -> History:
    """p's transaction reads from q's, and q's from p's."""
    history = History()
    for process, value in (("p", 10), ("q", 11)):
        sent(history, (value, value - 10), process=process, transaction=1)
    for process, value in (("p", 11), ("q", 10)):
        history.end_transaction(Kind.INVOKE, process, 1, True)
        history.poll(process, [(P, value - 10, value)], True, transaction=1)
    for process in ("p", "q"):
        history.end_transaction(Kind.OK if commits else Kind.INFO, process, 1, True)
    return history


def test_circular_information_flow() -> None:
    verdict = check(circle(commits=True), allowed=["precommitted-read"])
    assert verdict.names == {"circular-information-flow"}
    assert "transaction 1 of p read from transaction 1 of q read from transaction 1 of p" in str(verdict)
    assert check(circle(commits=False), allowed=["precommitted-read"]).valid


def test_information_flows_on() -> None:
    """Each reads from the one before it, and from itself."""
    history = History()
    for number, process in enumerate("abc"):
        if number:
            history.poll(process, [(P, 2 * (number - 1), 9 + number)], True, transaction=1)
        sent(history, (10 + number, 2 * number), process=process, transaction=1)
        ended(history, 1, commit=True, process=process)
    polled(history, (10, 0), (11, 2), (12, 4), process="r", read_committed=True)
    assert check(history).valid


def test_committed_record_is_lost() -> None:
    history = History()
    sent(history, (10, 0), transaction=1)
    ended(history, 1, commit=True)
    sent(history, (11, 2), transaction=2)
    ended(history, 2, commit=True)
    polled(history, (11, 2), read_committed=True)
    only(history, "lost-write")


def test_phantom() -> None:
    history = good()
    polled(history, (99, 4))
    only(history, "phantom")


def test_record_in_the_wrong_partition() -> None:
    history = good()
    history.poll("c", [(Q, 0, 13)])
    only(history, "phantom")


def test_lost_commit() -> None:
    history = History()
    sent(history, (10, 0), (11, 1), (12, 2))
    history.assign("a", [P], "g")
    polled(history, (10, 0), (11, 1), process="a")
    history.commit("a", "g", {P: 2})
    history.assign("b", [P], "g")
    polled(history, (11, 1), (12, 2), process="b")
    only(history, "lost-commit")


def test_commit_after_the_assignment_is_not_expected() -> None:
    history = History()
    sent(history, (10, 0), (11, 1), (12, 2))
    history.assign("a", [P], "g")
    polled(history, (10, 0), (11, 1), process="a")
    history.assign("b", [P], "g")
    history.commit("a", "g", {P: 2})
    polled(history, (10, 0), (11, 1), (12, 2), process="b")
    assert check(history).valid


def test_client_error() -> None:
    history = good()
    history.failure("p", ValueError("what is this?"))
    assert "p: ValueError: what is this?" in str(only(history, "client-error"))


def test_every_anomaly_has_a_test_here() -> None:
    text = Path(__file__).read_text()
    assert [name for name in ANOMALIES if f'"{name}"' not in text] == []


def test_what_is_no_event() -> None:
    with pytest.raises(TypeError):
        check(["send"])
    with pytest.raises(AssertionError, match="10 is sent twice"):
        check([*good(), Send(Kind.INVOKE, "p", P, 10)])


def test_a_history_is_the_same_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = SimulatedKafka(Random(3), transactional=True).run(50)
    history.failure("p", "broken")
    history.save(tmp_path / "history")
    again = History.load(tmp_path / "history")
    assert again.events == history.events
    assert list(map(type, again)) == list(map(type, history))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["checker", str(tmp_path / "history")])
        assert main() == 1
    assert "client-error" in capsys.readouterr().out


@settings(max_examples=60, deadline=None)
@given(chance=st.randoms(use_true_random=False), transactional=st.booleans(), steps=st.integers(1, 80))
def test_right_histories_have_no_anomaly(chance: Random, transactional: bool, steps: int) -> None:
    check(SimulatedKafka(chance, transactional).run(steps)).require_valid()


@settings(max_examples=60, deadline=None)
@given(chance=st.randoms(use_true_random=False), data=st.data())
def test_a_record_that_disappears_is_missed(chance: Random, data: st.DataObject) -> None:
    """Nobody polls an acknowledged record any more: lost if something behind it was polled, else unseen."""
    history = SimulatedKafka(chance, transactional=False).run(40)
    acknowledged = [event for event in history if isinstance(event, Send) and event.kind is Kind.OK]
    if not acknowledged:
        return
    victim = data.draw(st.sampled_from(acknowledged))
    polls = [event for event in history if isinstance(event, Poll)]
    events = [_without(event, victim.value) if isinstance(event, Poll) else event for event in history]
    names = check(events).names
    offsets = [record.offset for poll in polls for record in poll.records if record.partition == victim.partition]
    behind = any(offset > victim.offset for offset in offsets)
    assert ("lost-write" if behind else "unseen") in names


def _without(poll: Poll, value: int) -> Poll:
    return poll._replace(records=tuple(record for record in poll.records if record.value != value))
