from __future__ import annotations

from typing import Any

import pytest

from kafkapy.clients.client_metadata import coordinator_node_id
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.network_client import NetworkClient
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    Cancelled,
    DisconnectError,
    IncompatibleBrokerVersion,
    KafkaConnectionError,
    KafkaTimeoutError,
    NodeNotReadyError,
    NotControllerError,
    TopicAuthorizationFailedError,
    error_for,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.api_versions import ApiVersionsResponse
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.runtime.completion import Completion, spawn
from tests.memory_driver import SILENCE, MemoryCluster, MemoryDriver


class Setup:
    """A client of a cluster in memory that has its first metadata."""

    def __init__(self, brokers: int = 1, **options: Any) -> None:
        self.cluster = MemoryCluster(brokers)
        for broker in self.cluster.brokers.values():
            broker.handlers[ApiKey.HEARTBEAT] = lambda request: HeartbeatResponse(error_code=request.generation_id)
        self.driver = MemoryDriver(self.cluster)
        servers = [f"{broker.host}:{broker.port}" for broker in self.cluster.brokers.values()]
        self.client = NetworkClient(self.driver, ClientConfig(bootstrap_servers=servers, **options))

    def bootstrap(self) -> Setup:
        self.driver.result_of(spawn(self.client.bootstrap()), 10)
        return self

    def heartbeat(self, code: int = 0, node_id: int = 0, **options: Any) -> Completion[HeartbeatResponse]:
        return self.client.send(node_id, HeartbeatRequest(generation_id=code), **options)


@pytest.fixture
def setup() -> Setup:
    return Setup().bootstrap()


def test_bootstrap_learns_the_cluster_and_drops_the_bootstrap_connection(setup: Setup) -> None:
    cluster = setup.client.metadata.cluster
    assert (cluster.cluster_id, cluster.controller_id, sorted(cluster.nodes)) == ("memory", 0, [0])
    assert setup.cluster.brokers[0].connections == []


def test_send_connects_negotiates_once_and_takes_the_highest_version(setup: Setup) -> None:
    broker = setup.cluster.brokers[0]
    broker.ranges[ApiKey.HEARTBEAT] = (0, 2)
    broker.requests.clear()
    assert not setup.client.is_ready(0)
    answers = [setup.heartbeat(code) for code in (1, 2, 3)]
    setup.driver.run()
    assert [answer.result().error_code for answer in answers] == [1, 2, 3]
    assert [(key, version) for key, version, _ in broker.requests] == [
        (ApiKey.API_VERSIONS, 4),
        *[(ApiKey.HEARTBEAT, 2)] * 3,
    ]
    assert setup.client.is_ready(0)


def test_bounds_of_the_version(setup: Setup) -> None:
    setup.driver.result_of(setup.heartbeat(max_version=1))
    assert setup.cluster.brokers[0].requests[-1][:2] == (ApiKey.HEARTBEAT, 1)
    setup.cluster.brokers[0].ranges[ApiKey.HEARTBEAT] = (0, 2)
    setup.client.disconnect(0)
    with pytest.raises(IncompatibleBrokerVersion, match="HEARTBEAT"):
        setup.driver.result_of(setup.heartbeat(min_version=3))


def test_a_request_may_depend_on_the_version(setup: Setup) -> None:
    setup.cluster.brokers[0].ranges[ApiKey.HEARTBEAT] = (0, 2)
    request = VersionedRequest(HeartbeatRequest, lambda version: HeartbeatRequest(generation_id=version))
    assert setup.driver.result_of(setup.client.send(0, request)).error_code == 2


def test_a_broker_that_does_not_know_our_api_versions(setup: Setup) -> None:
    broker = setup.cluster.brokers[0]
    asked: list[int] = []

    def old(request: Any) -> Any:
        asked.append(broker.requests[-1][1])
        entry = ApiVersionsResponse.ApiVersion
        keys = [entry(api_key=key, min_version=0, max_version=1) for key in (12, 18)]
        if asked[-1] > 1:
            return ApiVersionsResponse(error_code=35, api_keys=keys).encode(0)
        return ApiVersionsResponse(api_keys=keys)

    broker.handlers[ApiKey.API_VERSIONS] = old
    assert setup.driver.result_of(setup.heartbeat(4)).error_code == 4
    assert asked == [4, 1]


