"""Client quotas (KIP-546) and SCRAM users (KIP-554)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from kafkapy.admin.cluster_client import ClusterClient, Results, error_of
from kafkapy.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kafkapy.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafkapy.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kafkapy.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Pairs of entity type ("user", "client-id", "ip") and name (None: the default), in order of the types."""


class QuotaMatch(IntEnum):
    EXACT = 0
    DEFAULT = 1
    ANY = 2


class QuotaFilter(NamedTuple):
    entity_type: str
    match_type: QuotaMatch
    match: str | None = None


class ScramMechanism(IntEnum):
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


class ScramCredentialUpsertion(NamedTuple):
    user: str
    mechanism: ScramMechanism
    iterations: int
    password: bytes


class ScramCredentialDeletion(NamedTuple):
    user: str
    mechanism: ScramMechanism


class QuotaOperations(ClusterClient):
    def describe_client_quotas(
        self, filters: Iterable[QuotaFilter], strict: bool = True, timeout_ms: int | None = None
    ) -> dict[QuotaEntity, dict[str, float]]:
        """`strict`: only entities that have exactly the types of the filters."""
        component = DescribeClientQuotasRequest.ComponentData
        components = [component(entity_type=f.entity_type, match_type=f.match_type, match=f.match) for f in filters]

        def attempt() -> dict[QuotaEntity, dict[str, float]]:
            request = DescribeClientQuotasRequest(components=components, strict=strict)
            response = self.call(self.any_node(), request)
            error = error_of(response.error_code, response.error_message)
            if error is not None:
                raise error
            return {
                tuple(sorted(((e.entity_type, e.entity_name) for e in entry.entity), key=lambda pair: pair[0])): {
                    value.key: value.value for value in entry.values
                }
                for entry in response.entries or ()
            }

        return self.retry("describeClientQuotas", attempt, timeout_ms)

    def alter_client_quotas(
        self, entity: QuotaEntity, quotas: Mapping[str, float | None], timeout_ms: int | None = None
    ) -> None:
        """Set these quotas of one entity; None removes."""
        data = AlterClientQuotasRequest.EntityData
        op = AlterClientQuotasRequest.OpData
        entry = AlterClientQuotasRequest.EntryData(
            entity=[data(entity_type=type_, entity_name=name) for type_, name in entity],
            ops=[op(key=key, value=value or 0.0, remove=value is None) for key, value in quotas.items()],
        )

        def attempt() -> None:
            response = self.call(self.any_node(), AlterClientQuotasRequest(entries=[entry]))
            for result in response.entries:
                error = error_of(result.error_code, result.error_message)
                if error is not None:
                    raise error

        self.retry("alterClientQuotas", attempt, timeout_ms)

    def describe_user_scram_credentials(
        self, users: Iterable[str] = (), timeout_ms: int | None = None
    ) -> Results[str, list[tuple[ScramMechanism, int]]]:
        """User -> mechanism and iterations; of all users if none is named."""
        user_name = DescribeUserScramCredentialsRequest.UserName
        wanted = [user_name(name=user) for user in users]

        def attempt() -> Results[str, list[tuple[ScramMechanism, int]]]:
            response = self.call(self.any_node(), DescribeUserScramCredentialsRequest(users=wanted or None))
            error = error_of(response.error_code, response.error_message)
            if error is not None:
                raise error
            return {
                result.user: error_of(result.error_code, result.error_message)
                or [(ScramMechanism(info.mechanism), info.iterations) for info in result.credential_infos]
                for result in response.results
            }

        return self.retry("describeUserScramCredentials", attempt, timeout_ms)

    def alter_user_scram_credentials(
        self,
        upsertions: Iterable[ScramCredentialUpsertion] = (),
        deletions: Iterable[ScramCredentialDeletion] = (),
        timeout_ms: int | None = None,
    ) -> Results[str, None]:
        """Passwords are salted and hashed here: the broker never sees them."""
        deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
        request = AlterUserScramCredentialsRequest(
            deletions=[deletion(name=d.user, mechanism=d.mechanism) for d in deletions],
            upsertions=[_salted(upsertion) for upsertion in upsertions],
        )

        def attempt() -> Results[str, None]:
            response = self.call(self.any_node(), request)
            results: Results[str, None] = {}
            for result in response.results:
                results[result.user] = error_of(result.error_code, result.error_message)
            return results

        return self.retry("alterUserScramCredentials", attempt, timeout_ms)


def _salted(credential: ScramCredentialUpsertion) -> AlterUserScramCredentialsRequest.ScramCredentialUpsertion:
    salt = secrets.token_bytes(24)
    hash_name = credential.mechanism.hash_name
    salted_password = hashlib.pbkdf2_hmac(hash_name, credential.password, salt, credential.iterations)
    return AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=credential.user,
        mechanism=credential.mechanism,
        iterations=credential.iterations,
        salt=salt,
        salted_password=salted_password,
    )
