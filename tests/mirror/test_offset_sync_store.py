"""Translation of offsets, beside Java's store and by its invariants."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.mirror import OffsetSync
from kafkapy.mirror.offset_sync_store import SYNCS_PER_PARTITION, TOO_OLD, OffsetSyncStore
from kafkapy.structs import TopicPartition

T0 = TopicPartition("t", 0)
ROWS = [line.split("\t") for line in (Path(__file__).parent / "data/java_sync_store.tsv").read_text().splitlines()]


def pairs(text: str) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, _, b in (pair.partition(":") for pair in text.split())]


def store_of(*syncs: tuple[int, int]) -> OffsetSyncStore:
    store = OffsetSyncStore()
    store.begin(keeps_only_newest=False)
    store.end_of_topic()
    for upstream, downstream in syncs:
        store.take(OffsetSync(T0, upstream, downstream))
    return store


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_syncs_and_translations_are_those_of_java(row: list[str]) -> None:
    only_newest, taken, kept, translated = row
    store = OffsetSyncStore()
    store.begin(keeps_only_newest=only_newest == "true")
    for number, (upstream, downstream) in enumerate(pairs(taken)):
        if number == 100:
            store.end_of_topic()
        store.take(OffsetSync(T0, upstream, downstream))
    assert [sync[1:] for sync in store.syncs(T0)] == pairs(kept)
    for upstream, downstream in pairs(translated):
        assert store.translate(T0, upstream) == downstream, upstream


def test_nothing_is_translated_before_the_topic_was_read() -> None:
    store = OffsetSyncStore()
    store.take(OffsetSync(T0, 5, 3))
    assert store.translate(T0, 5) is None
    store.end_of_topic()
    assert store.translate(T0, 5) == 3
    assert store.translate(TopicPartition("t", 1), 5) is None and not store.syncs(TopicPartition("t", 1))


def test_an_offset_behind_a_sync_is_one_more_at_most() -> None:
    store = store_of((100, 50))
    assert [store.translate(T0, each) for each in (99, 100, 101, 1000)] == [TOO_OLD, 50, 51, 51]


def test_a_source_topic_that_was_made_anew() -> None:
    store = store_of((100, 50), (200, 150), (5, 155))
    assert [store.translate(T0, each) for each in (4, 5, 150, 200)] == [TOO_OLD, 155, 156, 156]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2**40), st.integers(1, 3)), min_size=1, max_size=80))
def test_invariants(steps: list[tuple[int, int]]) -> None:
    upstream = downstream = 0
    taken = []
    for up, down in steps:
        upstream, downstream = upstream + up, downstream + down
        taken.append((upstream, downstream))
    store = store_of(*taken)
    syncs = store.syncs(T0)
    assert len(syncs) == SYNCS_PER_PARTITION and syncs[0][1:] == taken[-1]
    for i in range(SYNCS_PER_PARTITION):
        for j in range(i + 1, SYNCS_PER_PARTITION):
            if syncs[i] != syncs[j]:
                distance = syncs[i].upstream_offset - syncs[j].upstream_offset
                assert (1 << max(i - 2, 0)) <= distance <= (1 << j) - (1 << i), (i, j)
    previous = TOO_OLD
    for offset, exact in taken:
        found = store.translate(T0, offset)
        assert found is not None and previous <= found <= exact
        previous = found
