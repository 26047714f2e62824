"""The same registry instances against a real broker."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from kafkapy import KafkaConsumer
from kafkapy.clients.thread_driver import ThreadDriver
from kafkapy.errors import InconsistentGroupProtocolError
from tests.broker_process import BrokerProcess
from tests.group_member.registry_instance import RegistryInstance
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    yield process
    assert process.stop() == 0


@pytest.fixture
def driver() -> Iterator[ThreadDriver]:
    driver = ThreadDriver("registry")
    driver.start()
    yield driver
    driver.stop()


def test_two_instances_elect_a_primary(broker: BrokerProcess, driver: ThreadDriver) -> None:
    group_id = f"registry-{uuid.uuid4().hex[:8]}"

    def instance(url: str) -> RegistryInstance:
        made: RegistryInstance = driver.call(RegistryInstance, driver, [broker.address], url, True, group_id)
        driver.call(made.run)
        return made

    one, two = instance("http://one:8081"), instance("http://two:8081")
    wait_until(lambda: one.primary == two.primary == "http://one:8081")
    consumer = KafkaConsumer("any", group_id=group_id, bootstrap_servers=broker.address)
    with pytest.raises(InconsistentGroupProtocolError):
        wait_until(lambda: bool(consumer.poll(200)))
    consumer.close()
    driver.call(one.stop)
    wait_until(lambda: two.primary == "http://two:8081")
    driver.call(two.stop)
    assert (one.error, two.error) == (None, None)