def test_requests_beyond_the_limit_in_flight_wait() -> None:
    setup = Setup(max_in_flight_requests_per_connection=2).bootstrap()
    setup.driver.result_of(setup.heartbeat())
    broker = setup.cluster.brokers[0]
    broker.silent = True
    answers = [setup.heartbeat() for _ in range(5)]
    setup.driver.run()
    assert len(broker.asked(ApiKey.HEARTBEAT)) == 3
    assert setup.client.figures()["requests-in-flight"] == 5
    assert not setup.client.is_ready(0)
    assert not any(answer.done for answer in answers)


def test_produce_without_acks_is_done_when_it_is_sent(setup: Setup) -> None:
    setup.cluster.brokers[0].handlers[ApiKey.PRODUCE] = lambda request: SILENCE
    assert setup.driver.result_of(setup.client.send(0, ProduceRequest(acks=0))) is None
    assert setup.client.figures()["requests-in-flight"] == 0


def test_an_unknown_node(setup: Setup) -> None:
    with pytest.raises(NodeNotReadyError, match="no live broker with id 7"):
        setup.driver.result_of(setup.heartbeat(node_id=7))


def test_a_group_has_a_connection_of_its_own_to_its_coordinator(setup: Setup) -> None:
    setup.driver.result_of(setup.heartbeat())
    setup.driver.result_of(setup.heartbeat(node_id=coordinator_node_id(0)))
    assert len(setup.cluster.brokers[0].connections) == 2
    assert coordinator_node_id(coordinator_node_id(5)) == 5


# --- failures


def test_a_cut_connection_fails_what_is_in_flight_and_the_next_request_connects_again(setup: Setup) -> None:
    setup.driver.result_of(setup.heartbeat())
    broker = setup.cluster.brokers[0]
    broker.silent = True
    lost = setup.heartbeat()
    setup.driver.run()
    broker.cut()
    with pytest.raises(DisconnectError, match="reset by peer"):
        lost.result()
    error = lost.exception()
    assert isinstance(error, DisconnectError)
    assert error.retriable
    broker.silent = False
    assert setup.client.connection_delay_ms(0) > 0
    assert setup.driver.result_of(setup.heartbeat(6), 100).error_code == 6
    assert setup.client.connection_delay_ms(0) == 0


def test_back_off_doubles_up_to_its_bound_with_jitter() -> None:
    setup = Setup(reconnect_backoff_ms=50, reconnect_backoff_max_ms=400).bootstrap()
    setup.cluster.down.add(0)
    delays = []
    for _ in range(6):
        with pytest.raises(KafkaConnectionError, match="could not be established: Connection refused"):
            setup.driver.result_of(setup.heartbeat(), 1000)
        delays.append(setup.client.connection_delay_ms(0))
    for delay, expected in zip(delays, (50, 100, 200, 400, 400, 400), strict=True):
        assert 0.75 * expected <= delay <= 1.2 * expected


def test_no_answer_in_time_ends_the_connection(setup: Setup) -> None:
    setup.driver.result_of(setup.heartbeat())
    setup.cluster.brokers[0].silent = True
    patient = setup.heartbeat(timeout_ms=5000)
    late = setup.heartbeat(timeout_ms=200)
    setup.driver.advance(150)
    assert not late.done
    setup.driver.advance(100)
    with pytest.raises(KafkaTimeoutError, match="did not answer Heartbeat within 201 ms"):
        late.result()
    with pytest.raises(DisconnectError):
        patient.result()


def test_a_request_that_could_not_be_sent_in_time(setup: Setup) -> None:
    setup.cluster.down.add(0)
    setup.client.config.reconnect_backoff_ms = setup.client.config.reconnect_backoff_max_ms = 100_000
    with pytest.raises(KafkaConnectionError):
        setup.driver.result_of(setup.heartbeat(), 10)
    waiting = setup.heartbeat(timeout_ms=300)
    setup.driver.advance(310)
    with pytest.raises(
        KafkaTimeoutError, match=r"could not be sent .* within 300 ms: waiting for the end of the back-off"
    ):
        waiting.result()


def test_garbage_ends_the_connection(setup: Setup) -> None:
    setup.cluster.brokers[0].handlers[ApiKey.HEARTBEAT] = lambda request: b""
    with pytest.raises(DisconnectError, match="A response cannot be read"):
        setup.driver.result_of(setup.heartbeat())


