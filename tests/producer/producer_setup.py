"""A producer's core over a cluster in memory whose brokers keep logs and check sequences as Kafka's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.producer.config import ProducerConfig
from kafkapy.producer.core import ProducerCore
from kafkapy.producer.future import FutureRecordMetadata
from kafkapy.producer.intake import Intake
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.record.record_batch import RecordBatch
from kafkapy.runtime.completion import Completion, spawn
from tests.memory_driver import MemoryCluster, MemoryDriver

Fault = Callable[[TopicPartition, RecordBatch], Errors | str | None]
"""What goes wrong with a batch: an error in its place, "lost" (not written, the connection is cut), "unheard" (written,
and the connection is cut), or nothing."""


class PartitionLog:
    """What a leader keeps: values, and per producer id the epoch, next sequence and last five batches."""

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self.keys: list[bytes | None] = []
        self.batch_sizes: list[int] = []
        self.producers: dict[int, tuple[int, int, list[tuple[int, int, int]]]] = {}

    def append(self, batch: RecordBatch) -> tuple[Errors, int]:
        records = list(batch.records())
        if batch.producer_id >= 0:
            verdict = self._check(batch, len(records))
            if verdict is not None:
                return verdict
        offset = len(self.values)
        self.values += [record.value for record in records]
        self.keys += [record.key for record in records]
        self.batch_sizes.append(len(records))
        return Errors.NONE, offset

    def _check(self, batch: RecordBatch, count: int) -> tuple[Errors, int] | None:
        epoch, following, recent = self.producers.get(batch.producer_id, (batch.producer_epoch, -1, []))
        first = batch.base_sequence
        if batch.producer_epoch < epoch:
            return Errors.INVALID_PRODUCER_EPOCH, -1
        if batch.producer_epoch > epoch:
            if first != 0:
                return Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            following, recent = 0, []
        for known_first, known_count, offset in recent:
            if (known_first, known_count) == (first, count):
                return Errors.NONE, offset
        if following >= 0 and first != following:
            return Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
        recent = [*recent, (first, count, len(self.values))][-5:]
        self.producers[batch.producer_id] = batch.producer_epoch, (first + count) & 0x7FFFFFFF, recent
        return None


class Setup:
    def __init__(self, leaders: list[int] | None = None, start: bool = True, **options: Any) -> None:
        leaders = leaders if leaders is not None else [0]
        self.cluster = MemoryCluster(max([0, *leaders]) + 1)
        self.cluster.add_topic("t", leaders)
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.fault: Fault = lambda topic_partition, batch: None
        self.producer_ids = 0
        for broker in self.cluster.brokers.values():
            broker.handlers[ApiKey.PRODUCE] = self.produce
            broker.handlers[ApiKey.INIT_PRODUCER_ID] = self.init_producer_id
        self.driver = MemoryDriver(self.cluster)
        servers = [f"{broker.host}:{broker.port}" for broker in self.cluster.brokers.values()]
        self.config = ProducerConfig.from_options({"bootstrap_servers": servers, "retry_backoff_ms": 10, **options})
        self.core = ProducerCore(self.driver, self.config)
        self.intake = Intake(self.core)
        if start:
            self.driver.result_of(spawn(self.core.start()), 100)
            self.driver.result_of(spawn(self.core.wait_on_metadata("t")), 100)

    # --- the brokers' side

    def log(self, partition: int = 0) -> PartitionLog:
        return self.logs.setdefault(TopicPartition("t", partition), PartitionLog())

    def init_producer_id(self, request: Any) -> InitProducerIdResponse:
        self.producer_ids += 1
        return InitProducerIdResponse(producer_id=4000 + self.producer_ids, producer_epoch=0)

    def produce(self, request: ProduceRequest) -> ProduceResponse | None:
        topics = []
        cut = False
        for topic in request.topic_data:
            answers = []
            for data in topic.partition_data:
                topic_partition = TopicPartition(topic.name, data.index)
                batch = RecordBatch(bytes(data.records))
                batch.ensure_valid()
                fault = self.fault(topic_partition, batch)
                error, offset = (fault, -1) if isinstance(fault, Errors) else (Errors.NONE, -1)
                if fault == "lost":
                    cut = True
                elif not isinstance(fault, Errors):
                    error, offset = self.logs.setdefault(topic_partition, PartitionLog()).append(batch)
                    cut = cut or fault == "unheard"
                answers.append(
                    ProduceResponse.PartitionProduceResponse(
                        index=data.index, error_code=error.code, base_offset=offset, log_start_offset=0
                    )
                )
            topics.append(ProduceResponse.TopicProduceResponse(name=topic.name, partition_responses=answers))
        return None if cut else ProduceResponse(responses=topics)

    # --- the user's side

    def send(self, value: Any, key: Any = None, **options: Any) -> FutureRecordMetadata:
        view = self.core.topic_view("t")
        assert view is not None
        record = self.intake.serialize("t", value, key, options.get("headers"))
        future = self.intake.append(
            view, "t", record, options.get("partition"), options.get("timestamp_ms"), (value, key)
        )
        assert future is not None, "no memory"
        return future

    def flush(self, within_ms: int = 5000) -> None:
        self.driver.result_of(self.flushing(), within_ms)

    def flushing(self) -> Completion[None]:
        return spawn(self.core.flush())

    def produce_requests(self) -> list[ProduceRequest]:
        return [request for broker in self.cluster.brokers.values() for request in broker.asked(ApiKey.PRODUCE)]
