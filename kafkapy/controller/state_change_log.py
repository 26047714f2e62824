"""Formats changes of a partition's state for the log."""

from __future__ import annotations

from kafkapy.common.leader_and_isr import NO_LEADER, LeaderAndIsr


def describe_change(old: LeaderAndIsr, new: LeaderAndIsr) -> str:
    """Return `leader 1 -> 2, ISR [1, 2] -> [2], leader epoch 7`; unchanged values appear once."""
    leader = _change(_leader(old), _leader(new))
    isr = _change(str(list(old.isr)), str(list(new.isr)))
    return f"leader {leader}, ISR {isr}, leader epoch {new.leader_epoch}"


def _leader(state: LeaderAndIsr) -> str:
    return "none" if state.leader == NO_LEADER else str(state.leader)


def _change(old: str, new: str) -> str:
    return new if old == new else f"{old} -> {new}"
