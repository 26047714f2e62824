"""Short specifications of topics: `clicks`, `clicks:6`, `users:3:compact`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Topics = str | Iterable["str | WantedTopic"] | Mapping[str, int]
"""`"clicks:6,users:3:compact"`, a list of such words, or name -> number of partitions."""


@dataclass(frozen=True)
class WantedTopic:
    """A topic to be created. `partitions` None: `num.partitions` of the brokers."""

    name: str
    partitions: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> WantedTopic:
        """Parse `name[:partitions[:compact|delete|key=value[;key=value]...]]`. Raises ValueError if it is
        malformed."""
        name, *rest = text.strip().split(":", 2)
        if not name:
            raise ValueError(
                f"{text!r} names no topic; a topic is written name:partitions:compact, as in users:3:compact"
            )
        partitions = None
        if rest:
            if not rest[0].isdecimal() or int(rest[0]) < 1:
                raise ValueError(f"{text!r}: {rest[0]!r} is no number of partitions; write users:3")
            partitions = int(rest[0])
        return cls(name, partitions, dict(map(_setting, rest[1].split(";"))) if len(rest) == 2 else {})


def _setting(text: str) -> tuple[str, str]:
    if text in ("compact", "delete"):
        return "cleanup.policy", text
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is no config of a topic; write compact, or key=value")
    return key, value


def parse_topics(topics: Topics | None) -> list[WantedTopic]:
    """Parse topics. Raises ValueError if one is malformed or named twice."""
    if topics is None:
        return []
    if isinstance(topics, str):
        found = [WantedTopic.parse(text) for text in topics.split(",") if text.strip()]
    elif isinstance(topics, Mapping):
        found = [WantedTopic(name, partitions) for name, partitions in topics.items()]
    else:
        found = [topic if isinstance(topic, WantedTopic) else WantedTopic.parse(topic) for topic in topics]
    names = [topic.name for topic in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"named twice: {', '.join(twice)}")
    return found
