"""The API versions that each release of Kafka serves: for clients with the option `api_version`.

The versions are those in the ApiVersions responses of these releases (kafka-python's table has them, too).
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.errors import KafkaConfigurationError

_CHANGES: dict[tuple[int, ...], str] = {
    (0, 8, 0): "0:0 1:0 2:0 3:0",
    (0, 8, 1): "8:0 9:0",
    (0, 8, 2): "8:1 9:1 10:0",
    (0, 9): "0:1 1:1 8:2 11:0 12:0 13:0 14:0 15:0 16:0",
    (0, 10, 0): "0:2 1:2 3:1 4:0 5:0 6:2 7:1-1 17:0 18:0",
    (0, 10, 1): "1:3 2:1 3:2 11:1 19:0 20:0",
    (0, 10, 2): "6:3 9:2 19:1",
    (0, 11): (
        "0:3 1:5 2:2 3:4 8:3 9:3 10:1 11:2 12:1 13:1 14:1 15:1 16:1 18:1 19:2 20:1 21:0 22:0 23:0 24:0 25:0 "
        "26:0 27:0 28:0 29:0 30:0 31:0 32:0 33:0"
    ),
    (1, 0): "0:5 1:6 3:5 4:1 6:4 7:1 17:1 34:0 35:0 36:0 37:0",
    (1, 1): "1:7 32:1 38:0 39:0 40:0 41:0 42:0",
    (2, 0): (
        "0:6 1:8 2:3 3:6 8:4 9:4 10:2 11:3 12:2 13:2 14:2 15:2 16:2 18:2 19:3 20:2 21:1 22:1 23:1 24:1 25:1 "
        "26:1 28:1 29:1 30:1 31:1 32:2 33:1 34:1 35:1 37:1 38:1 39:1 40:1 41:1 42:1"
    ),
    (2, 1): "0:7 1:10 2:4 3:7 8:6 9:5 20:3 23:2 28:2",
    (2, 2): "2:5 4:2 5:1 6:5 7:2 11:4 36:1 43:0",
    (2, 3): "1:11 3:8 8:7 11:5 12:3 14:3 15:3 23:3 44:0",
    (2, 4): (
        "0:8 3:9 4:4 5:2 6:6 7:3 8:8 9:6 10:3 11:6 12:4 13:4 14:4 15:5 16:3 18:3 19:5 20:4 22:2 38:2 42:2 "
        "43:2 44:1 45:0 46:0 47:0"
    ),
    (2, 5): "9:7 11:7 14:5 22:3 28:3 29:2 30:2 31:2 36:2 37:2 39:2 40:2 41:2",
    (2, 6): "5:3 16:4 21:2 32:3 35:2 48:0 49:0",
    (2, 7): "1:12 19:6 20:5 22:4 24:2 25:2 26:2 37:3 50:0 51:0 56:0 57:0",
    (2, 8): "0:9 2:6 3:11 4:5 6:7 19:7 20:6 23:4 24:3 25:3 26:3 27:1 32:4 33:2 34:2 48:1 49:1 60:0 61:0",
    (3, 0): "2:7 9:8 10:4 65:0 66:0 67:0",
    (3, 1): "1:13 3:12",
    (3, 2): "4:6 11:9 13:5 35:3 56:1",
    (3, 3): "29:3 30:3 31:3 35:4 38:3 41:3 56:2 57:1",
    (3, 4): "4:7 5:4 6:8 58:0",
    (3, 5): "1:15 2:8 56:3",
    (3, 6): "24:4",
    (3, 7): "0:10 1:16 8:9 9:9 60:1 68:0",
    (3, 8): "0:11 10:5 16:5 22:5 24:5 25:4 26:4 28:4 66:1 69:0",
    (3, 9): "1:17 2:9 10:6 18:4",
    (4, 0): (
        "0:12 1:4-17 2:1-10 3:13 8:2-9 9:1-9 11:2-9 15:6 19:2-7 20:1-6 23:2-4 26:5 27:1-1 28:5 29:1-3 30:1-3 "
        "31:1-3 32:1-4 34:1-2 35:1-4 38:1-3 39:1-2 40:1-2 41:1-3 55:2 57:2 60:2 68:1 69:1 75:0 4: 5: 6: 7: "
        "56: 58: 67:"
    ),
    (4, 1): "0:13 1:4-18 11:9 45:1 66:2",
    (4, 2): "2:1-11 8:2-10 9:1-10 27:1-2",
    (4, 3): "35:1-5",
}
"""Release -> changes since the previous one: `api:highest` or `api:lowest-highest`, `api:` for a removed API."""

LATEST_RELEASE = max(_CHANGES)


def parse_release(value: tuple[int, ...] | str) -> tuple[int, ...]:
    """Parse `(2, 5)` or "2.5". Raises KafkaConfigurationError."""
    try:
        parts = value.split(".") if isinstance(value, str) else value
        release = tuple(int(part) for part in parts)
    except (TypeError, ValueError):
        release = ()
    if not release or release < min(_CHANGES):
        raise KafkaConfigurationError(f"api_version must be a release of Kafka such as (2, 5); it is {value!r}")
    return release


def versions_of_release(release: tuple[int, ...]) -> NodeApiVersions:
    """Return the versions of the newest known release that is not newer than this one."""
    found: dict[int, tuple[int, int]] = {}
    for known, ranges in _history():
        if known > release:
            break
        found = ranges
    return NodeApiVersions(found)


def _history() -> Iterator[tuple[tuple[int, ...], dict[int, tuple[int, int]]]]:
    """Yield each release with its API versions, the oldest first."""
    ranges: dict[int, tuple[int, int]] = {}
    for release, changes in _CHANGES.items():
        for change in changes.split():
            key, _, versions = change.partition(":")
            lowest, dash, highest = versions.partition("-")
            if versions:
                ranges[int(key)] = (int(lowest), int(highest)) if dash else (0, int(lowest))
            else:
                del ranges[int(key)]
        yield release, dict(ranges)


def release_of(versions: NodeApiVersions) -> tuple[int, ...]:
    """Guess a broker's release, which it doesn't report: the newest one all of whose versions it serves."""
    found = min(_CHANGES)
    for release, wanted in _history():
        if all(
            key in versions.ranges and versions.ranges[key][1] >= wanted[key][1] for key in _TELLING & wanted.keys()
        ):
            found = release
    return found


_TELLING = {0, 1, 2, 3, 9, 10, 11, 24, 29, 35, 48}
"""APIs that every kind of broker serves to clients and that distinguish the releases."""
