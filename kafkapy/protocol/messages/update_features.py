"""UpdateFeatures (API key 57): finalized features to change."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int8, int16, int32, string


class UpdateFeaturesRequest(Message, api=ApiKey.UPDATE_FEATURES):
    timeout_ms: int = int32(default=60000)
    feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey] = array("FeatureUpdateKey")
    validate_only: bool = boolean("1+")

    class FeatureUpdateKey(Struct):
        feature: str = string()
        max_version_level: int = int16()
        allow_downgrade: bool = boolean("0")
        upgrade_type: int = int8("1+", default=1)


class UpdateFeaturesResponse(Message, api=ApiKey.UPDATE_FEATURES):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    results: list[UpdateFeaturesResponse.UpdatableFeatureResult] = array("UpdatableFeatureResult")

    class UpdatableFeatureResult(Struct):
        feature: str = string()
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
