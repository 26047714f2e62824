from __future__ import annotations

from typing import Any

import pytest

from kafkapy.connect.topics.offset_store import KafkaOffsetStore
from kafkapy.errors import KafkaTimeoutError
from tests.connect.topics.fake_log import FakeLog

KEY = b'["a",{"filename":"/f"}]'


def store() -> tuple[KafkaOffsetStore, FakeLog]:
    logs: list[FakeLog] = []

    def make_log(on_record: Any) -> Any:
        logs.append(FakeLog(on_record))
        return logs[0]

    return KafkaOffsetStore(make_log), logs[0]


def test_offsets_are_read_back_and_their_partitions_known() -> None:
    offsets, _ = store()
    outcomes: list[BaseException | None] = []
    offsets.set({KEY: b'{"position":3}', b'["b",null]': b"{}"}, outcomes.append).result()
    assert outcomes == [None]
    assert offsets.get([KEY, b"none"]).result() == {KEY: b'{"position":3}', b"none": None}
    assert offsets.connector_partitions("a") == [{"filename": "/f"}]
    offsets.set({KEY: None}).result()
    assert offsets.connector_partitions("a") == [] and offsets.get([KEY]).result() == {KEY: None}


def test_the_first_error_of_a_write_is_told_once() -> None:
    offsets, log = store()
    log.errors += [KafkaTimeoutError("one"), KafkaTimeoutError("two")]
    outcomes: list[BaseException | None] = []
    written = offsets.set({b"1": b"", b"2": b"", b"3": b""}, outcomes.append)
    with pytest.raises(KafkaTimeoutError, match="one"):
        written.result()
    assert len(outcomes) == 1


@pytest.mark.parametrize("key", [None, b"{", b"[]", b'["a"]', b"[1,{}]", b'["a",[]]', b'["a",null]'])
def test_a_key_that_names_no_partition_is_kept_out(key: bytes | None) -> None:
    offsets, log = store()
    log.feed(key, b"{}")
    assert offsets.connector_partitions("a") == []
