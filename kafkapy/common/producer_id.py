"""The identity of an idempotent producer (KIP-98)."""

from __future__ import annotations

from typing import NamedTuple


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int = -1
    epoch: int = -1

    @property
    def is_valid(self) -> bool:
        return self.producer_id >= 0
