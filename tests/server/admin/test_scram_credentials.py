"""The answers are those of a real Apache Kafka 3.9.1 broker."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from kafkapy.protocol.errors import Errors
from kafkapy.server.admin.client_quotas import QuotaOp, alter_client_quotas
from kafkapy.server.admin.scram_credentials import Deletion, Upsertion, alter, credential_text, describe
from tests.config_zookeeper import ConfigZooKeeper


@pytest.fixture
def zookeeper() -> Any:
    return ConfigZooKeeper()


def put(user: str, mechanism: int = 1, iterations: int = 4096, salted: bytes = b"p" * 32) -> Upsertion:
    return Upsertion(name=user, mechanism=mechanism, iterations=iterations, salt=b"s" * 20, salted_password=salted)


def delete(user: str, mechanism: int = 1) -> Deletion:
    return Deletion(name=user, mechanism=mechanism)


def altered(zookeeper: Any, *changes: Upsertion | Deletion) -> dict[str, tuple[Errors, str | None]]:
    upsertions = [change for change in changes if isinstance(change, Upsertion)]
    deletions = [change for change in changes if isinstance(change, Deletion)]
    results = alter(zookeeper, upsertions, deletions)
    return {result.user: (Errors.for_code(result.error_code), result.error_message) for result in results}


def described(zookeeper: Any, users: list[str] | None = None) -> dict[str, Any]:
    return {
        result.user: [(info.mechanism, info.iterations) for info in result.credential_infos]
        if not result.error_code
        else (Errors.for_code(result.error_code), result.error_message)
        for result in describe(zookeeper, users)
    }


def test_the_keys_are_those_of_rfc_7677() -> None:
    """The example of RFC 7677: user "user", password "pencil"."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    assert credential_text(1, salt, salted, 4096) == (
        "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
        "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
    )


def test_credentials_are_stored_and_described(zookeeper: Any) -> None:
    assert altered(zookeeper, put("bob"), put("bob", 2, 8192), put("al ice")) == {
        "bob": (Errors.NONE, ""),
        "al ice": (Errors.NONE, ""),
    }
    assert set(zookeeper.get_entity_configs("users", "bob")) == {"SCRAM-SHA-256", "SCRAM-SHA-512"}
    assert zookeeper.notifications == ["users/bob", "users/al%20ice"]
    assert described(zookeeper) == {"al ice": [(1, 4096)], "bob": [(1, 4096), (2, 8192)]}
    assert described(zookeeper, []) == described(zookeeper)


def test_a_users_quotas_stay(zookeeper: Any) -> None:
    alter_client_quotas(zookeeper, {"user": "bob"}, [QuotaOp("producer_byte_rate", 5.0)], False)
    altered(zookeeper, put("bob"))
    altered(zookeeper, delete("bob"))
    assert zookeeper.get_entity_configs("users", "bob") == {"producer_byte_rate": "5"}
    assert described(zookeeper) == {}


def test_the_last_credential_takes_the_node_along(zookeeper: Any) -> None:
    altered(zookeeper, put("bob"))
    altered(zookeeper, delete("bob"))
    assert "/config/users/bob" not in zookeeper.nodes


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (put("u", iterations=4095), Errors.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (put("u", iterations=16385), Errors.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (put("u", salted=b""), Errors.UNKNOWN_SERVER_ERROR, Errors.UNKNOWN_SERVER_ERROR.message),
        (put("u", mechanism=9), Errors.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (delete("u", mechanism=9), Errors.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (delete("u"), Errors.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"),
        (put(""), Errors.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
    ],
)
def test_changes_that_cannot_be_made(zookeeper: Any, change: Upsertion | Deletion, error: Errors, message: str) -> None:
    assert altered(zookeeper, change) == {change.name: (error, message)}
    assert zookeeper.nodes == {}


def test_a_users_changes_are_made_all_or_none(zookeeper: Any) -> None:
    results = altered(zookeeper, put("bob"), put("bob", 2, iterations=1), put("eve"), delete("eve", 2), put("zoe"))
    assert {user: error for user, (error, _) in results.items()} == {
        "bob": Errors.UNACCEPTABLE_CREDENTIAL,
        "eve": Errors.RESOURCE_NOT_FOUND,
        "zoe": Errors.NONE,
    }
    assert described(zookeeper) == {"zoe": [(1, 4096)]}


def test_a_credential_is_altered_once_in_a_request(zookeeper: Any) -> None:
    twice = (Errors.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
    assert altered(zookeeper, put("bob"), delete("bob")) == {"bob": twice}


def test_describing_who_is_not_there_twice_or_nobody(zookeeper: Any) -> None:
    altered(zookeeper, put("bob"))
    assert described(zookeeper, ["bob", "eve", "", "bob"]) == {
        "bob": (
            Errors.DUPLICATE_RESOURCE,
            "Cannot describe SCRAM credentials for the same user twice in a single request: bob",
        ),
        "eve": (Errors.RESOURCE_NOT_FOUND, "Attempt to describe a user credential that does not exist: eve"),
        "": (Errors.RESOURCE_NOT_FOUND, "Username must not be empty"),
    }
