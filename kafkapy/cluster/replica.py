"""What a leader knows of one follower (Kafka's `Replica`)."""

from __future__ import annotations

from typing import Final

from kafkapy.log.log_types import UNKNOWN_OFFSET, LogOffsetMetadata
from kafkapy.protocol.errors import Errors, KafkaError

NO_BROKER_EPOCH: Final = -1
LONG_AGO_MS: Final = -(1 << 62)
"""A time of the monotonic clock, which may itself be near 0."""


class Replica:
    """A remote replica's progress, learned from its fetches.

    Invariant: `last_caught_up_ms` is the latest time at which the follower had everything that the leader had at the
    time of its previous fetch.
    """

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "last_caught_up_ms",
        "last_fetch_leader_end_offset",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.broker_epoch = NO_BROKER_EPOCH
        self.log_end_offset = LogOffsetMetadata(UNKNOWN_OFFSET)
        self.log_start_offset = UNKNOWN_OFFSET
        self.last_fetch_leader_end_offset = 0
        self.last_fetch_ms = LONG_AGO_MS
        self.last_caught_up_ms = LONG_AGO_MS

    def reset(self, now_ms: int, leader_end_offset: int, is_new_leader: bool, in_sync: bool) -> None:
        """Reset the progress for a new leader epoch.

        A follower in the ISR gets `replica.lag.time.max.ms` for its first fetch; one outside the ISR is not waited
        for. A broker that has led the epoch before keeps what it knows.
        """
        self.last_caught_up_ms = now_ms if in_sync else LONG_AGO_MS
        if is_new_leader:
            self.broker_epoch = NO_BROKER_EPOCH
            self.log_end_offset = LogOffsetMetadata(UNKNOWN_OFFSET)
            self.log_start_offset = UNKNOWN_OFFSET
            self.last_fetch_leader_end_offset = 0
            self.last_fetch_ms = LONG_AGO_MS
        else:
            self.last_fetch_leader_end_offset = leader_end_offset
            self.last_fetch_ms = now_ms if in_sync else LONG_AGO_MS

    def update_fetch_state(
        self,
        fetch_offset: LogOffsetMetadata,
        log_start_offset: int,
        fetch_ms: int,
        leader_end_offset: int,
        broker_epoch: int = NO_BROKER_EPOCH,
    ) -> None:
        """Record a fetch at `fetch_offset`: the follower has everything before it.

        Raises KafkaError NOT_LEADER_OR_FOLLOWER for a fetch of an earlier incarnation of the follower's broker
        (KIP-903).
        """
        if broker_epoch != NO_BROKER_EPOCH:
            if broker_epoch < self.broker_epoch:
                raise KafkaError(
                    Errors.NOT_LEADER_OR_FOLLOWER,
                    f"Broker {self.broker_id} fetches with the stale epoch {broker_epoch}; "
                    f"it has fetched with {self.broker_epoch} before",
                )
            self.broker_epoch = broker_epoch
        if fetch_offset.message_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, fetch_ms)
        elif fetch_offset.message_offset >= self.last_fetch_leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = max(log_start_offset, UNKNOWN_OFFSET)
        self.last_fetch_leader_end_offset = leader_end_offset
        self.last_fetch_ms = fetch_ms

    def was_caught_up(self, fetch_ms: int) -> None:
        """Note that the follower fetched at that time from the leader's log end."""
        self.last_caught_up_ms = max(self.last_caught_up_ms, fetch_ms)
        self.last_fetch_ms = max(self.last_fetch_ms, fetch_ms)

    def is_caught_up(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> bool:
        return self.log_end_offset.message_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= max_lag_ms
