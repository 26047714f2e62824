from __future__ import annotations

import pytest

from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError


class TestNodeApiVersions:
    def test_latest_usable_is_the_highest_in_common(self) -> None:
        versions = NodeApiVersions({3: (1, 99), 1: (0, 4)})
        assert versions.latest_usable(ApiKey.METADATA) == ApiKey.METADATA.max_version
        assert versions.latest_usable(ApiKey.METADATA, highest=7) == 7
        assert versions.latest_usable(ApiKey.FETCH) == 4

    @pytest.mark.parametrize(
        ("served", "lowest", "sentence"),
        [
            ({}, 0, "The node does not support METADATA"),
            ({3: (0, 4)}, 5, r"METADATA with version in range \[5,12\]. The supported range is \[0,4\]."),
            ({3: (13, 14)}, 0, r"METADATA with version in range \[0,12\]. The supported range is \[13,14\]."),
        ],
    )
    def test_nothing_in_common(self, served: dict[int, tuple[int, int]], lowest: int, sentence: str) -> None:
        versions = NodeApiVersions(served)
        with pytest.raises(KafkaError, match=sentence) as caught:
            versions.latest_usable(ApiKey.METADATA, lowest)
        assert caught.value.error is Errors.UNSUPPORTED_VERSION

    def test_supports(self) -> None:
        assert NodeApiVersions({3: (1, 2)}).supports(ApiKey.METADATA)
        assert not NodeApiVersions({3: (13, 20)}).supports(ApiKey.METADATA)
        assert not NodeApiVersions({}).supports(ApiKey.METADATA)
