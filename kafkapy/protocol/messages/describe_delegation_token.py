"""DescribeDelegationToken (API key 41): delegation tokens and their owners."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, int16, int32, int64, string


class DescribeDelegationTokenRequest(Message, api=ApiKey.DESCRIBE_DELEGATION_TOKEN):
    owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None = array(
        "DescribeDelegationTokenOwner", nullable=True
    )

    class DescribeDelegationTokenOwner(Struct):
        principal_type: str = string()
        principal_name: str = string()


class DescribeDelegationTokenResponse(Message, api=ApiKey.DESCRIBE_DELEGATION_TOKEN):
    error_code: int = int16()
    tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken] = array("DescribedDelegationToken")
    throttle_time_ms: int = int32()

    class DescribedDelegationToken(Struct):
        principal_type: str = string()
        principal_name: str = string()
        token_requester_principal_type: str = string("3+")
        token_requester_principal_name: str = string("3+")
        issue_timestamp: int = int64()
        expiry_timestamp: int = int64()
        max_timestamp: int = int64()
        token_id: str = string()
        hmac: bytes = binary()
        renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer] = array(
            "DescribedDelegationTokenRenewer"
        )

    class DescribedDelegationTokenRenewer(Struct):
        principal_type: str = string()
        principal_name: str = string()
