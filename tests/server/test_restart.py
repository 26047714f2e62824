"""What a broker core finds again after it was stopped and started on the same directory."""

from __future__ import annotations

from pathlib import Path

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.produce import ProduceRequest
from tests.server.broker_core import TOPIC, BrokerCore, batch

PARTITION = TopicPartition(TOPIC, 0)


def start(directory: Path, epoch: int, isr: tuple[int, ...]) -> BrokerCore:
    """A core that leads the topic with replica 1, which never fetches."""
    core = BrokerCore(directory, (1,))
    core.create_topic(replicas=[0, 1], isr=isr, epoch=epoch)
    return core


def stop(core: BrokerCore) -> None:
    core.high_watermarks.write(list(core.replicas.partitions()))
    core.close()


def test_the_high_watermark_is_what_it_was(tmp_path: Path) -> None:
    core = start(tmp_path, 0, isr=(0,))
    core.append(b"a", b"b")
    core.leader_and_isr(TOPIC, [0], core.cache.topic_id(TOPIC), 0, 1, [0, 1], [0, 1])
    core.append(b"c")
    stop(core)
    core = start(tmp_path, 2, isr=(0, 1))
    log = core.partition().leader_log()
    assert (log.high_watermark, log.log_end_offset) == (2, 3)
    core.close()


def test_without_a_checkpoint_it_starts_at_the_log_start(tmp_path: Path) -> None:
    core = start(tmp_path, 0, isr=(0,))
    core.append(b"a", b"b", b"c")
    core.partition().delete_records(1)
    core.close()
    core = start(tmp_path, 1, isr=(0, 1))
    assert core.partition().leader_log().high_watermark == 1
    core.close()


def test_a_checkpoint_beyond_the_log_end_is_brought_back_to_it(tmp_path: Path) -> None:
    core = start(tmp_path, 0, isr=(0,))
    core.append(b"a")
    core.close()
    (tmp_path / "logs" / "replication-offset-checkpoint").write_text("0\n1\nt 0 99\n")
    core = start(tmp_path, 1, isr=(0, 1))
    assert core.partition().leader_log().high_watermark == 1
    core.close()


def test_a_batch_is_still_known_as_a_repetition(tmp_path: Path) -> None:
    for epoch in range(2):
        core = start(tmp_path, epoch, isr=(0,))
        (answer,) = core.connect().call(produce(0, acks=1), 9).responses[0].partition_responses
        assert (Errors.for_code(answer.error_code), answer.base_offset) == (Errors.NONE, 0)
        assert core.partition().leader_log().log_end_offset == 1
        stop(core)


def test_batches_that_waited_for_a_follower_are_known_as_repetitions(tmp_path: Path) -> None:
    """Three requests of one connection were not answered when the broker stopped; the snapshot of producers has all of them."""
    core = start(tmp_path, 0, isr=(0, 1))
    client = core.connect()
    for sequence in range(3):
        client.send(produce(sequence, acks=-1), 9)
    assert (client.response(), core.partition().leader_log().log_end_offset) == (None, 3)
    stop(core)
    core = start(tmp_path, 1, isr=(0,))
    client = core.connect()
    for sequence in range(3):
        (answer,) = client.call(produce(sequence, acks=1), 9).responses[0].partition_responses
        assert (Errors.for_code(answer.error_code), answer.base_offset) == (Errors.NONE, sequence)
    assert core.partition().leader_log().log_end_offset == 3
    stop(core)


def produce(sequence: int, acks: int) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(index=0, records=batch(b"a", producer=(5, 0, sequence)))
    return ProduceRequest(
        acks=acks, timeout_ms=1000, topic_data=[ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])]
    )
