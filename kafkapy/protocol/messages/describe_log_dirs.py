"""DescribeLogDirs (API key 35): log directories and the replicas in them."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int16, int32, int64, string


class DescribeLogDirsRequest(Message, api=ApiKey.DESCRIBE_LOG_DIRS):
    topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = array("DescribableLogDirTopic", nullable=True)

    class DescribableLogDirTopic(Struct):
        topic: str = string()
        partitions: list[int] = array("int32")


class DescribeLogDirsResponse(Message, api=ApiKey.DESCRIBE_LOG_DIRS):
    throttle_time_ms: int = int32()
    error_code: int = int16("3+", ignorable=True)
    results: list[DescribeLogDirsResponse.DescribeLogDirsResult] = array("DescribeLogDirsResult")

    class DescribeLogDirsResult(Struct):
        error_code: int = int16()
        log_dir: str = string()
        topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic] = array("DescribeLogDirsTopic")
        total_bytes: int = int64("4+", default=-1, ignorable=True)
        usable_bytes: int = int64("4+", default=-1, ignorable=True)

    class DescribeLogDirsTopic(Struct):
        name: str = string()
        partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition] = array("DescribeLogDirsPartition")

    class DescribeLogDirsPartition(Struct):
        partition_index: int = int32()
        partition_size: int = int64()
        offset_lag: int = int64()
        is_future_key: bool = boolean()
