"""A broker on a real socket that keeps what is produced: for tests of the producers' faces."""

from __future__ import annotations

from typing import Any

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkapy.protocol.messages.metadata import MetadataResponse
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.record.record_batch import RecordBatch
from tests.fake_broker import FakeBroker


class ProducingBroker(FakeBroker):
    """One topic `t` of one partition; `values` is its log. `unknown_error`: what is said of other topics."""

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self.unknown_error = 29
        super().__init__(
            {
                ApiKey.METADATA: self.topics,
                ApiKey.INIT_PRODUCER_ID: lambda _: InitProducerIdResponse(producer_id=1, producer_epoch=0),
                ApiKey.PRODUCE: self.produce,
            }
        )

    def topics(self, request: Any) -> MetadataResponse:
        partition = MetadataResponse.MetadataResponsePartition(leader_id=0, replica_nodes=[0], isr_nodes=[0])
        topic = MetadataResponse.MetadataResponseTopic
        names = [wanted.name for wanted in request.topics or []]
        return MetadataResponse(
            brokers=[MetadataResponse.MetadataResponseBroker(node_id=0, host="127.0.0.1", port=self.port)],
            cluster_id="fake",
            controller_id=0,
            topics=[
                topic(name=name, partitions=[partition])
                if name == "t"
                else topic(name=name, error_code=self.unknown_error)
                for name in names
            ],
        )

    def produce(self, request: ProduceRequest) -> ProduceResponse:
        (topic,) = request.topic_data
        (data,) = topic.partition_data
        offset = len(self.values)
        self.values += [record.value for record in RecordBatch(bytes(data.records)).records()]
        answer = ProduceResponse.PartitionProduceResponse(index=0, base_offset=offset)
        return ProduceResponse(responses=[ProduceResponse.TopicProduceResponse(name="t", partition_responses=[answer])])
