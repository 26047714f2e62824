"""SCRAM credentials of users (KIP-554)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.admin.results import Answer, Results, failure_of, raise_failure
from kafkapy.admin.router import Call, Router
from kafkapy.admin.types import ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kafkapy.errors import IllegalArgumentError
from kafkapy.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafkapy.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

Alterations = Iterable[UserScramCredentialDeletion | UserScramCredentialUpsertion]


class UserOperations(Router):
    async def describe_user_scram_credentials(
        self, users: Iterable[str] = (), timeout_ms: int | None = None
    ) -> Results[str, list[tuple[ScramMechanism, int]]]:
        """Return user -> mechanism and iterations; all users if none is given."""
        call = self.call("describeUserScramCredentials", timeout_ms)
        response = (await self.scram_credentials(call, list(users) or None)).response
        return {
            result.user: failure_of(result)
            or [(ScramMechanism(info.mechanism), info.iterations) for info in result.credential_infos]
            for result in response.results
        }

    async def scram_credentials(self, call: Call, users: Iterable[str] | None) -> Answer[Any]:
        message = DescribeUserScramCredentialsRequest
        request = message(users=None if users is None else [message.UserName(name=user) for user in users])
        answer = await self.on_any(call, request)
        raise_failure(answer.response)
        return answer

    async def alter_user_scram_credentials(
        self, alterations: Alterations, timeout_ms: int | None = None
    ) -> Results[str, None]:
        answer = await self.alter_scram(self.call("alterUserScramCredentials", timeout_ms), alterations)
        return {result.user: failure_of(result) for result in answer.response.results}

    async def alter_scram(self, call: Call, alterations: Alterations) -> Answer[Any]:
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
        return await self.on_controller(call, request, lambda r: [result.error_code for result in r.results])
