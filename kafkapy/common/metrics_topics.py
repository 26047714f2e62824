"""Traffic by topic (Kafka's `BrokerTopicStats`). All on the reactor thread."""

from __future__ import annotations


class TopicStats:
    """What one topic has seen here since it came."""

    __slots__ = (
        "bytes_in", "bytes_out", "failed_fetches", "failed_produces", "fetches", "messages_in", "produces", "refused_produces",
    )  # fmt: skip

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.produces = 0
        """Appends that succeeded, one for each partition of a request."""
        self.refused_produces = 0
        """Those that did not, for a reason that Kafka does not count as a failure (`NOT_LEADER_OR_FOLLOWER` ...)."""
        self.failed_produces = 0
        self.fetches = 0
        """Partitions of fetches that were answered."""
        self.failed_fetches = 0
        """Unexpected errors only."""

    @property
    def total_produces(self) -> int:
        return self.produces + self.refused_produces + self.failed_produces

    def add(self, other: TopicStats) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class StatsByTopic(dict[str, TopicStats]):
    """`stats[topic]` makes what is not there yet: only for topics that exist, since clients may ask for any name."""

    __slots__ = ("rest",)

    def __init__(self) -> None:
        self.rest = TopicStats()
        """Of topics that are deleted, or were never known."""

    def __missing__(self, topic: str) -> TopicStats:
        made = self[topic] = TopicStats()
        return made

    def known(self, topic: str) -> TopicStats:
        """The topic's, or `rest`."""
        return self.get(topic, self.rest)

    def forget(self, topic: str) -> None:
        gone = self.pop(topic, None)
        if gone is not None:
            self.rest.add(gone)

    def all_topics(self) -> TopicStats:
        """The sum, which never goes back. O(topics)."""
        total = TopicStats()
        total.add(self.rest)
        for stats in list(self.values()):
            total.add(stats)
        return total


class BrokerTopicStats:
    """`clients`: what they, and the broker's own parts, append and fetch; `followers`: what other brokers fetch."""

    __slots__ = ("clients", "followers", "replication_bytes_in")

    def __init__(self) -> None:
        self.clients = StatsByTopic()
        self.followers = StatsByTopic()
        self.replication_bytes_in = 0
        """What this broker has fetched as a follower."""

    def forget(self, topic: str) -> None:
        """The topic is deleted."""
        self.clients.forget(topic)
        self.followers.forget(topic)
