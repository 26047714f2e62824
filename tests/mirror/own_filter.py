"""A filter of the user's own, for tests."""

from __future__ import annotations

from kafkapy.mirror import TopicFilter


class OwnTopicFilter(TopicFilter):
    """Chooses one topic."""

    def should_replicate_topic(self, topic: str) -> bool:
        return topic == "own"
