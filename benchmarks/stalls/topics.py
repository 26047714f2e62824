"""Requests about thousands of topics."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.brokers import Server
from benchmarks.stalls.client import FrameClient, check, metadata_request
from benchmarks.stalls.measure import Scenario
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest

_TOPIC_RESOURCE = 2
_TIMEOUT_MS = 100_000


def names(count: int) -> list[str]:
    return [f"stalls-{n:05}" for n in range(count)]


def create(server: Server, topics: Sequence[str], partitions: int = 1) -> None:
    """In one request; those that are there stay."""
    request = CreateTopicsRequest(
        topics=[
            CreateTopicsRequest.CreatableTopic(
                name=topic, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
            )
            for topic in topics
        ],
        timeout_ms=_TIMEOUT_MS,
        validate_only=False,
    )
    with FrameClient(server.port) as client:
        for topic in client.call(request, 5).topics:
            if Errors.for_code(topic.error_code) is not Errors.TOPIC_ALREADY_EXISTS:
                check(topic.error_code)


def delete(server: Server, topics: Sequence[str]) -> None:
    with FrameClient(server.port) as client:
        for topic in client.call(DeleteTopicsRequest(topic_names=list(topics), timeout_ms=_TIMEOUT_MS), 5).responses:
            check(topic.error_code)


class _ManyTopics(Scenario):
    """A broker has the topics for all of these scenarios that have the same count."""

    def __init__(self, name: str, count: int) -> None:
        self.name = name
        self.broker = f"{count} topics"
        self._count = count


class CreatingTopics(_ManyTopics):
    def prepare(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            found = {topic.name for topic in client.call(MetadataRequest(topics=None), 7).topics}
        there = [name for name in names(self._count) if name in found]
        if there:
            delete(server, there)

    def load(self, server: Server) -> None:
        create(server, names(self._count))


class DescribingTopics(_ManyTopics):
    """Their configs, or their partitions."""

    def __init__(self, name: str, count: int, times: int, configs: bool) -> None:
        super().__init__(name, count)
        self._times = times
        self._configs = configs

    def prepare(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            found = {topic.name for topic in client.call(MetadataRequest(topics=None), 7).topics}
        missing = [name for name in names(self._count) if name not in found]
        if missing:
            create(server, missing)

    def load(self, server: Server) -> None:
        describe = DescribeConfigsRequest(
            resources=[
                DescribeConfigsRequest.DescribeConfigsResource(
                    resource_type=_TOPIC_RESOURCE, resource_name=name, configuration_keys=None
                )
                for name in names(self._count)
            ],
            include_synonyms=True,
            include_documentation=False,
        )
        with FrameClient(server.port) as client:
            for _ in range(self._times):
                if self._configs:
                    client.ask(describe, 3)
                else:
                    client.ask(metadata_request(None), 9)


class AlteringConfigs(DescribingTopics):
    def load(self, server: Server) -> None:
        request = IncrementalAlterConfigsRequest
        config = request.AlterableConfig(name="segment.ms", config_operation=0, value="3600000")
        resources = [
            request.AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name=name, configs=[config])
            for name in names(self._count)
        ]
        with FrameClient(server.port) as client:
            for response in client.call(request(resources=resources, validate_only=False), 1).responses:
                check(response.error_code)


class DeletingTopics(DescribingTopics):
    def load(self, server: Server) -> None:
        delete(server, names(self._count))


def scenarios() -> list[Scenario]:
    return [
        CreatingTopics("CreateTopics of 2,000 in a request", 2000),
        DescribingTopics("DescribeConfigs of 2,000 topics", 2000, 3, configs=True),
        AlteringConfigs("IncrementalAlterConfigs of 2,000 topics", 2000, 1, configs=True),
        DescribingTopics("Metadata of 2,000 topics, 20 times", 2000, 20, configs=False),
        DeletingTopics("DeleteTopics of 2,000 in a request", 2000, 1, configs=False),
        CreatingTopics("CreateTopics of 4,000 in a request", 4000),
    ]
