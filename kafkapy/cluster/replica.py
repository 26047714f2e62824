"""What a leader knows of one follower (Kafka's `Replica`)."""

from __future__ import annotations

from kafkapy.log.log_types import LogOffsetMetadata


class Replica:
    """A remote replica's progress, learned from its fetches.

    Invariant: `last_caught_up_ms` is the latest time at which the follower had everything the leader had at its fetch before.
    """

    __slots__ = (
        "broker_id",
        "last_caught_up_ms",
        "last_fetch_leader_end_offset",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int, now_ms: int) -> None:
        self.broker_id = broker_id
        self.log_end_offset = LogOffsetMetadata(-1)
        self.log_start_offset = -1
        self.last_fetch_leader_end_offset = 0
        self.last_fetch_ms = 0
        self.last_caught_up_ms = now_ms

    def update_fetch_state(
        self, fetch_offset: LogOffsetMetadata, log_start_offset: int, fetch_ms: int, leader_end_offset: int
    ) -> None:
        """The follower asks for `fetch_offset`, so it has all before it."""
        if fetch_offset.message_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, fetch_ms)
        elif fetch_offset.message_offset >= self.last_fetch_leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.last_fetch_leader_end_offset = leader_end_offset
        self.last_fetch_ms = fetch_ms

    def is_caught_up(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> bool:
        return self.log_end_offset.message_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= max_lag_ms
