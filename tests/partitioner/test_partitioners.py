from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.partitioner import DefaultPartitioner, StickyPartitioner, murmur2
from kafkapy.partitioner.hashing import partition_of, partitions_of


# Values of Kafka's UtilsTest.testMurmur2.
@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_the_java_clients(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF
    assert partition_of(key, 1000) == (signed & 0x7FFFFFFF) % 1000


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=60), st.integers(1, 100))
def test_many_keys_at_a_time(keys: list[bytes], partitions: int) -> None:
    keys = keys + [b"k%04d" % i for i in range(50)]
    assert list(partitions_of(keys, partitions)) == [partition_of(key, partitions) for key in keys]


class Cluster:
    def __init__(self, everything: set[int], available: set[int]) -> None:
        self.everything, self.available = everything, available

    def topics(self) -> set[str]:
        return {"t"}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self.everything if topic == "t" else None

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        return self.available if topic == "t" else None


def test_default_partitioner() -> None:
    cluster = Cluster({0, 1, 2, 3}, {2})
    partitioner = DefaultPartitioner()
    assert partitioner.partition("t", "k", b"foobar", None, None, cluster) == partition_of(b"foobar", 4)
    assert partitioner.partition("t", None, None, None, b"v", cluster) == 2
    assert partitioner.partition("t", None, None, None, b"v", Cluster({5}, set())) == 5
    with pytest.raises(ValueError, match="not found"):
        partitioner.partition("other", None, None, None, b"v", cluster)


def test_sticky_partitioner_moves_on_for_a_new_batch() -> None:
    cluster = Cluster({0, 1, 2}, {0, 1, 2})
    partitioner = StickyPartitioner()
    first = partitioner.partition("t", None, None, None, b"v", cluster)
    assert {partitioner.partition("t", None, None, None, b"v", cluster) for _ in range(20)} == {first}
    partitioner.on_new_batch("t", cluster, first)
    second = partitioner.partition("t", None, None, None, b"v", cluster)
    assert second != first
    partitioner.on_new_batch("t", cluster, first)  # stale
    assert partitioner.partition("t", None, None, None, b"v", cluster) == second
    gone = Cluster({first}, {first})
    assert partitioner.partition("t", None, None, None, b"v", gone) == first