def test_close_fails_what_waits(setup: Setup) -> None:
    setup.driver.result_of(setup.heartbeat())
    setup.cluster.brokers[0].silent = True
    sent, refresh = setup.heartbeat(), setup.client.metadata.request_update()
    setup.client.close()
    setup.driver.run()
    for completion in (sent, refresh):
        assert isinstance(completion.exception(), Cancelled)
    assert setup.cluster.brokers[0].connections == []


def test_idle_connections_are_closed() -> None:
    setup = Setup(connections_max_idle_ms=10_000).bootstrap()
    setup.driver.result_of(setup.heartbeat())
    setup.driver.advance(9_000)
    setup.driver.result_of(setup.heartbeat())
    setup.driver.advance(5_000)
    assert len(setup.cluster.brokers[0].connections) == 1
    setup.driver.advance(20_000)
    assert setup.cluster.brokers[0].connections == []
    assert setup.driver.result_of(setup.heartbeat(3)).error_code == 3


def test_a_throttled_client_waits(setup: Setup) -> None:
    broker = setup.cluster.brokers[0]
    broker.handlers[ApiKey.HEARTBEAT] = lambda request: HeartbeatResponse(throttle_time_ms=500)
    setup.driver.result_of(setup.heartbeat())
    assert not setup.client.is_ready(0)
    second = setup.heartbeat()
    setup.driver.advance(499)
    assert not second.done
    setup.driver.advance(2)
    assert second.done


# --- metadata


def test_bootstrap_goes_on_to_the_next_server() -> None:
    setup = Setup(3)
    setup.cluster.down |= {0, 1}
    setup.driver.result_of(spawn(setup.client.bootstrap()), 2000)


def test_bootstrap_in_vain() -> None:
    setup = Setup(bootstrap_timeout_ms=700)
    setup.cluster.down.add(0)
    with pytest.raises(KafkaTimeoutError, match=r"Unable to bootstrap from broker-0:9092 within 700 ms: .*refused"):
        setup.driver.result_of(spawn(setup.client.bootstrap()), 1000)


def test_metadata_is_asked_for_again_when_it_is_old() -> None:
    setup = Setup(metadata_max_age_ms=1000).bootstrap()
    before = len(setup.cluster.brokers[0].asked(ApiKey.METADATA))
    setup.driver.advance(3_100)
    assert len(setup.cluster.brokers[0].asked(ApiKey.METADATA)) == before + 3


def test_updates_that_are_asked_for_together_are_one_request(setup: Setup) -> None:
    setup.driver.advance(1000)
    before = len(setup.cluster.brokers[0].asked(ApiKey.METADATA))
    updates = [setup.client.metadata.request_update() for _ in range(3)]
    setup.driver.run()
    assert all(update.done for update in updates)
    assert len(setup.cluster.brokers[0].asked(ApiKey.METADATA)) == before + 1


def test_a_new_topic_is_asked_for_at_once_others_after_the_back_off(setup: Setup) -> None:
    setup.cluster.add_topic("t", [0])
    setup.driver.result_of(setup.client.metadata.request_update(), 200)
    update = setup.client.metadata.request_update()
    setup.driver.advance(10)
    assert not update.done
    news = setup.client.metadata.add_topics(["t"])
    setup.driver.run()
    assert news is not None and news.done and update.done
    assert [p.leader_id for p in setup.client.metadata.partitions_of("t")] == [0]
    assert setup.client.metadata.add_topics(["t"]) is None


def test_a_topic_without_a_leader_is_asked_for_until_it_has_one(setup: Setup) -> None:
    setup.cluster.add_topic("t", [-1])
    partition = TopicPartition("t", 0)
    found = spawn(setup.client.leader_of(partition))
    setup.driver.advance(300)
    assert not found.done
    setup.cluster.add_topic("t", [0], epoch=1)
    assert setup.driver.result_of(found, 2000) == 0
    quiet = len(setup.cluster.brokers[0].asked(ApiKey.METADATA))
    setup.driver.advance(5000)
    assert len(setup.cluster.brokers[0].asked(ApiKey.METADATA)) <= quiet + 1


