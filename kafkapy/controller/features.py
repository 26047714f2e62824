"""Finalized features in /feature (KIP-584).

A broker of 3.9 in ZooKeeper mode has no supported features, so none can be finalized; features in the znode are kept,
can be deleted, and exclude brokers that do not support them. Below inter.broker.protocol.version 2.7-IV0
the znode says that versioning is disabled, and has no features.
"""

from __future__ import annotations

import logging

from kafkapy.common import metadata_version
from kafkapy.common.broker import Broker
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.update_features import UpdateFeaturesRequest
from kafkapy.zk.errors import ZooKeeperError
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import FeatureZNode, FinalizedFeatures

log = logging.getLogger("kafkapy.controller")

SUPPORTED_FEATURES: dict[str, tuple[int, int]] = {}
"""Feature -> (lowest, highest) level that this broker supports."""

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


class FeatureVersioning:
    """Invariant: `finalized` is the content of /feature when this broker became controller or last wrote it."""

    def __init__(self, zk_client: KafkaZkClient, inter_broker_protocol_version: str) -> None:
        self._zk = zk_client
        self._enabled = metadata_version.is_feature_versioning_supported(inter_broker_protocol_version)
        self._version = metadata_version.feature_znode_version(inter_broker_protocol_version)
        self.finalized: dict[str, int] = {}

    def initialize(self) -> None:
        """Create /feature, or enable versioning (finalized features are kept) or disable it (they are removed)."""
        data, _ = self._zk.get_data_and_version(FeatureZNode.path)
        existing = None if data is None else FeatureZNode.decode(data)
        kept = self._enabled and existing is not None and existing.enabled
        self.finalized = dict(existing.levels) if existing is not None and kept else {}
        wanted = self._content(self.finalized)
        if existing is None:
            log.info("Creating %s without finalized features", FeatureZNode.path)
            self._zk.create_recursive(FeatureZNode.path, FeatureZNode.encode(wanted))
        elif wanted != existing:
            log.info("Changing %s from %s to %s", FeatureZNode.path, existing, wanted)
            self._zk.set_data(FeatureZNode.path, FeatureZNode.encode(wanted))

    def _content(self, levels: dict[str, int]) -> FinalizedFeatures:
        return FinalizedFeatures(self._enabled, levels, self._version)

    def is_compatible(self, broker: Broker) -> bool:
        """Return whether the broker supports every finalized feature at its level."""
        return all(_supports(broker.features, name, level) for name, level in self.finalized.items())

    def update(self, request: UpdateFeaturesRequest, version: int, brokers: list[Broker]) -> dict[str, KafkaError]:
        """Apply the valid updates; return each feature's error (`Errors.NONE` for applied ones).

        Raises `KafkaError` INVALID_REQUEST while versioning is disabled.
        """
        if not self._enabled:
            raise _invalid("Feature versioning system is disabled.")
        target = dict(self.finalized)
        results: dict[str, KafkaError] = {}
        for update in request.feature_updates:
            upgrade_type = update.upgrade_type
            if version == 0:
                upgrade_type = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
            error = self._validate(update, upgrade_type, brokers)
            if error is None:
                if _is_delete(update, upgrade_type):
                    target.pop(update.feature, None)
                else:
                    target[update.feature] = update.max_version_level
            results[update.feature] = error or KafkaError(Errors.NONE)
        if target != self.finalized:
            try:
                self._zk.set_data(FeatureZNode.path, FeatureZNode.encode(self._content(target)))
            except ZooKeeperError as failure:
                log.warning("Finalized features %s could not be written: %s", target, failure)
                return {
                    name: KafkaError(Errors.FEATURE_UPDATE_FAILED) if error.error is Errors.NONE else error
                    for name, error in results.items()
                }
            log.info("Finalized features: %s -> %s", self.finalized, target)
            self.finalized = target
        return results

    def _validate(
        self, update: UpdateFeaturesRequest.FeatureUpdateKey, upgrade_type: int, brokers: list[Broker]
    ) -> KafkaError | None:
        name, level, existing = update.feature, update.max_version_level, self.finalized.get(update.feature)
        if not name:
            return _invalid("Feature name can not be empty.")
        if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            return _invalid("Received unknown upgrade type.")
        if _is_delete(update, upgrade_type):
            return None if existing is not None else _invalid("Can not delete non-existing finalized feature.")
        if level < 1:
            return _invalid(
                f"Can not provide versionLevel: {level} less than 1 without setting the SAFE downgradeType in the "
                "request."
            )
        if existing is not None:
            if level == existing:
                verb = "downgrade" if upgrade_type == SAFE_DOWNGRADE else "upgrade"
                return _invalid(
                    f"Can not {verb} a finalized feature from existing versionLevel:{existing} to the same value."
                )
            if level < existing and upgrade_type != SAFE_DOWNGRADE:
                return _invalid(
                    f"Can not downgrade finalized feature from existing versionLevel:{existing} to provided "
                    f"versionLevel:{level} without setting the downgradeType to SAFE in the request."
                )
            if level > existing and upgrade_type != UPGRADE:
                return _invalid(
                    f"When the downgradeType is set to SAFE in the request, the provided versionLevel:{level} can not "
                    f"be greater than existing versionLevel:{existing}."
                )
        if name not in SUPPORTED_FEATURES:
            return _invalid("Could not apply finalized feature update because the provided feature is not supported.")
        if not _supports(SUPPORTED_FEATURES, name, level):
            return _invalid(
                f"Could not apply finalized feature update because the provided versionLevel:{level} is lower than the "
                f"supported minVersion:{SUPPORTED_FEATURES[name][0]}."
            )
        if not all(_supports(broker.features, name, level) for broker in brokers):
            return _invalid(
                "Could not apply finalized feature update because brokers were found to have incompatible versions for "
                "the feature."
            )
        return None


def _is_delete(update: UpdateFeaturesRequest.FeatureUpdateKey, upgrade_type: int) -> bool:
    return update.max_version_level < 1 and upgrade_type != UPGRADE


def _supports(supported: dict[str, tuple[int, int]], name: str, level: int) -> bool:
    if name not in supported:
        return False
    lowest, highest = supported[name]
    return lowest <= level <= highest


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_REQUEST, message)
