"""The pytest plugin: `kafka` and its fixtures, without an import (docs/testing.md).

pytest loads it in every environment with kafkapy installed, so it imports nothing until a fixture is requested.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kafkapy import KafkaConsumer, KafkaProducer
    from kafkapy.aio import KafkaConsumer as AioConsumer
    from kafkapy.aio import KafkaProducer as AioProducer
    from kafkapy.testing.cluster import KafkaCluster

CONSUMER_TIMEOUT_MS = 10_000
"""`consumer_timeout_ms` of the fixtures: a test's loop over a consumer ends this long after the last record."""

_SHOWN = 65_536
"""Maximum bytes of a broker's log in a test report."""

_FIXTURES = {"kafka", "secured_kafka"}
_sizes_key = pytest.StashKey["dict[Any, int]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafka", "a Kafka for tests (kafkapy)")
    group.addoption("--kafka-brokers", type=int, metavar="N", help="brokers of the fixture kafka")
    group.addoption("--kafka-topics", metavar="TOPICS", help="topics it has, as clicks:6,users:3:compact")
    group.addoption(
        "--kafka-config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a config of its brokers; may come again",
    )
    group.addoption("--kafka-reset", action="store_true", help="empty it before each test that uses it")
    parser.addini("kafka_brokers", "brokers of the fixture kafka (1)", default="1")
    parser.addini("kafka_topics", "topics it has, as clicks:6,users:3:compact", default="")
    parser.addini("kafka_config", "configs of its brokers, a line each: key=value", type="linelist", default=[])
    parser.addini("kafka_reset", "empty it before each test that uses it", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "kafka_topic(partitions=1, config={}): what the topic of the fixture kafka_topic is to be like"
    )


# ---------------------------------------------------------------------------------------------------- fixtures


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A cluster for all tests of the run (under pytest-xdist: of the worker). Faults are undone after each test."""
    with _cluster(request.config) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def secured_kafka(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A secured cluster: TLS, users alice, bob and admin; operations without an ACL are denied (`client_options`,
    `allow`)."""
    with _cluster(request.config, secured=True) as cluster:
        yield cluster


def _cluster(config: pytest.Config, secured: bool = False) -> KafkaCluster:
    from kafkapy.common.capabilities import UnsupportedSystem, require_server_support
    from kafkapy.testing.cluster import KafkaCluster

    try:
        require_server_support("The fixture kafka")
    except UnsupportedSystem as error:
        pytest.fail(str(error), pytrace=False)
    brokers = config.getoption("kafka_brokers") or int(config.getini("kafka_brokers"))
    topics = config.getoption("kafka_topics") or config.getini("kafka_topics")
    lines = [*config.getini("kafka_config"), *config.getoption("kafka_config")]
    return KafkaCluster(brokers, topics, dict(map(_setting, lines)), secured=secured)


def _setting(line: str) -> tuple[str, str]:
    key, equals, value = line.partition("=")
    if not equals:
        raise pytest.UsageError(f"{line!r} is no config of a broker; write key=value")
    return key.strip(), value.strip()


@pytest.fixture
def kafka_topic(kafka: KafkaCluster, request: pytest.FixtureRequest) -> str:
    """The name of a new topic for this test; `@pytest.mark.kafka_topic(partitions=3)` sets its properties."""
    marker = request.node.get_closest_marker("kafka_topic")
    options = {} if marker is None else marker.kwargs
    name = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "_-.") else "-" for letter in request.node.name
    )
    return kafka.create_topic(
        f"{name[:80]}-{uuid.uuid4().hex[:8]}", options.get("partitions", 1), options.get("config")
    )


@pytest.fixture
def kafka_producer(kafka: KafkaCluster) -> Iterator[KafkaProducer[Any, Any]]:
    """kafkapy's producer, flushed and closed at the end of the test."""
    from kafkapy import KafkaProducer

    producer: KafkaProducer[Any, Any] = KafkaProducer(**_client_options(kafka))
    yield producer
    producer.close(timeout=10)


@pytest.fixture
def kafka_consumer(kafka: KafkaCluster, kafka_topic: str) -> Iterator[KafkaConsumer[Any, Any]]:
    """kafkapy's consumer of `kafka_topic`, the only member of its group, starting at the first record."""
    from kafkapy import KafkaConsumer

    consumer: KafkaConsumer[Any, Any] = KafkaConsumer(
        kafka_topic, consumer_timeout_ms=CONSUMER_TIMEOUT_MS, **_consumer_options(kafka)
    )
    yield consumer
    consumer.close()


@pytest.fixture
def kafka_aio_producer(kafka: KafkaCluster) -> AbstractAsyncContextManager[AioProducer[Any, Any]]:
    """kafkapy's producer for asyncio: `async with kafka_aio_producer as producer:`."""
    from kafkapy.aio import KafkaProducer

    return _in_loop(lambda: KafkaProducer(**_client_options(kafka)))


@pytest.fixture
def kafka_aio_consumer(kafka: KafkaCluster, kafka_topic: str) -> AbstractAsyncContextManager[AioConsumer[Any, Any]]:
    """kafkapy's consumer of `kafka_topic` for asyncio: `async with kafka_aio_consumer as consumer:`."""
    from kafkapy.aio import KafkaConsumer

    return _in_loop(lambda: KafkaConsumer(kafka_topic, **_consumer_options(kafka)))


@asynccontextmanager
async def _in_loop(make: Callable[[], Any]) -> AsyncIterator[Any]:
    """Create an asyncio client in the test rather than in the fixture, since it belongs to the running event loop."""
    async with make() as client:
        yield client


def _client_options(kafka: KafkaCluster) -> dict[str, Any]:
    """Client options with short retry backoffs: in a test a new leader or coordinator is available within a few ms."""
    return {**kafka.client_options(), "retry_backoff_ms": 5}


def _consumer_options(kafka: KafkaCluster) -> dict[str, Any]:
    return {
        **_client_options(kafka),
        "group_id": f"test-{uuid.uuid4().hex[:8]}",
        "auto_offset_reset": "earliest",
    }


# ---------------------------------------------------------------------------------------------------- around each test


def _clusters() -> list[KafkaCluster]:
    """The running clusters of this process."""
    module = sys.modules.get("kafkapy.testing.cluster")
    return [] if module is None else list(module.running())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_sizes_key] = {broker: broker.log_size() for cluster in _clusters() for broker in cluster.brokers}


@pytest.fixture(autouse=True)
def _kafka_as_new(request: pytest.FixtureRequest) -> None:
    """Reset the cluster before the other fixtures of a test that requests it."""
    wanted = request.config.getoption("kafka_reset") or request.config.getini("kafka_reset")
    if wanted:
        for name in _FIXTURES & set(request.fixturenames):
            request.getfixturevalue(name).reset()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Undo faults before the fixtures close their clients, which would block on a paused broker."""
    for name in _FIXTURES & set(getattr(item, "fixturenames", ())):
        cluster = getattr(item, "funcargs", {}).get(name)
        running = _clusters()
        for each in [cluster] if cluster in running else running:  # a test suite may have another fixture named `kafka`
            each.heal()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the brokers' output during the test to the report of a failed test."""
    report = yield
    if report.failed:
        sizes = item.stash.get(_sizes_key, {})
        for cluster in _clusters():
            for broker in cluster.brokers:
                text = broker.log(max(sizes.get(broker, 0), broker.log_size() - _SHOWN))
                if text:
                    report.sections.append((f"Log of Kafka {broker.name} at {broker.address}", text))
    return report
