"""The pytest plugin of a run: names first, then what the library's own fixtures start is replaced.

`FOREIGN_LIBRARY` and `FOREIGN_CHECKOUT` say which; `FOREIGN_BROKER` where a broker is.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from system_tests.foreign_suites import mock_brokers, names

LIBRARY = os.environ["FOREIGN_LIBRARY"]
CHECKOUT = Path(os.environ["FOREIGN_CHECKOUT"])

names.install(LIBRARY, CHECKOUT)


def _kafka_python() -> None:
    # The order in which its own package would import its parts: kafka.cluster and kafka.net import each other.
    importlib.import_module("kafka.net.manager")
    for module, client in (("admin", "KafkaAdminClient"), ("consumer", "KafkaConsumer"), ("producer", "KafkaProducer")):
        found: Any = importlib.import_module(f"kafka.{module}")
        adapted = mock_brokers.taking_addresses(getattr(found, client))
        for place in (found, importlib.import_module("kafka")):
            setattr(place, client, adapted)
    mocks: Any = importlib.import_module("test.mock_broker")
    mocks.MockBroker = mock_brokers.listening(mocks.MockBroker, mocks._MockBrokerFailure)


if LIBRARY == "kafka":
    # Now, since its conftest.py takes over names of these modules.
    _kafka_python()


def pytest_configure() -> None:
    """conftest.py has been loaded."""
    if LIBRARY == "aiokafka":
        _aiokafka(sys.modules["tests.conftest"], importlib.import_module("tests._testutil"))


def _aiokafka(conftest: Any, utilities: Any) -> None:
    """Its fixtures start a container; here the broker runs already, and has neither TLS nor Kerberos nor ACLs."""
    host, _, port = os.environ["FOREIGN_BROKER"].partition(":")
    server = conftest.KafkaServer
    conftest.libdocker = MagicMock()
    conftest.KerberosUtils = MagicMock()
    conftest.wait_kafka = lambda *_: True
    conftest.KafkaServer = lambda *_: server(host, int(port), 0, 0, 0, MagicMock())
    utilities.KafkaIntegrationTestCase.wait_topic = _wait_topic
    ours: Any = importlib.import_module("kafkapy.aio")
    for client in (ours.AIOKafkaProducer, ours.AIOKafkaConsumer):
        # Their tests hand `producer.client` to wait_topic.
        client.client = property(lambda self: self)


async def _wait_topic(self: Any, client: Any, topic: str) -> None:
    from kafkapy.aio import KafkaProducer

    async with KafkaProducer(bootstrap_servers=self.hosts) as producer:
        await producer.partitions_for(topic)
