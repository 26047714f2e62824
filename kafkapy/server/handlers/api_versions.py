"""ApiVersions (KIP-35, KIP-511): the supported APIs and versions."""

from __future__ import annotations

import re
from collections.abc import Collection

from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.server.metadata.finalized_features import FinalizedFeatureListener

_FIRST_WITH_SOFTWARE = 3
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def handle_api_versions(
    enabled: Collection[ApiKey], features: FinalizedFeatureListener, request: Request
) -> ApiVersionsResponse:
    body: ApiVersionsRequest | None = request.body
    response = answer_api_versions(enabled, features.epoch, body, request.api_version)
    if body is None:
        request.answer_in_version(0)
    elif request.api_version >= _FIRST_WITH_SOFTWARE and response.error_code == Errors.NONE.code:
        request.context.client_software_name = body.client_software_name
        request.context.client_software_version = body.client_software_version
    return response


def answer_api_versions(
    enabled: Collection[ApiKey], features_epoch: int, request: ApiVersionsRequest | None, version: int
) -> ApiVersionsResponse:
    """Return the response. `request` None: its version is newer than supported; the response of version 0 has an error
    and this API's versions (KIP-511)."""
    if request is None:
        return ApiVersionsResponse(error_code=Errors.UNSUPPORTED_VERSION.code, api_keys=_ranges([ApiKey.API_VERSIONS]))
    if version >= _FIRST_WITH_SOFTWARE:
        software = (request.client_software_name, request.client_software_version)
        if not all(map(_SOFTWARE.fullmatch, software)):
            return ApiVersionsResponse(error_code=Errors.INVALID_REQUEST.code)
    return ApiVersionsResponse(api_keys=_ranges(sorted(enabled)), finalized_features_epoch=features_epoch)


def _ranges(keys: Collection[ApiKey]) -> list[ApiVersionsResponse.ApiVersion]:
    return [
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=key.min_version, max_version=key.max_version)
        for key in keys
    ]
