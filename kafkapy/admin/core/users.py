"""SCRAM credentials of users (KIP-554)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.admin.core.router import Router, raise_code
from kafkapy.admin.core.types import ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kafkapy.errors import IllegalArgumentError
from kafkapy.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafkapy.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest


class UserOperations(Router):
    async def alter_user_scram_credentials(
        self, alterations: Iterable[UserScramCredentialDeletion | UserScramCredentialUpsertion]
    ) -> dict[str, str | None]:
        """User -> None, or why it failed."""
        message = AlterUserScramCredentialsRequest
        request = message()
        for alteration in alterations:
            if isinstance(alteration, UserScramCredentialDeletion):
                request.deletions.append(
                    message.ScramCredentialDeletion(name=alteration.user, mechanism=int(alteration.mechanism))
                )
            elif isinstance(alteration, UserScramCredentialUpsertion):
                request.upsertions.append(
                    message.ScramCredentialUpsertion(
                        name=alteration.user,
                        mechanism=int(alteration.mechanism),
                        iterations=alteration.iterations,
                        salt=alteration.salt,
                        salted_password=alteration.salted_password,
                    )
                )
            else:
                raise IllegalArgumentError(
                    "alterations must be UserScramCredentialDeletion or UserScramCredentialUpsertion, "
                    f"not {type(alteration).__name__}"
                )
        answer = await self._controller(request, lambda r: [result.error_code for result in r.results])
        return {result.user: result.error_message if result.error_code else None for result in answer.response.results}

    async def describe_user_scram_credentials(self, users: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
        """User -> {error, credential_infos: [{mechanism, iterations}]}; None: all users that have any."""
        message = DescribeUserScramCredentialsRequest
        request = message(users=None if users is None else [message.UserName(name=user) for user in users])
        response = (await self._any(request)).response
        raise_code(response.error_code, response.error_message)
        return {
            result.user: {
                "error": result.error_message if result.error_code else None,
                "credential_infos": [
                    {"mechanism": ScramMechanism(info.mechanism), "iterations": info.iterations}
                    for info in result.credential_infos
                ],
            }
            for result in response.results
        }
