"""A steady load on a broker."""

from __future__ import annotations

from system_tests.checks import check_group, check_log
from system_tests.clients import AckedProducer, create_topic, read_topic
from system_tests.group_members import LibrdkafkaMember
from system_tests.services import wait_until


class Load:
    """A producer and a group of one member on a topic of their own, and what must hold of both at the end."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        create_topic(bootstrap, topic, 2)
        self.producer = AckedProducer(bootstrap, topic, 2, records_per_second=3000).start()
        self.member = LibrdkafkaMember(bootstrap, f"{topic}-group", topic, "member").start()
        self.wait_for_both(500)

    def wait_for_both(self, more: int) -> None:
        """Until `more` records are produced, and `more` consumed, than are now."""
        goal = self.member.polled + more
        self.producer.wait_for(more)
        wait_until(lambda: self.member.polled >= goal, 60, f"{more} more records of {self.topic} are consumed")

    def check(self, consumed_once: bool = True) -> int:
        """Stop both; returns the number of records."""
        self.producer.stop()
        assert not self.producer.failures, self.producer.failures[0]
        ends = dict(enumerate(self.producer.sent))
        wait_until(lambda: self.member.polled >= sum(ends.values()), 60, f"{self.topic} is consumed to its end")
        self.member.stop()
        check_log(self.producer, read_topic(self.bootstrap, self.topic, 2), exactly_once=True)
        repeated = check_group([self.member], ends)
        assert not (repeated and consumed_once), f"{repeated} records were consumed twice"
        return sum(ends.values())
