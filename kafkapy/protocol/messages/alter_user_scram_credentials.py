"""AlterUserScramCredentials (API key 51): SCRAM credentials to set or delete."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, int8, int16, int32, string


class AlterUserScramCredentialsRequest(Message, api=ApiKey.ALTER_USER_SCRAM_CREDENTIALS):
    deletions: list[AlterUserScramCredentialsRequest.ScramCredentialDeletion] = array("ScramCredentialDeletion")
    upsertions: list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion] = array("ScramCredentialUpsertion")

    class ScramCredentialDeletion(Struct):
        name: str = string()
        mechanism: int = int8()

    class ScramCredentialUpsertion(Struct):
        name: str = string()
        mechanism: int = int8()
        iterations: int = int32()
        salt: bytes = binary()
        salted_password: bytes = binary()


class AlterUserScramCredentialsResponse(Message, api=ApiKey.ALTER_USER_SCRAM_CREDENTIALS):
    throttle_time_ms: int = int32()
    results: list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult] = array(
        "AlterUserScramCredentialsResult"
    )

    class AlterUserScramCredentialsResult(Struct):
        user: str = string()
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
