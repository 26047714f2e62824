"""Bounces of the broker under consumer groups: offsets and groups are as they were, members come back, nothing is lost."""

from __future__ import annotations

import pytest
from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from system_tests.checks import check_group, check_log
from system_tests.clients import AckedProducer, commit_offsets, committed, create_topic, read_topic
from system_tests.conftest import Note, Progress
from system_tests.group_members import KafkaPythonMember, LibrdkafkaMember
from system_tests.services import KafkaService, wait_until

BOUNCES = {"clean": KafkaService.clean_bounce, "hard": KafkaService.hard_bounce}


@pytest.mark.timeout(300)
def test_group_survives_bounces_under_load(broker: KafkaService, short: bool, note: Note, progress: Progress) -> None:
    """Three members, of two client libraries, read with a producer at work while the broker is bounced both ways."""
    topic, partitions = "groups", 6
    create_topic(broker.bootstrap, topic, partitions)
    producer = AckedProducer(broker.bootstrap, topic, partitions, records_per_second=3000).start()
    members = [
        LibrdkafkaMember(broker.bootstrap, "three", topic, "librdkafka-1").start(),
        LibrdkafkaMember(broker.bootstrap, "three", topic, "librdkafka-2").start(),
        KafkaPythonMember(broker.bootstrap, "three", topic, "kafka-python").start(),
    ]

    def all_progress(more: int) -> None:
        goals = [member.polled + more for member in members]
        wait_until(
            lambda: all(member.polled >= goal for member, goal in zip(members, goals, strict=True)),
            60,
            lambda: f"members poll more ({[member.polled for member in members]}, wanted {goals})",
        )

    all_progress(300)
    for number in range(1 if short else 3):
        for kind, bounce in BOUNCES.items():
            seconds = bounce(broker)
            all_progress(300)
            progress(f"{kind} bounce {number + 1}: served after {seconds:.1f} s, all members are reading")
    producer.stop()
    assert not producer.failures, producer.failures[0]
    ends = dict(enumerate(producer.sent))
    wait_until(
        lambda: (
            {p: offset for p, (offset, _) in committed(broker.bootstrap, "three", topic, partitions).items()} == ends
        ),
        60,
        "the group has committed everything",
    )
    for member in members:
        member.stop()

    check_log(producer, read_topic(broker.bootstrap, topic, partitions), exactly_once=True)
    repeated = check_group(members, ends)
    note("records", f"{sum(ends.values()):,}")
    note("polled again", repeated)


@pytest.mark.long
def test_groups_and_offsets_are_as_they_were(broker: KafkaService) -> None:
    """Committed offsets with their metadata, of a group of members and of one that only stores offsets."""
    create_topic(broker.bootstrap, "kept", 3)
    producer = AckedProducer(broker.bootstrap, "kept", 3)
    producer.send(300)
    member = LibrdkafkaMember(broker.bootstrap, "of-members", "kept", "member").start()
    wait_until(lambda: member.commits > 0 and member.polled >= 300 + 3, 30, "the member has read it all")
    member.stop()
    simple = {0: (5, "five"), 1: (0, ""), 2: (100, "m" * 1000)}
    commit_offsets(broker.bootstrap, "simple", "kept", simple)
    before = {group: committed(broker.bootstrap, group, "kept", 3) for group in ("of-members", "simple")}
    assert before["simple"] == simple
    assert {offset for offset, _ in before["of-members"].values()} == {100}

    for bounce in BOUNCES.values():
        bounce(broker)
        for group, offsets in before.items():
            assert committed(broker.bootstrap, group, "kept", 3) == offsets
            assert _group_state(broker, group) == ConsumerGroupState.EMPTY
    late = LibrdkafkaMember(broker.bootstrap, "of-members", "kept", "late").start()
    producer.send(3)
    wait_until(lambda: late.polled >= 6, 30, "the new member has read what is new")
    late.stop()
    assert sorted(entry for entry in late.log if entry[1] is not None) == [(0, 100), (1, 100), (2, 100)]


def _group_state(broker: KafkaService, group: str) -> ConsumerGroupState:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def described() -> bool:
        try:
            states.append(admin.describe_consumer_groups([group], request_timeout=5)[group].result().state)
        except KafkaException:
            return False
        return True

    states: list[ConsumerGroupState] = []
    wait_until(described, 30, f"group {group} is described")
    return states[0]


@pytest.mark.long
def test_many_bounces_of_many_partitions(broker: KafkaService, note: Note, progress: Progress) -> None:
    """Clean bounces need no recovery, however often."""
    create_topic(broker.bootstrap, "many", 100)
    producer = AckedProducer(broker.bootstrap, "many", 100)
    slowest = 0.0
    for number in range(5):
        producer.send(2000)
        slowest = max(slowest, broker.clean_bounce())
        assert "Skipping recovery" in broker.text()
        progress(f"bounce {number + 1}")
    check_log(producer, read_topic(broker.bootstrap, "many", 100), exactly_once=True)
    note("slowest bounce", f"{slowest:.1f} s")
