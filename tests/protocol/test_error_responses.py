"""Every API has an answer to a request that failed as a whole: the one that Apache Kafka 3.9.1 gives."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kafkapy.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from kafkapy.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkapy.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafkapy.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafkapy.protocol.schema import Struct
from tests.protocol.protocol_samples import populated

WHY = Errors.INVALID_REQUEST
CODE = WHY.code


def test_every_api_and_version_has_an_answer_that_can_be_encoded() -> None:
    for api in ApiKey:
        for version in range(api.max_version + 1):
            for request in (populated(api.request, version), populated(api.request, version, nulls=True)):
                answer = error_response(request, version, WHY, "text", 5)
                if answer is None:
                    assert api is ApiKey.PRODUCE
                else:
                    assert type(answer) is api.response
                    answer.encode(version)


def test_the_error_is_in_every_answer() -> None:
    silent = {(ApiKey.DESCRIBE_LOG_DIRS, 0), (ApiKey.DESCRIBE_LOG_DIRS, 1), (ApiKey.DESCRIBE_LOG_DIRS, 2)}
    for api in ApiKey:
        for version in range(api.max_version + 1):
            answer = error_response(populated(api.request, version), version, WHY)
            assert answer is not None
            codes = set(error_codes(api.response.decode(answer.encode(version), version), version))
            assert codes == (set() if (api, version) in silent else {CODE}), (api, version)


def error_codes(value: Any, version: int) -> list[int]:
    if isinstance(value, list):
        return [code for element in value for code in error_codes(element, version)]
    if not isinstance(value, Struct):
        return []
    codes = []
    for field in type(value).FIELDS:
        if field.versions.includes(version):
            found = getattr(value, field.name)
            if field.name in ("error_code", "partition_error_code"):
                codes.append(found)
            codes += error_codes(found, version)
    return codes


def check(request: Any, version: int, expected: Any, error: Errors = WHY, message: str | None = None) -> None:
    assert error_response(request, version, error, message, throttle_time_ms=5) == expected


def test_one_error() -> None:
    check(HeartbeatRequest("g"), 4, HeartbeatResponse(throttle_time_ms=5, error_code=CODE))


def test_produce() -> None:
    request = ProduceRequest(
        acks=1, topic_data=[ProduceRequest.TopicProduceData("t", [ProduceRequest.PartitionProduceData(3, b"batch")])]
    )
    partition = ProduceResponse.PartitionProduceResponse(index=3, error_code=CODE, base_offset=-1, error_message="no")
    topic = ProduceResponse.TopicProduceResponse("t", [partition])
    check(request, 9, ProduceResponse([topic], throttle_time_ms=5), message="no")
    partition.error_message = None
    check(request, 9, ProduceResponse([topic], throttle_time_ms=5), message=WHY.message)


def test_a_producer_that_wants_no_answer_gets_none() -> None:
    check(ProduceRequest(acks=0), 9, None)


def test_fetch_by_name_and_by_id() -> None:
    partitions = [FetchRequest.FetchPartition(3)]
    request = FetchRequest(session_id=9, topics=[FetchRequest.FetchTopic("t", bytes(16), partitions)])
    topics = [FetchResponse.FetchableTopicResponse("t", partitions=[FetchResponse.PartitionData(3, CODE, -1)])]
    check(request, 12, FetchResponse(5, CODE, 9, topics))
    check(request, 13, FetchResponse(5, CODE, 9))
    check(request, 4, FetchResponse(5, 0, 0, topics))


def test_metadata() -> None:
    topic_id = b"i" * 16
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(topic_id, None)])
    topic = MetadataResponse.MetadataResponseTopic(error_code=CODE, name="", topic_id=topic_id)
    check(request, 12, MetadataResponse(throttle_time_ms=5, topics=[topic]))
    check(MetadataRequest(topics=None), 12, MetadataResponse(throttle_time_ms=5))


def test_offset_fetch_by_partition_as_a_whole_and_by_group() -> None:
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequest.OffsetFetchRequestTopic("t", [3])])
    partition = OffsetFetchResponse.OffsetFetchResponsePartition(3, committed_offset=-1, error_code=CODE)
    topics = [OffsetFetchResponse.OffsetFetchResponseTopic("t", [partition])]
    check(request, 1, OffsetFetchResponse(topics=topics))
    check(request, 7, OffsetFetchResponse(throttle_time_ms=5, error_code=CODE))
    request = OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup("g")])
    groups = [OffsetFetchResponse.OffsetFetchResponseGroup("g", error_code=CODE)]
    check(request, 8, OffsetFetchResponse(throttle_time_ms=5, groups=groups))


def test_find_coordinator_sends_the_errors_own_text_and_no_throttle_time() -> None:
    request = FindCoordinatorRequest(key="g")
    expected = FindCoordinatorResponse(error_code=CODE, error_message=WHY.message, node_id=-1, port=-1)
    check(request, 3, expected, message="other text")
    coordinator = FindCoordinatorResponse.Coordinator(
        key="g", node_id=-1, port=-1, error_code=CODE, error_message=WHY.message
    )
    request = FindCoordinatorRequest(coordinator_keys=["g"])
    check(request, 4, FindCoordinatorResponse(coordinators=[coordinator]))


def test_join_group_has_a_null_protocol_from_version_7_on() -> None:
    check(JoinGroupRequest(), 6, JoinGroupResponse(throttle_time_ms=5, error_code=CODE))
    check(JoinGroupRequest(), 7, JoinGroupResponse(throttle_time_ms=5, error_code=CODE, protocol_name=None))


def test_api_versions_tells_a_newer_client_its_versions() -> None:
    check(ApiVersionsRequest(), 3, ApiVersionsResponse(error_code=CODE, throttle_time_ms=5))
    expected = ApiVersionsResponse(35, [ApiVersionsResponse.ApiVersion(18, 0, 4)])
    check(ApiVersionsRequest(), 0, expected, error=Errors.UNSUPPORTED_VERSION)


def test_create_topics_has_a_message_only_if_it_says_more() -> None:
    request = CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic("t")])
    topic = CreateTopicsResponse.CreatableTopicResult(name="t", error_code=CODE, error_message="no")
    check(request, 7, CreateTopicsResponse(5, [topic]), message="no")
    topic.error_message = None
    check(request, 7, CreateTopicsResponse(5, [topic]))


def test_describe_configs() -> None:
    request = DescribeConfigsRequest([DescribeConfigsRequest.DescribeConfigsResource(2, "t")])
    result = DescribeConfigsResponse.DescribeConfigsResult(CODE, WHY.message, 2, "t")
    check(request, 4, DescribeConfigsResponse(5, [result]), message="no")


def test_describe_cluster_has_no_throttle_time() -> None:
    expected = DescribeClusterResponse(error_code=CODE, error_message="no")
    check(DescribeClusterRequest(), 1, expected, message="no")


def test_add_partitions_to_txn_by_partition_and_as_a_whole() -> None:
    topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("t", [3])
    partition = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult(3, CODE)
    results = [AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult("t", [partition])]
    expected = AddPartitionsToTxnResponse(5, results_by_topic_v3_and_below=results)
    check(AddPartitionsToTxnRequest(v3_and_below_topics=[topic]), 3, expected)
    check(AddPartitionsToTxnRequest(), 4, AddPartitionsToTxnResponse(5, CODE))


def test_alter_replica_log_dirs_takes_the_topics_of_all_directories() -> None:
    topics = [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name, [3]) for name in ("t", "u")]
    request = AlterReplicaLogDirsRequest([AlterReplicaLogDirsRequest.AlterReplicaLogDir("/d", [t]) for t in topics])
    partitions = [AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult(3, CODE)]
    results = [AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult(name, partitions) for name in ("t", "u")]
    check(request, 2, AlterReplicaLogDirsResponse(5, results))


def test_a_user_has_one_result() -> None:
    cls = AlterUserScramCredentialsRequest
    request = cls([cls.ScramCredentialDeletion("u", 1)], [cls.ScramCredentialUpsertion("u", 1)])
    answer: Any = error_response(request, 0, WHY)
    assert [result.user for result in answer.results] == ["u"]


@pytest.mark.parametrize("version", [1, 4, 5])
def test_leader_and_isr(version: int) -> None:
    cls, response = LeaderAndIsrRequest, LeaderAndIsrResponse
    state = cls.LeaderAndIsrPartitionState("t" if version == 1 else "", 3)
    if version == 1:
        request = cls(ungrouped_partition_states=[state])
    else:
        request = cls(topic_states=[cls.LeaderAndIsrTopicState("t", b"i" * 16, [state])])
    error = response.LeaderAndIsrPartitionError("" if version == 5 else "t", 3, CODE)
    if version == 5:
        expected = response(CODE, topics=[response.LeaderAndIsrTopicError(b"i" * 16, [error])])
    else:
        expected = response(CODE, [error])
    check(request, version, expected)


@pytest.mark.parametrize("version", [0, 1, 3])
def test_stop_replica(version: int) -> None:
    cls = StopReplicaRequest
    if version == 0:
        request = cls(ungrouped_partitions=[cls.StopReplicaPartitionV0("t", 3)])
    elif version == 1:
        request = cls(topics=[cls.StopReplicaTopicV1("t", [3])])
    else:
        request = cls(topic_states=[cls.StopReplicaTopicState("t", [cls.StopReplicaPartitionState(3)])])
    error = StopReplicaResponse.StopReplicaPartitionError("t", 3, CODE)
    check(request, version, StopReplicaResponse(CODE, [error]))
