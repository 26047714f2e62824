"""CreateDelegationToken (API key 38): a delegation token to create."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, int16, int32, int64, string


class CreateDelegationTokenRequest(Message, api=ApiKey.CREATE_DELEGATION_TOKEN):
    owner_principal_type: str | None = string("3+", nullable=True)
    owner_principal_name: str | None = string("3+", nullable=True)
    renewers: list[CreateDelegationTokenRequest.CreatableRenewers] = array("CreatableRenewers")
    max_lifetime_ms: int = int64()

    class CreatableRenewers(Struct):
        principal_type: str = string()
        principal_name: str = string()


class CreateDelegationTokenResponse(Message, api=ApiKey.CREATE_DELEGATION_TOKEN):
    error_code: int = int16()
    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string("3+")
    token_requester_principal_name: str = string("3+")
    issue_timestamp_ms: int = int64()
    expiry_timestamp_ms: int = int64()
    max_timestamp_ms: int = int64()
    token_id: str = string()
    hmac: bytes = binary()
    throttle_time_ms: int = int32()
