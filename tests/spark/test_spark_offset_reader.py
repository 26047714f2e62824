"""What the driver asks the cluster, and for how long, without a cluster."""

from __future__ import annotations

import pytest

from kafkapy.common.time import MockTime
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.spark.offset_reader import OffsetReader
from kafkapy.spark.options import Mode, source_options


class Unreachable(OffsetReader):
    """Asks a cluster that never answers: `asked` counts."""

    asked = 0

    def give_up_after(self, ms: int) -> int:
        def ask() -> int:
            self.asked += 1
            assert isinstance(self._time, MockTime)
            self._time.advance(ms)
            raise KafkaError(Errors.REQUEST_TIMED_OUT, "None of the bootstrap servers could be reached")

        return self._retry(ask)


def asked(give_up_after_ms: int, **configs: str) -> tuple[int, int]:
    """(how many times the cluster is asked, after how many ms the query fails)"""
    options = {"kafka.bootstrap.servers": "nowhere:1", "subscribe": "t"}
    options |= {f"kafka.{name.replace('_', '.')}": text for name, text in configs.items()}
    time = MockTime()
    reader = Unreachable(source_options(options, Mode.BATCH), time)
    begin = time.monotonic_ms()
    with pytest.raises(KafkaError, match="bootstrap servers"):
        reader.give_up_after(give_up_after_ms)
    return reader.asked, time.monotonic_ms() - begin


def test_questions_are_asked_again() -> None:
    assert asked(15_000) == (3, 47_000)


def test_but_not_once_the_time_of_the_client_is_up() -> None:
    assert asked(60_000) == (1, 60_000)
    assert asked(3_000, default_api_timeout_ms="3000") == (1, 3_000)


def test_wrong_configs_are_told_at_once() -> None:
    time = MockTime()
    begin = time.monotonic_ms()
    options = source_options({"kafka.bootstrap.servers": "no-port", "subscribe": "t"}, Mode.BATCH)
    with pytest.raises(KafkaError, match=r"Invalid url in bootstrap.servers: no-port"):
        OffsetReader(options, time).partitions()
    assert time.monotonic_ms() == begin
