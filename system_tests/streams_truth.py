"""What `streams_application` must write for its input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from system_tests.streams_application import JOIN_MS, OUTPUTS, WINDOW_MS

Results = dict[str, dict[str, list[str]]]
"""Values in their order, by topic and key."""


class Input(NamedTuple):
    """A record of an input topic; `time` in ms."""

    topic: str
    key: str
    value: str
    time: int


class Truth:
    """The results of all input that was added.

    Invariant: `expected` has each result once, and those of a key in the order in which they must come; pairs of the join and
    final counts come in any order.
    """

    def __init__(self) -> None:
        self.expected: Results = {topic: defaultdict(list) for topic in OUTPUTS}
        self._counts: dict[str, int] = defaultdict(int)
        self._sums: dict[tuple[str, int], int] = defaultdict(int)
        self._windows: dict[tuple[str, int], int] = defaultdict(int)
        self._sides: dict[tuple[str, str], list[Input]] = defaultdict(list)

    def add(self, record: Input) -> None:
        """Times of a topic never go back."""
        if record.topic == "words":
            self._add_word(record)
        else:
            self._add_side(record)

    def close_windows(self) -> None:
        """All windows so far are over."""
        for (key, start), count in self._windows.items():
            self.expected["finals"][f"{key}@{start}"].append(str(count))
        self._windows.clear()

    def _add_word(self, record: Input) -> None:
        word = f"word-{int(record.value) % 20}"
        self._counts[word] += 1
        self.expected["counts"][word].append(str(self._counts[word]))
        window = record.key, record.time - record.time % WINDOW_MS
        self._sums[window] += int(record.value)
        self._windows[window] += 1
        self.expected["sums"][f"{window[0]}@{window[1]}"].append(str(self._sums[window]))

    def _add_side(self, record: Input) -> None:
        is_left = record.topic == "left"
        for other in self._sides["right" if is_left else "left", record.key]:
            if abs(other.time - record.time) <= JOIN_MS:
                one, two = (record, other) if is_left else (other, record)
                self.expected["joined"][record.key].append(f"{one.value}+{two.value}")
        self._sides[record.topic, record.key].append(record)


def differences(found: Mapping[str, Mapping[str, list[str]]], expected: Results) -> list[str]:
    """How results differ from what they must be, one line a key."""
    lines = []
    for topic, keys in expected.items():
        for key in sorted(keys.keys() | found[topic].keys()):
            wanted, there = keys.get(key, []), found[topic].get(key, [])
            if topic == "joined":
                wanted, there = sorted(wanted), sorted(there)
            if wanted != there:
                lines.append(f"{topic} {key}: {_difference(there, wanted)}")
    return lines


def _difference(there: list[str], wanted: list[str]) -> str:
    same = next((n for n, (one, two) in enumerate(zip(there, wanted, strict=False)) if one != two), len(there))
    return f"{len(there)} of {len(wanted)}, right up to {same}: {there[same : same + 3]} for {wanted[same : same + 3]}"
