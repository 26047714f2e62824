"""What must hold of what was sent, acknowledged and read."""

from __future__ import annotations

from collections.abc import Mapping

from system_tests.clients import AckedProducer, Record
from system_tests.group_members import GroupMember


def check_log(producer: AckedProducer, found: list[list[Record]], exactly_once: bool) -> None:
    """Every acknowledged record is at its offset; offsets have no gaps; numbers come in order.

    `exactly_once` (an idempotent producer all of whose records were acknowledged): each number once. Else a record may be
    repeated, but its first copies come in order.
    """
    for partition, records in enumerate(found):
        name = f"{producer.topic}-{partition}"
        offsets = [record.offset for record in records]
        assert offsets == list(range(len(offsets))), f"{name}: {_first_gap(offsets)}"
        numbers = [record.number for record in records]
        acked = producer.acked[partition]
        lost = {offset: number for offset, number in acked.items() if not 0 <= offset < len(numbers)}
        assert not lost or (exactly_once and set(lost) == {-1}), (
            f"{name} ends at {len(numbers)}: {len(lost)} acknowledged records lost, e.g. {min(lost.items())} (offset, number)"
        )
        for offset, number in acked.items():
            assert offset < 0 or numbers[offset] == number, (
                f"{name}: record {number} was acknowledged at offset {offset}, where now record {numbers[offset]} is"
            )
        if exactly_once:
            expected = list(range(producer.sent[partition]))
            assert numbers == expected, f"{name}: {_first_difference(numbers, expected)}"
        else:
            firsts = list(dict.fromkeys(numbers))
            assert firsts == sorted(firsts), f"{name}: records out of order"
            missing = set(acked.values()) - set(firsts)
            assert not missing, f"{name}: {len(missing)} acknowledged records lost, e.g. {min(missing)}"


def check_compacted(producer: AckedProducer, found: list[Record], keys: int) -> None:
    """Whatever is left is where it was; the last record of each of the `keys` is left."""
    offsets = [record.offset for record in found]
    assert offsets == sorted(set(offsets)), f"{producer.topic}: offsets go backwards"
    for offset, number in found:
        acked = producer.acked[0].get(offset, number)
        assert acked == number, (
            f"{producer.topic}: record {number} at offset {offset}, where record {acked} was acknowledged"
        )
    last = producer.sent[0]
    missing = set(range(last - keys, last)) - {record.number for record in found}
    assert not missing, f"{producer.topic}: the last records of {len(missing)} keys are missing, e.g. {min(missing)}"


def check_group(members: list[GroupMember], ends: Mapping[int, int]) -> int:
    """The members have together read every record up to `ends` (partition → log end); returns how many were read again.

    Within one assignment a member's offsets go up by one: nothing is skipped and nothing comes twice.
    """
    seen: dict[int, set[int]] = {partition: set() for partition in ends}
    polls = 0
    for member in members:
        assert not member.damage, f"{member.name}: {member.damage[0]}"
        position: dict[int, int] = {}
        for partition, offset in member.log:
            if offset is None:
                position.pop(partition, None)
                continue
            expected = position.get(partition, offset)
            assert offset == expected, (
                f"{member.name} polled offset {offset} of partition {partition} after {expected - 1}"
            )
            position[partition] = offset + 1
            seen[partition].add(offset)
            polls += 1
    for partition, end in ends.items():
        missing = set(range(end)) - seen[partition]
        assert not missing, (
            f"{len(missing)} records of partition {partition} were never polled, e.g. offset {min(missing)}"
        )
    return polls - sum(map(len, seen.values()))


def _first_gap(offsets: list[int]) -> str:
    for expected, offset in enumerate(offsets):
        if offset != expected:
            return f"offset {offset} where {expected} should be"
    return "no gap"


def _first_difference(found: list[int], expected: list[int]) -> str:
    for offset, (number, right) in enumerate(zip(found, expected, strict=False)):
        if number != right:
            return f"record {number} at offset {offset} where record {right} should be"
    return f"{len(found)} records where {len(expected)} were sent"
