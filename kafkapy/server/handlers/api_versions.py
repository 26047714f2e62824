"""ApiVersions (KIP-35, KIP-511): what this broker serves, and no more."""

from __future__ import annotations

import re
from collections.abc import Collection

from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.server.metadata.finalized_features import FinalizedFeatureListener

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def handle_api_versions(
    enabled: Collection[ApiKey], features: FinalizedFeatureListener, request: Request
) -> ApiVersionsResponse:
    body: ApiVersionsRequest | None = request.body
    if body is None:
        # A version from the future: answered in version 0, naming the versions of this one API (KIP-511).
        request.answer_in_version(0)
        return ApiVersionsResponse(error_code=Errors.UNSUPPORTED_VERSION.code, api_keys=_ranges([ApiKey.API_VERSIONS]))
    if request.api_version >= 3:
        name, version = body.client_software_name, body.client_software_version
        if not _SOFTWARE.fullmatch(name) or not _SOFTWARE.fullmatch(version):
            return ApiVersionsResponse(error_code=Errors.INVALID_REQUEST.code)
        request.context.client_software_name = name
        request.context.client_software_version = version
    return ApiVersionsResponse(api_keys=_ranges(sorted(enabled)), finalized_features_epoch=features.epoch)


def _ranges(keys: Collection[ApiKey]) -> list[ApiVersionsResponse.ApiVersion]:
    return [
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=key.min_version, max_version=key.max_version)
        for key in keys
    ]
