"""Statistics of one cleaning of a log (Kafka's `CleanerStats`)."""

from __future__ import annotations

from kafkapy.common.time import Time


class CleanerStats:
    """Counters of one cleaning; times in ms of the monotonic clock."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self._start = time.monotonic_ms()
        self._index_end = self._start
        self._end = self._start
        self.map_bytes_read = 0
        self.bytes_read = 0
        self.bytes_written = 0
        self.messages_read = 0
        self.messages_written = 0
        self.invalid_messages_read = 0
        """Records without a key, which are invalid in a compacted log."""
        self.buffer_utilization = 0.0
        """The filled share of the offset map, 0 to 1."""

    def index_done(self) -> None:
        """Record that the offset map is complete."""
        self._index_end = self._time.monotonic_ms()

    def all_done(self) -> None:
        self._end = self._time.monotonic_ms()

    @property
    def elapsed_secs(self) -> float:
        return (self._end - self._start) / 1000

    @property
    def elapsed_index_secs(self) -> float:
        return (self._index_end - self._start) / 1000

    def __str__(self) -> str:
        kept_bytes = self.bytes_written / self.bytes_read if self.bytes_read else 1.0
        kept_messages = self.messages_written / self.messages_read if self.messages_read else 1.0
        return (
            f"{self.bytes_read} bytes ({self.messages_read} messages) to {self.bytes_written} bytes "
            f"({self.messages_written} messages), {100 * (1 - kept_bytes):.1f}% size reduction "
            f"({100 * (1 - kept_messages):.1f}% fewer messages), in {self.elapsed_secs:.1f} seconds, of which "
            f"{self.elapsed_index_secs:.1f} for the offset map of {self.map_bytes_read} bytes; "
            f"buffer utilization {100 * self.buffer_utilization:.1f}%"
        )
