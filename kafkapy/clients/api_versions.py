"""Finds the versions of an API that client and broker have in common (Kafka's `NodeApiVersions`)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.clients.client_apis import Api
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.api_versions import ApiVersionsResponse


class NodeApiVersions:
    """One broker's ApiVersions: API key -> (lowest, highest) version, including keys that are unknown to this
    client."""

    def __init__(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        self.ranges = dict(ranges)

    @classmethod
    def of(cls, response: ApiVersionsResponse) -> NodeApiVersions:
        return cls({entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys})

    def supports(self, api_key: Api) -> bool:
        """Return whether both sides have a common version of the API."""
        return self._common(api_key, 0, 32767) is not None

    def latest_usable(self, api_key: Api, lowest: int = 0, highest: int = 32767) -> int:
        """Return the highest version within the broker's, this client's and the caller's bounds.

        Raises `KafkaError(UNSUPPORTED_VERSION)` if there is none.
        """
        version = self._common(api_key, lowest, highest)
        if version is not None:
            return version
        served = self.ranges.get(api_key)
        if served is None:
            raise KafkaError(Errors.UNSUPPORTED_VERSION, f"The node does not support {api_key.name}")
        lowest, highest = max(lowest, api_key.min_version), min(highest, api_key.max_version)
        raise KafkaError(
            Errors.UNSUPPORTED_VERSION,
            f"The node does not support {api_key.name} with version in range [{lowest},{highest}]. "
            f"The supported range is [{served[0]},{served[1]}].",
        )

    def _common(self, api_key: Api, lowest: int, highest: int) -> int | None:
        served = self.ranges.get(api_key)
        if served is None:
            return None
        low = max(lowest, served[0], api_key.min_version)
        high = min(highest, served[1], api_key.max_version)
        return high if low <= high else None


OWN_VERSIONS = NodeApiVersions({key: (key.min_version, key.max_version) for key in ApiKey})
"""This client's own versions: used for a broker without ApiVersions negotiation."""
