"""A group moves to the other cluster and back: it skips no record, and reads none again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.consumer import KafkaConsumer
from kafkapy.structs import OffsetAndMetadata, TopicPartition
from kafkapy.testing import KafkaCluster
from tests.mirror.maker_process import mirror_maker
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

BOTH_WAYS = {
    "A_to_B_enabled": "true",
    "A_to_B_topics": "orders",
    "A_to_B_groups": "billing",
    "B_to_A_enabled": "true",
    "B_to_A_topics": "orders, A.orders",
    "B_to_A_groups": "billing",
}


@pytest.fixture
def clusters() -> Iterator[dict[str, KafkaCluster]]:
    with KafkaCluster(topics="orders") as a, KafkaCluster() as b:
        yield {"A": a, "B": b}


def committed(cluster: KafkaCluster, topic: str) -> int:
    found = cluster.admin.list_group_offsets("billing").get(TopicPartition(topic, 0))
    return 0 if found is None else found.offset


def read_up_to(cluster: KafkaCluster, topic: str, end: int) -> list[int]:
    """Read on as the group up to a record, and commit; return the numbers of the records."""
    found: list[int] = []
    partition = TopicPartition(topic, 0)
    with KafkaConsumer(
        topic,
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=1,
    ) as reader:

        def is_there() -> bool:
            for records in reader.poll(timeout_ms=100).values():
                found.extend(int(record.value or b"") for record in records)
            return bool(found) and found[-1] == end - 1

        wait_until(is_there, lambda: f"read {found}")
        reader.commit({partition: OffsetAndMetadata(end, "", -1)})
    return found


def test_a_group_moves_over_and_back(tmp_path: Path, clusters: dict[str, KafkaCluster]) -> None:
    a, b = clusters["A"], clusters["B"]
    with mirror_maker(tmp_path, clusters, "admin", **BOTH_WAYS) as (process, output):

        def produce(begin: int, end: int) -> None:
            a.produce_many("orders", [str(number).encode() for number in range(begin, end)])

        def wait_for_translation(cluster: KafkaCluster, topic: str, end: int) -> None:
            def is_translated() -> bool:
                assert process.poll() is None, output.read_text()
                at = committed(cluster, topic)
                assert at <= end, "it is never ahead"
                return at == end

            wait_until(is_translated, output.read_text)

        produce(0, 40)
        assert read_up_to(a, "orders", 40) == list(range(40))
        wait_for_translation(b, "A.orders", 40)
        produce(40, 70)
        assert read_up_to(b, "A.orders", 70) == list(range(40, 70))
        wait_for_translation(a, "orders", 70)
        produce(70, 100)
        assert read_up_to(a, "orders", 100) == list(range(70, 100))
