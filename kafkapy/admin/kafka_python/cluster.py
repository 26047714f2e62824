"""The cluster: its brokers, log directories, features, KRaft quorum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from kafkapy.admin.kafka_python.base import error_text, raise_code
from kafkapy.admin.kafka_python.configs import ConfigMethods
from kafkapy.admin.kafka_python.groups import GroupMethods
from kafkapy.admin.structs import as_dict, with_operations
from kafkapy.admin.types import UpdateFeatureType
from kafkapy.clients import software
from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.broker_releases import release_of
from kafkapy.clients.requests import VersionedRequest
from kafkapy.errors import error_for
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.protocol.messages.update_features import UpdateFeaturesRequest

_NOT_TOLD = ("error_code", "error_message", "endpoint_type", "throttle_time_ms")


class BrokerVersionData:
    """A broker's versions. `broker_version`: Kafka's release, guessed from them; `api_versions`: by API key."""

    def __init__(self, versions: NodeApiVersions) -> None:
        self.broker_version = release_of(versions)
        self.api_versions = versions.ranges

    def __repr__(self) -> str:
        return f"<BrokerVersionData {'.'.join(map(str, self.broker_version))}>"


class ClusterMethods(GroupMethods, ConfigMethods):
    async def describe_cluster(self) -> dict[str, Any]:
        """Return cluster_id, controller_id, brokers (broker_id, host, port, rack) and authorized_operations."""
        answer = await self.core.description(self._call("DescribeCluster"), operations=True)
        if answer is None:
            return await self._describe_old_cluster()
        described = as_dict(answer.response, answer.version)
        for field in _NOT_TOLD:
            described.pop(field, None)
        return with_operations(described, "cluster_authorized_operations")

    async def _describe_old_cluster(self) -> dict[str, Any]:
        """Describe the cluster by Metadata, for brokers before 2.8."""
        described = await self._cluster_metadata([])
        described.pop("topics")
        described.pop("throttle_time_ms", None)
        for broker in described["brokers"]:
            broker["broker_id"] = broker.pop("node_id")
        return described

    async def api_versions(self) -> dict[ApiKey | int, tuple[int, int]]:
        """Return API -> lowest and highest version of one broker; the key of an API unknown to this client is its
        number."""
        node_id = await self.client.least_loaded_node()
        ranges = (await self.client.connect(node_id)).ranges
        return {ApiKey(key) if key in _KNOWN else key: served for key, served in ranges.items()}

    async def get_broker_version_data(self, broker_id: int) -> BrokerVersionData:
        """Return one broker's API versions and release.

        Args:
            broker_id: Id of the broker.
        """
        await self.core.know([broker_id])
        return BrokerVersionData(await self.client.connect(broker_id))

    # --- features

    async def describe_features(self, send_request_to_controller: bool = False) -> dict[str, dict[str, Any]]:
        """Return feature -> supported (lowest, highest), finalized (lowest, highest), finalized_epoch (KIP-584).

        Args:
            send_request_to_controller: Ask the controller. Default False: any broker.
        """
        request = ApiVersionsRequest(client_software_name=software.NAME, client_software_version=software.VERSION)
        if send_request_to_controller:
            call = self._controller_call("ApiVersions", None)
            answer = await self.core.on_controller(call, request, lambda r: [r.error_code], min_version=3)
        else:
            answer = await self._any(request, min_version=3)
        response = answer.response
        raise_code(response.error_code)
        epoch = response.finalized_features_epoch
        features: dict[str, dict[str, Any]] = defaultdict(dict)
        for feature in response.supported_features:
            features[feature.name]["supported"] = (feature.min_version, feature.max_version)
        for feature in response.finalized_features:
            features[feature.name]["finalized"] = (feature.min_version_level, feature.max_version_level)
            features[feature.name]["finalized_epoch"] = epoch if epoch >= 0 else None
        return dict(features)

    async def update_features(
        self, feature_updates: Mapping[str, Any], validate_only: bool = False, timeout_ms: int = 60_000
    ) -> dict[str, str]:
        """Finalize features: name -> level or (UpdateFeatureType, level). Return feature -> "OK" or an error.

        Args:
            feature_updates: The new levels by feature.
            validate_only: Check, and change nothing. Default False.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
        """
        if not isinstance(feature_updates, Mapping):
            raise TypeError("feature_updates must be a dict of {feature: level} or {feature: (upgrade_type, level)}")
        message = UpdateFeaturesRequest

        def build(version: int) -> UpdateFeaturesRequest:
            updates = []
            for feature, given in feature_updates.items():
                kind, level = given if isinstance(given, tuple) else (UpdateFeatureType.UPGRADE, given)
                upgrade = UpdateFeatureType.build_from(kind)
                key = message.FeatureUpdateKey(feature=feature, max_version_level=int(level))
                if version >= 1:
                    key.upgrade_type = upgrade
                else:
                    key.allow_downgrade = upgrade > UpdateFeatureType.UPGRADE
                updates.append(key)
            return message(timeout_ms=timeout_ms, feature_updates=updates, validate_only=validate_only)

        answer = await self.core.on_controller(
            self._controller_call("UpdateFeatures", timeout_ms),
            VersionedRequest(message, build),
            lambda r: [r.error_code],
            min_version=1 if validate_only else 0,
        )
        response = answer.response
        raise_code(response.error_code, response.error_message)
        results = {r.feature: error_text(r) for r in response.results}
        return {feature: results.get(feature, "OK") for feature in feature_updates} | results

    # --- KRaft

    async def describe_metadata_quorum(self) -> dict[str, Any]:
        """Return leader, voters and observers of the metadata log. Needs a cluster in KRaft mode."""
        from kafkapy.admin.kraft import DescribeQuorumRequest as Request

        request = Request(
            topics=[
                Request.TopicData(
                    topic_name="__cluster_metadata", partitions=[Request.PartitionData(partition_index=0)]
                )
            ]
        )
        answer = await self._any(request)
        raise_code(answer.response.error_code, answer.response.error_message)
        described = as_dict(answer.response, answer.version)
        for field in _NOT_TOLD:
            described.pop(field, None)
        for topic in described["topics"]:
            for partition in topic["partitions"]:
                code, sentence = partition.pop("error_code"), partition.pop("error_message", None)
                partition["error"] = str(error_for(code, sentence)) if code else None
        return described


_KNOWN = {int(api_key) for api_key in ApiKey}
