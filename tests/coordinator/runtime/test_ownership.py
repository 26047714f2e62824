from __future__ import annotations

from kafkapy.coordinator.runtime.ownership import LoadState, Ownership


def test_a_term_goes_from_loading_to_active() -> None:
    ownership = Ownership()
    term = ownership.elected(3, 5)
    assert term is not None
    assert (term.partition, term.epoch, term.state, ownership.is_loading) == (3, 5, LoadState.LOADING, True)
    assert ownership.change(term, LoadState.ACTIVE)
    assert not ownership.is_loading


def test_a_load_that_fails_is_still_loading_for_clients() -> None:
    ownership = Ownership()
    term = ownership.elected(3, 5)
    assert term is not None
    assert ownership.change(term, LoadState.FAILED)
    assert ownership.is_loading
    assert ownership.change(term, LoadState.LOADING)


def test_a_second_election_goes_on_with_the_term_under_the_new_epoch() -> None:
    ownership = Ownership()
    term = ownership.elected(3, 5)
    assert term is not None
    ownership.change(term, LoadState.ACTIVE)
    assert ownership.elected(3, 6) is None
    assert (term.epoch, term.state) == (6, LoadState.ACTIVE)


def test_what_becomes_of_a_load_whose_term_is_over_changes_nothing() -> None:
    ownership = Ownership()
    first = ownership.elected(3, 5)
    assert first is not None
    assert ownership.resigned(3)
    assert not ownership.resigned(3)
    second = ownership.elected(3, 7)
    assert second is not None
    assert not ownership.change(first, LoadState.ACTIVE)
    assert (ownership.is_current(first), ownership.is_current(second), second.state) == (False, True, LoadState.LOADING)


def test_epochs_only_rise() -> None:
    ownership = Ownership()
    assert ownership.newest_epoch(3) == -1
    assert ownership.record_epoch(3, 5)
    assert not ownership.record_epoch(3, 4)
    assert ownership.record_epoch(3, 5)
    assert ownership.record_epoch(4, 1)
    assert (ownership.newest_epoch(3), ownership.newest_epoch(4)) == (5, 1)
