"""A log against a list: random appends, rolls, truncations, deletions, restarts and kills at any byte."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafkapy.log.log import FetchIsolation
from kafkapy.record.batches import batches
from tests.log.log_support import NOW, LogDirFixture, batch, records


class LogModel(RuleBasedStateMachine):
    """`model` is the list of batches, each a list of (offset, value); `end` the log end offset."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.TemporaryDirectory()
        self.model: list[list[tuple[int, bytes]]] = []
        self.end = 0
        self.start = 0
        self.sequence = 0
        self.epoch = 0
        self.values = 0

    @initialize(
        segment=st.integers(400, 900), interval=st.sampled_from([0, 100, 4096]), index=st.sampled_from([60, 4000])
    )
    def open(self, segment: int, interval: int, index: int) -> None:
        self.fixture = LogDirFixture(
            Path(self.root.name),
            segment_bytes=segment,
            index_interval_bytes=interval,
            segment_index_bytes=index,
            file_delete_delay_ms=0,
        )
        self.log = self.fixture.open()

    def _values(self, count: int) -> list[bytes]:
        self.values += count
        return [b"%d" % number for number in range(self.values - count, self.values)]

    @rule(count=st.integers(1, 4), idempotent=st.booleans(), later=st.integers(0, 5))
    def append_as_leader(self, count: int, idempotent: bool, later: int) -> None:
        values = self._values(count)
        producer = (1, 0, self.sequence) if idempotent else (-1, -1, -1)
        info = self.log.append_as_leader(batch(0, values, producer=producer, timestamp=NOW + later), self.epoch)
        assert info.first_offset == self.end
        if idempotent:
            self.sequence += count
            again = self.log.append_as_leader(batch(0, values, producer=producer, timestamp=NOW), self.epoch)
            assert again.duplicate and again.first_offset == self.end
        self._appended(values, self.end)

    @rule(count=st.integers(1, 4), gap=st.integers(0, 3), batch_count=st.integers(1, 3))
    def append_as_follower(self, count: int, gap: int, batch_count: int) -> None:
        data = bytearray()
        for _ in range(batch_count):
            values = self._values(count)
            offset = self.end + gap
            data += batch(offset, values, epoch=self.epoch)
            self._appended(values, offset)
        self.log.append_as_follower(data)

    def _appended(self, values: list[bytes], offset: int) -> None:
        self.model.append([(offset + index, value) for index, value in enumerate(values)])
        self.end = offset + len(values)

    @rule()
    def elect(self) -> None:
        self.epoch += 1

    @rule()
    def roll(self) -> None:
        if self.log.active_segment.size:
            self.log.roll()

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        target = int(self.start + part * (self.end - self.start))
        self.log.truncate_to(target)
        if target < self.end:
            self.model = [one for one in self.model if one[-1][0] < target]
            self.end = target
            self._sequence_of_the_log()

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        self.log.update_high_watermark(self.end)
        self.start = int(self.start + part * (self.end - self.start))
        self.log.maybe_increment_log_start_offset(self.start)
        self.log.delete_old_segments()
        self.fixture.scheduler.advance(1)

    @rule()
    def flush(self) -> None:
        self.log.flush()

    @rule()
    def restart(self) -> None:
        self.log.flush(True)
        self.log.close()
        self._open(True)

    @rule()
    def kill(self) -> None:
        self._open(False)

    @rule(cut=st.integers(1, 400))
    def lose_the_last_bytes(self, cut: int) -> None:
        segment = self.log.active_segment
        if self.log.recovery_point > segment.base_offset or cut > segment.size or not self.model:
            return
        size = segment.size - cut
        kept = sum(one.size_in_bytes for one in batches(Path(segment.log_path).read_bytes()[:size]))
        lost = [one for one in batches(Path(segment.log_path).read_bytes()) if one.position >= kept]
        os.truncate(segment.log_path, size)
        self.model = [one for one in self.model if one[0][0] < lost[0].base_offset]
        self._open(False)
        self._sequence_of_the_log()

    def _open(self, clean: bool) -> None:
        """What counts is in the files: an end that a truncation set behind the last batch is forgotten."""
        base = self.log.active_segment.base_offset
        left = [one for one in self.model if one[0][0] >= base]
        self.end = left[-1][-1][0] + 1 if left else base
        if self.end < self.start:
            self.model, self.end = [], self.start
        self.log = self.fixture.open(
            had_clean_shutdown=clean, recovery_point=self.log.recovery_point, log_start_offset=self.start
        )

    def _sequence_of_the_log(self) -> None:
        entry = self.log.producers.producers.get(1)
        self.sequence = entry.last_seq + 1 if entry is not None and entry.batches else 0

    @invariant()
    def same_records(self) -> None:
        if not hasattr(self, "log"):
            return
        expected = [record for one in self.model for record in one if record[0] >= self.start]
        assert records(self.log, self.start) == expected
        assert (self.log.log_end_offset, self.log.log_start_offset) == (self.end, self.start)
        assert self.fixture.failures == []

    @invariant()
    def every_offset_is_found(self) -> None:
        if not hasattr(self, "log"):
            return
        bounds = sorted((one[-1][0], one[0][0]) for one in self.model)
        for offset in range(self.start, self.end):
            base = next((first for last, first in bounds if last >= offset), None)
            data = self.log.read(offset, 1, FetchIsolation.LOG_END, True).records
            found = [] if isinstance(data, bytes) else list(batches(data.read()))
            assert [one.base_offset for one in found] == ([] if base is None else [base])

    def teardown(self) -> None:
        self.root.cleanup()


LogModel.TestCase.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TestLogModel = LogModel.TestCase
