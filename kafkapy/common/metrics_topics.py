"""Traffic by topic (Kafka's `BrokerTopicStats`). All on the reactor thread."""

from __future__ import annotations


class TopicStats:
    """The traffic of one topic on this broker."""

    __slots__ = (
        "bytes_in", "bytes_out", "failed_fetches", "failed_produces", "fetches", "messages_in", "produces", "refused_produces",
    )  # fmt: skip

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.produces = 0
        """Successful appends, one for each partition of a request."""
        self.refused_produces = 0
        """Failed appends for a reason that Kafka does not count as a failure (`NOT_LEADER_OR_FOLLOWER` ...)."""
        self.failed_produces = 0
        self.fetches = 0
        """Partitions of answered fetches."""
        self.failed_fetches = 0
        """Unexpected errors only."""

    @property
    def total_produces(self) -> int:
        return self.produces + self.refused_produces + self.failed_produces

    def add(self, other: TopicStats) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class StatsByTopic(dict[str, TopicStats]):
    """Statistics by topic.

    `stats[topic]` creates missing ones, so use it only for existing topics, since clients may send any name.
    """

    __slots__ = ("others",)

    def __init__(self) -> None:
        self.others = TopicStats()
        """The sum of deleted and unknown topics."""

    def __missing__(self, topic: str) -> TopicStats:
        made = self[topic] = TopicStats()
        return made

    def existing_or_others(self, topic: str) -> TopicStats:
        """Return the topic's statistics, or `others` if it has none."""
        return self.get(topic, self.others)

    def forget(self, topic: str) -> None:
        gone = self.pop(topic, None)
        if gone is not None:
            self.others.add(gone)

    def all_topics(self) -> TopicStats:
        """Return the sum of all topics, which never decreases. O(topics)."""
        total = TopicStats()
        total.add(self.others)
        for stats in list(self.values()):
            total.add(stats)
        return total


class BrokerTopicStats:
    """Traffic of all topics.

    `clients` counts what clients and the broker itself append and fetch; `followers` what other brokers fetch.
    """

    __slots__ = ("clients", "followers", "replication_bytes_in")

    def __init__(self) -> None:
        self.clients = StatsByTopic()
        self.followers = StatsByTopic()
        self.replication_bytes_in = 0
        """Bytes that this broker has fetched as a follower."""

    def forget(self, topic: str) -> None:
        """Move the statistics of a deleted topic to `others`."""
        self.clients.forget(topic)
        self.followers.forget(topic)
