"""The store of checkpoints, and the reader of MirrorMaker's own topics."""

from __future__ import annotations

import pytest

from kafkapy.connect.errors import ConnectException
from kafkapy.mirror import Checkpoint
from kafkapy.mirror.checkpoint_store import CheckpointStore
from kafkapy.mirror.topic_reader import TopicReader
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import OffsetAndMetadata, TopicPartition
from tests.mirror.fake_consumer import FakeConsumer, record

TOPIC = "A.checkpoints.internal"
T0 = TopicPartition("A.t", 0)


def checkpoint_record(offset: int, checkpoint: Checkpoint) -> object:
    return record(TOPIC, offset, checkpoint.record_key(), checkpoint.record_value())


def test_the_newest_checkpoint_of_own_groups_is_kept() -> None:
    consumer = FakeConsumer(
        [
            checkpoint_record(0, Checkpoint("g", T0, 10, 5)),
            checkpoint_record(1, Checkpoint("other", T0, 10, 5)),
            record(TOPIC, 2, b"\x00", b"damaged"),
            checkpoint_record(3, Checkpoint("g", T0, 12, 7, "m")),
        ]
    )
    store = CheckpointStore(TOPIC, ["g"], lambda: consumer)
    assert not store.is_initialized
    assert store.start() and store.is_initialized and consumer.is_closed
    assert store.get("g") == {T0: Checkpoint("g", T0, 12, 7, "m")} and store.get("other") == {}
    assert store.translated_offsets() == {"g": {T0: OffsetAndMetadata(7, "m")}}
    store.update("g", {T0: Checkpoint("g", T0, 13, 8)})
    assert store.get("g")[T0].downstream_offset == 8


def test_a_topic_that_cannot_be_read() -> None:
    consumer = FakeConsumer([checkpoint_record(0, Checkpoint("g", T0, 10, 5))])
    consumer.error = KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED)
    store = CheckpointStore(TOPIC, ["g"], lambda: consumer)
    assert not store.start()
    assert store.is_initialized and store.get("g") == {} and consumer.is_closed


def test_a_store_that_is_stopped() -> None:
    store = CheckpointStore(TOPIC, ["g"], lambda: FakeConsumer([checkpoint_record(0, Checkpoint("g", T0, 1, 1))]))
    store.stop()
    assert not store.start()


def test_a_topic_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkapy.mirror.topic_reader._TOPIC_TIMEOUT_S", 0.0)
    reader = TopicReader("nothing", FakeConsumer, lambda _: None)
    with pytest.raises(ConnectException, match="Topic nothing does not exist"):
        reader.read_to_end()
    reader.close()