def test_an_older_leader_epoch_is_not_believed(setup: Setup) -> None:
    setup.cluster.add_topic("t", [0], epoch=5, topic_id=b"a" * 16)
    setup.client.metadata.add_topics(["t"])
    setup.driver.run()
    setup.cluster.add_topic("t", [-1], epoch=4, topic_id=b"a" * 16)
    setup.driver.result_of(setup.client.metadata.request_update(), 200)
    leader = setup.client.metadata.leader_of(TopicPartition("t", 0))
    assert leader is not None and (leader.leader_id, leader.epoch) == (0, 5)
    setup.cluster.add_topic("t", [0], epoch=0, topic_id=b"b" * 16)  # the topic was made anew
    setup.driver.result_of(setup.client.metadata.request_update(), 200)
    leader = setup.client.metadata.leader_of(TopicPartition("t", 0))
    assert leader is not None and leader.epoch == 0


def test_a_leader_that_a_response_names(setup: Setup) -> None:
    setup.cluster.add_topic("t", [0], epoch=5)
    setup.client.metadata.add_topics(["t"])
    setup.driver.run()
    heard: list[Any] = []
    setup.client.metadata.listeners.append(heard.append)
    partition = TopicPartition("t", 0)
    assert not setup.client.metadata.update_leader(partition, 3, 5)
    assert setup.client.metadata.update_leader(partition, 0, 6)
    assert len(heard) == 1


def test_metadata_survives_a_restart_of_the_only_broker(setup: Setup) -> None:
    setup.driver.result_of(setup.heartbeat())
    setup.cluster.down.add(0)
    setup.cluster.brokers[0].cut()
    update = setup.client.metadata.request_update()
    setup.driver.advance(10_000)
    assert not update.done
    setup.cluster.down.clear()
    setup.driver.result_of(update, 3_000)


def test_a_broker_that_came_back_elsewhere_is_found_through_the_bootstrap_servers() -> None:
    setup = Setup(2).bootstrap()
    for node_id in (0, 1):
        setup.driver.result_of(setup.heartbeat(node_id=node_id))
    setup.cluster.brokers[1].host = "moved"
    setup.cluster.brokers[1].cut()
    setup.driver.advance(1500)
    assert setup.driver.result_of(setup.heartbeat(5, node_id=1), 5000).error_code == 5
    assert setup.client.metadata.cluster.nodes[1].host == "moved"


# --- with patience


def elections(setup: Setup, codes: list[int]) -> None:
    for broker in setup.cluster.brokers.values():
        broker.handlers[ApiKey.ELECT_LEADERS] = lambda request: ElectLeadersResponse(error_code=codes.pop(0))


def test_requests_follow_the_controller() -> None:
    setup = Setup(2).bootstrap()
    elections(setup, [NotControllerError.errno or 0, 0])
    setup.cluster.controller_id = 1
    response = setup.driver.result_of(spawn(setup.client.controller(ElectLeadersRequest())), 2000)
    assert response.error_code == 0
    assert [len(b.asked(ApiKey.ELECT_LEADERS)) for b in setup.cluster.brokers.values()] == [1, 1]


def test_retry_ends_with_the_last_failure_in_its_words(setup: Setup) -> None:
    elections(setup, [NotControllerError.errno or 0] * 100)
    asked = spawn(setup.client.controller(ElectLeadersRequest(), timeout_ms=2000))
    with pytest.raises(
        KafkaTimeoutError, match=r"ElectLeaders timed out after 2000 ms. Its last failure: .*NotController"
    ):
        setup.driver.result_of(asked, 3000)


def test_retry_in_vain_names_what_is_wrong_with_the_brokers(setup: Setup) -> None:
    setup.cluster.down.add(0)
    setup.cluster.brokers[0].cut()
    asked = spawn(setup.client.controller(ElectLeadersRequest(), timeout_ms=2000))
    with pytest.raises(KafkaTimeoutError, match=r"Its last failure: The connection to broker-0:9092 .*refused"):
        setup.driver.result_of(asked, 3000)


def test_retry_does_not_repeat_what_is_final(setup: Setup) -> None:
    attempts: list[int] = []

    async def attempt() -> None:
        attempts.append(1)
        raise error_for(29)

    with pytest.raises(TopicAuthorizationFailedError):
        setup.driver.result_of(spawn(setup.client.retry("x", attempt)), 10)
    assert len(attempts) == 1


def test_any_broker_survives_one_that_is_down() -> None:
    setup = Setup(2).bootstrap()
    setup.cluster.down.add(0)
    for _ in range(10):
        assert (
            setup.driver.result_of(spawn(setup.client.any_broker(HeartbeatRequest(generation_id=2))), 3000).error_code
            == 2
        )
