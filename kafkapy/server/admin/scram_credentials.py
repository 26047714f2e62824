"""SCRAM credentials of users in ZooKeeper (KIP-554; part of Kafka's `ZkAdminManager`). The functions block on
ZooKeeper.

A request contains the salted password, never the password; keys derived from it are stored (RFC 5802).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from kafkapy.common.sanitizer import desanitize, sanitize
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from kafkapy.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsResponse
from kafkapy.security import scram
from kafkapy.security.scram import ScramCredential
from kafkapy.server.api_error import ApiError
from kafkapy.server.config import zk_entity_configs
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.server.ZkAdminManager")

Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
AlterResult = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
DescribeResult = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
CredentialInfo = DescribeUserScramCredentialsResponse.CredentialInfo

SCRAM_MECHANISMS: Final = dict(enumerate(scram.SCRAM_HASHES.items(), start=1))
"""Code in requests -> (name, hash)."""

_NO_USER = "Username must not be empty"


def credential_text(mechanism: int, salt: bytes, salted_password: bytes, iterations: int) -> str:
    """Return a credential as stored in ZooKeeper: `salt=...,stored_key=...,server_key=...,iterations=...` (base64)."""
    hash_name = SCRAM_MECHANISMS[mechanism][1]
    return scram.credential_text(ScramCredential.of_salted_password(hash_name, salted_password, salt, iterations))


def describe(zk_client: KafkaZkClient, users: Sequence[str] | None) -> list[DescribeResult]:
    """Return the mechanisms and iterations of these users; None or empty: of all users with a credential."""
    if not users:
        everybody = zk_entity_configs.fetch_all_entity_configs(zk_client, zk_entity_configs.USERS)
        described = {desanitize(name): _described(desanitize(name), configs) for name, configs in everybody.items()}
        return [result for _, result in sorted(described.items()) if result is not None]
    counts = Counter(users)
    return [_describe_one(zk_client, user, asked_twice=count > 1) for user, count in counts.items()]


def _describe_one(zk_client: KafkaZkClient, user: str, asked_twice: bool) -> DescribeResult:
    if not user:
        return _describe_error(user, Errors.RESOURCE_NOT_FOUND, _NO_USER)
    if asked_twice:
        return _describe_error(
            user,
            Errors.DUPLICATE_RESOURCE,
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}",
        )
    try:
        configs = zk_client.get_entity_configs(zk_entity_configs.USERS, sanitize(user))
    except Exception as error:
        log.error("Error processing describe user SCRAM credential configs request", exc_info=error)
        return _describe_error(user, Errors.UNKNOWN_SERVER_ERROR, Errors.UNKNOWN_SERVER_ERROR.message)
    return _described(user, configs) or _describe_error(
        user, Errors.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}"
    )


def _described(user: str, configs: dict[str, str]) -> DescribeResult | None:
    """Return None if the user has no credential."""
    infos = []
    for code, (name, _) in SCRAM_MECHANISMS.items():
        if name in configs:
            try:
                iterations = scram.parse_credential(configs[name]).iterations
                infos.append(CredentialInfo(mechanism=code, iterations=iterations))
            except scram.ScramFormatError:
                error = Errors.UNKNOWN_SERVER_ERROR
                return _describe_error(user, error, error.message)
    return DescribeResult(user=user, credential_infos=infos) if infos else None


def _describe_error(user: str, error: Errors, message: str) -> DescribeResult:
    return DescribeResult(user=user, error_code=error.code, error_message=message)


def alter(
    zk_client: KafkaZkClient, upsertions: Sequence[Upsertion], deletions: Sequence[Deletion]
) -> list[AlterResult]:
    """Set and delete credentials. Return one result for each user; a user's changes are all made, or none is."""
    results = _malformed(upsertions, deletions)
    changes: list[Upsertion | Deletion] = [*upsertions, *deletions]
    pairs = Counter((change.name, change.mechanism) for change in changes if change.name not in results)
    for user in {user: None for (user, _), count in pairs.items() if count > 1}:
        message = "A user credential cannot be altered twice in the same request"
        results[user] = ApiError(Errors.DUPLICATE_RESOURCE, message)
    for user in {user: None for user, _ in pairs}:
        if user not in results:
            results[user] = _alter_user(
                zk_client,
                user,
                [u for u in upsertions if u.name == user],
                [d for d in deletions if d.name == user],
            )
    return [AlterResult(user=u, error_code=e.code, error_message=e.message or "") for u, e in results.items()]


def _malformed(upsertions: Iterable[Upsertion], deletions: Iterable[Deletion]) -> dict[str, ApiError]:
    """Return the users with an invalid change, and its error."""
    errors: dict[str, ApiError] = {}
    changes: list[Upsertion | Deletion] = [*deletions, *upsertions]
    for change in changes:
        if not change.name:
            errors[change.name] = ApiError(Errors.UNACCEPTABLE_CREDENTIAL, _NO_USER)
        elif change.mechanism not in SCRAM_MECHANISMS:
            errors[change.name] = ApiError(Errors.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
        elif isinstance(change, Upsertion) and change.iterations > scram.MAX_ITERATIONS:
            errors[change.name] = ApiError(Errors.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
        elif isinstance(change, Upsertion) and change.iterations < scram.MIN_ITERATIONS:
            errors[change.name] = ApiError(Errors.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        elif isinstance(change, Upsertion) and not change.salted_password:
            # Apache's error, too: Java refuses an HMAC with an empty key. Any client could compute such a user's
            # proof.
            errors[change.name] = ApiError(Errors.UNKNOWN_SERVER_ERROR, Errors.UNKNOWN_SERVER_ERROR.message)
    return errors


def _alter_user(
    zk_client: KafkaZkClient, user: str, upsertions: Iterable[Upsertion], deletions: Iterable[Deletion]
) -> ApiError:
    try:
        configs = zk_client.get_entity_configs(zk_entity_configs.USERS, sanitize(user))
        for deletion in deletions:
            if configs.pop(SCRAM_MECHANISMS[deletion.mechanism][0], None) is None:
                message = "Attempt to delete a user credential that does not exist"
                return ApiError(Errors.RESOURCE_NOT_FOUND, message)
        for u in upsertions:
            text = credential_text(u.mechanism, u.salt, u.salted_password, u.iterations)
            configs[SCRAM_MECHANISMS[u.mechanism][0]] = text
        zk_entity_configs.change_user_config(zk_client, sanitize(user), configs)
    except Exception as error:
        log.info("Error encountered while altering user SCRAM credentials", exc_info=error)
        error_code = ApiError.from_exception(error).error
        return ApiError(error_code, error_code.message)
    return ApiError(Errors.NONE, "")
