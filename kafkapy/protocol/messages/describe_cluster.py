"""DescribeCluster (API key 60): cluster id, controller and brokers."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int8, int16, int32, string


class DescribeClusterRequest(Message, api=ApiKey.DESCRIBE_CLUSTER):
    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8("1+", default=1)


class DescribeClusterResponse(Message, api=ApiKey.DESCRIBE_CLUSTER):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    endpoint_type: int = int8("1+", default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterResponse.DescribeClusterBroker] = array("DescribeClusterBroker")
    cluster_authorized_operations: int = int32(default=-2147483648)

    class DescribeClusterBroker(Struct):
        broker_id: int = int32()
        host: str = string()
        port: int = int32()
        rack: str | None = string(nullable=True, default=None)
