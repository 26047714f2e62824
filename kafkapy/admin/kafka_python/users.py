"""SCRAM credentials of users (KIP-554)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.admin.kafka_python.base import Face
from kafkapy.admin.types import ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion


class UserMethods(Face):
    async def alter_user_scram_credentials(
        self, alterations: Iterable[UserScramCredentialDeletion | UserScramCredentialUpsertion]
    ) -> dict[str, str | None]:
        """Set and delete credentials; return user -> None, or the error.

        Args:
            alterations: Credentials to set and to delete (KIP-554).
        """
        answer = await self.core.alter_scram(self._call("AlterUserScramCredentials"), alterations)
        return {result.user: result.error_message if result.error_code else None for result in answer.response.results}

    async def describe_user_scram_credentials(self, users: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
        """Return user -> {error, credential_infos: [{mechanism, iterations}]}; None: all users with credentials.

        Args:
            users: Names of the users. None (default): all.
        """
        answer = await self.core.scram_credentials(self._call("DescribeUserScramCredentials"), users)
        return {
            result.user: {
                "error": result.error_message if result.error_code else None,
                "credential_infos": [
                    {"mechanism": ScramMechanism(info.mechanism), "iterations": info.iterations}
                    for info in result.credential_infos
                ],
            }
            for result in answer.response.results
        }
