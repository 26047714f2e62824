"""The codecs of a server's APIs."""

from __future__ import annotations

from collections.abc import Collection

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec


class NotServedError(Exception):
    """A request that this server does not support; the message names it."""


class ApiCodecs:
    """The codecs of the APIs that a server supports, created on first use."""

    def __init__(self, enabled: Collection[ApiKey]) -> None:
        self.enabled = frozenset(enabled)
        self._codecs: dict[int, ApiCodec] = {}

    def find(self, key: int, version: int) -> ApiCodec:
        """Return a codec. `NotServedError` if the server does not support it; ApiVersions is found in any version
        (KIP-511).
        """
        codec = self._codecs.get(key << 16 | version)
        return self._make(key, version) if codec is None else codec

    def _make(self, key: int, version: int) -> ApiCodec:
        api_key = ApiKey(key)
        if api_key not in self.enabled:
            raise NotServedError(f"request with api key {api_key.name}, which is not served")
        if not api_key.supports(version):
            if api_key is ApiKey.API_VERSIONS:
                return ApiCodec(api_key, version)
            raise NotServedError(f"{api_key.name} was asked for in version {version}, which is not supported")
        codec = ApiCodec(api_key, version)
        self._codecs[key << 16 | version] = codec
        return codec
