"""The size of an answer that is not made yet."""

from __future__ import annotations

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.server.quotas.fetch_response_size import fetch_response_size


@pytest.mark.parametrize("version", range(ApiKey.FETCH.max_version + 1))
@pytest.mark.parametrize("sizes", [{}, {"t": [0]}, {"t": [1, 126, 127, 20_000], "überall": [5, 300_000, 0]}])
def test_as_it_is_encoded(version: int, sizes: dict[str, list[int]]) -> None:
    response = FetchResponse(
        session_id=0,
        responses=[
            FetchResponse.FetchableTopicResponse(
                topic=topic,
                topic_id=b"\1" * 16,
                partitions=[
                    FetchResponse.PartitionData(
                        partition_index=i, error_code=0, high_watermark=5, aborted_transactions=[], records=b"x" * size
                    )
                    for i, size in enumerate(partitions)
                ],
            )
            for topic, partitions in sizes.items()
        ],
    )
    told = [(topic, size) for topic, partitions in sizes.items() for size in partitions]
    assert fetch_response_size(version, told) == 4 + len(response.encode(version))
