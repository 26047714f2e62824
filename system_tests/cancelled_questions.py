"""A consumer without a group and an admin client whose every call is cancelled at a moment of chance."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from kafkapy import TopicPartition
from kafkapy.admin import NewTopic
from kafkapy.aio import KafkaAdminClient, KafkaConsumer
from system_tests.cancelling import Cancelling

Asking = Coroutine[Any, Any, Any]


class Questions:
    """About a partition that grows from offset 0 on. Checked with each answer; and that a cancelled call moves nothing, but
    for a `seek_to_…`, which may have moved or not."""

    def __init__(self, cancelling: Cancelling, servers: str, topic: str) -> None:
        self._cancelling = cancelling
        self._servers = servers
        self._topic = topic
        self._partition = TopicPartition(topic, 0)
        self._next: int | None = 0
        """The position; None if nobody knows."""
        self._end = 0

    async def run(self) -> None:
        call, chance = self._cancelling.call, self._cancelling.chance
        options: dict[str, Any] = {"bootstrap_servers": self._servers, "auto_offset_reset": "earliest"}
        async with KafkaConsumer(**options) as consumer, KafkaAdminClient(bootstrap_servers=self._servers) as admin:
            consumer.assign([self._partition])
            questions = [*self._of_consumer(consumer), *self._of_admin(admin)]
            while not self._cancelling.enough:
                if self._next is None:
                    self._next = chance.randrange(self._end + 1)
                    consumer.seek(self._partition, self._next)
                kind = chance.randrange(3)
                if kind == 0:
                    await call(consumer.getone(), lambda record: self._took([record]))
                elif kind == 1:
                    await call(consumer.getmany(timeout_ms=5, max_records=3), self._took_all)
                else:
                    ask, check = chance.choice(questions)
                    await call(ask(), check)

    def _of_consumer(
        self, consumer: KafkaConsumer[Any, Any]
    ) -> list[tuple[Callable[[], Asking], Callable[[Any], object]]]:
        partition, topic = self._partition, self._topic

        def seek(method: Callable[..., Asking]) -> Callable[[], Asking]:
            def begun() -> Asking:
                self._next = None
                return method(partition)

            return begun

        return [
            (lambda: consumer.position(partition), lambda offset: self._is(offset == self._next, offset)),
            (seek(consumer.seek_to_beginning), lambda _: self._moved(0)),
            (seek(consumer.seek_to_end), lambda _: None),
            (lambda: consumer.beginning_offsets([partition]), lambda found: self._is(found == {partition: 0}, found)),
            (lambda: consumer.end_offsets([partition]), lambda found: self._grew(found[partition])),
            (lambda: consumer.offsets_for_times({partition: 0}), self._found_first),
            (consumer.topics, lambda topics: self._is(topic in topics, topics)),
            (lambda: consumer.to_arrow(topic, 0, 1, partitions=[0]), self._read_first),
        ]

    def _of_admin(self, admin: KafkaAdminClient) -> list[tuple[Callable[[], Asking], Callable[[Any], object]]]:
        topic = self._topic
        new = NewTopic(f"{topic}-never", 1, 1)
        return [
            (admin.list_topics, lambda topics: self._is(topic in topics and new.name not in topics, topics)),
            (lambda: admin.describe_topics([topic]), lambda found: self._is(found[0]["name"] == topic, found)),
            (admin.describe_cluster, lambda found: self._is(found["brokers"], found)),
            (admin.list_consumer_groups, lambda _: None),
            (lambda: admin.create_topics([new], validate_only=True), lambda _: None),
        ]

    def _took_all(self, found: dict[TopicPartition, list[Any]]) -> None:
        self._took([record for records in found.values() for record in records])

    def _took(self, records: list[Any]) -> None:
        for record in records:
            self._is(record.offset == self._next, f"{record.offset} in the place of {self._next}")
            self._next = record.offset + 1
            self._end = max(self._end, record.offset)

    def _moved(self, offset: int) -> None:
        self._next = offset

    def _grew(self, end: int) -> None:
        self._is(end >= self._end, f"the end went from {self._end} to {end}")
        self._end = end

    def _found_first(self, found: dict[TopicPartition, Any]) -> None:
        first = found[self._partition]
        self._is(first.offset == 0 if self._end else first is None or first.offset == 0, first)

    def _read_first(self, table: Any) -> None:
        self._is(table["offset"].to_pylist() in ([0], [] if not self._end else [0]), table)

    @staticmethod
    def _is(true: object, what: object) -> None:
        assert true, f"wrong: {what}"
