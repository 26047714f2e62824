"""kafkapy and Apache Kafka take turns on one data directory: each finds what the other has left.

Needs the jars of Apache Kafka 3.9.1: their directory in $KAFKAPY_APACHE_JARS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import pytest

from system_tests.checks import check_log
from system_tests.clients import AckedProducer, commit_offsets, committed, create_topic, delete_records, read_topic
from system_tests.conftest import Note, Progress
from system_tests.services import ApacheKafkaService, KafkaService, wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ROUNDS = 4
CONFIGS = {
    "log.segment.bytes": 50_000,
    "log.initial.task.delay.ms": 500,
    "log.flush.start.offset.checkpoint.interval.ms": 500,
}

NewPair = Callable[[Mapping[str, object]], tuple[KafkaService, ApacheKafkaService]]


@pytest.mark.parametrize("end", [KafkaService.clean_shutdown, KafkaService.hard_kill], ids=["clean", "killed"])
def test_brokers_take_turns(
    new_pair: NewPair, end: Callable[[KafkaService], object], note: Note, progress: Progress
) -> None:
    """The same producers go on through all rounds, so that their sequence numbers must be known to each broker."""
    ours, theirs = new_pair(CONFIGS)
    killed = end is KafkaService.hard_kill
    producers: dict[str, AckedProducer] = {}
    offsets: dict[int, tuple[int, str]] = {}
    for number in range(ROUNDS):
        broker = (theirs, ours)[number % 2]
        seconds = broker.start()
        progress(f"round {number}: {broker.name} serves after {seconds:.1f} s")
        if number == 0:
            for codec in CODECS:
                create_topic(broker.bootstrap, codec, 2)
                producers[codec] = AckedProducer(broker.bootstrap, codec, 2, compression_type=codec, batch_size=20_000)
            create_topic(broker.bootstrap, "cut", 1)
            producers["cut"] = AckedProducer(broker.bootstrap, "cut", batch_size=20_000)
        else:
            _check(broker, producers, offsets, number)

        for producer in producers.values():
            producer.send(1000)
        offsets = {0: (100 + number, f"round {number}"), 1: (number, "")}
        commit_offsets(broker.bootstrap, "group", "none", offsets)
        delete_records(broker.bootstrap, "cut", _cut(number + 1))
        _check(broker, producers, offsets, number + 1)
        if killed:
            # a start offset outlives SIGKILL only once it is in the checkpoint, of either broker
            wait_until(partial(_is_checkpointed, broker, _cut(number + 1)), 30, "the log start offset is written down")
        end(broker)
        assert (broker.data / ".kafka_cleanshutdown").exists() != killed
        if broker is theirs and number:
            _check_apache_is_content(theirs, killed)
    note("records", f"{sum(producer.acknowledged for producer in producers.values()):,}")


def _cut(rounds: int) -> int:
    """Where the log of "cut" begins after so many rounds."""
    return rounds * 700


def _is_checkpointed(broker: KafkaService, log_start_offset: int) -> bool:
    file = broker.data / "log-start-offset-checkpoint"
    return file.exists() and f"cut 0 {log_start_offset}\n" in file.read_text()


def _check(
    broker: KafkaService, producers: Mapping[str, AckedProducer], offsets: Mapping[int, tuple[int, str]], rounds: int
) -> None:
    for codec in CODECS:
        check_log(producers[codec], read_topic(broker.bootstrap, codec, 2), exactly_once=True)
    cut = read_topic(broker.bootstrap, "cut")[0]
    assert [record.offset for record in cut] == [record.number for record in cut]
    assert (cut[0].offset, cut[-1].offset) == (_cut(rounds), producers["cut"].sent[0] - 1)
    assert committed(broker.bootstrap, "group", "none", 2) == offsets


def _check_apache_is_content(apache: ApacheKafkaService, killed: bool) -> None:
    text = apache.text()
    complaints = re.findall(r".*(?:orrupt|CorruptIndex| ERROR ).*", text)
    assert not complaints, complaints[0]
    assert killed or "Skipping recovery of" in text
