"""DescribeUserScramCredentials (API key 50): SCRAM mechanisms and iterations of users."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int8, int16, int32, string


class DescribeUserScramCredentialsRequest(Message, api=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS):
    users: list[DescribeUserScramCredentialsRequest.UserName] | None = array("UserName", nullable=True)

    class UserName(Struct):
        name: str = string()


class DescribeUserScramCredentialsResponse(Message, api=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult] = array(
        "DescribeUserScramCredentialsResult"
    )

    class DescribeUserScramCredentialsResult(Struct):
        user: str = string()
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
        credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo] = array("CredentialInfo")

    class CredentialInfo(Struct):
        mechanism: int = int8()
        iterations: int = int32()
