"""Changes as the audit records them: whose, of what, with which outcome, and without secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from kafkapy.network.request import RequestContext
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from kafkapy.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from kafkapy.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kafkapy.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kafkapy.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from kafkapy.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkapy.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from kafkapy.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkapy.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from kafkapy.runtime.clock import MockClock
from kafkapy.security.delegation_tokens import TokenInformation
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.security.audit.audit_records import AuditedSender, Changed
from kafkapy.server.security.audit.changes import audited_handlers

ALICE = KafkaPrincipal("User", "alice")


class FakeRequest:
    def __init__(self, body: Message) -> None:
        self.body = body
        self.api_key = ApiKey(body.API_KEY)
        self.context = RequestContext("c", "/10.0.0.7", "OUT", principal=ALICE)


def changes(body: Any, response: Message | Exception) -> list[Changed]:
    """What is told of a handler that gives this."""
    told: list[tuple[AuditedSender, Changed]] = []
    tokens = {b"the secret": TokenInformation("id-1", ALICE, ALICE, (), 1, 9, 5)}
    request: Any = FakeRequest(body)

    async def handle(_: Any) -> Message:
        tokens.clear()  # by the removal of the token
        request.context.principal = KafkaPrincipal("User", "another")  # it has authenticated anew meanwhile
        if isinstance(response, Exception):
            raise response
        return response

    handlers: Mapping[ApiKey, Any] = {request.api_key: handle}
    audited = audited_handlers(handlers, lambda sender, change: told.append((sender, change)), tokens.get, MockClock())
    if isinstance(response, Exception):
        with pytest.raises(type(response)):
            asyncio.run(audited[request.api_key](request))
    else:
        assert asyncio.run(audited[request.api_key](request)) is response
    assert all(sender.principal == "User:alice" for sender, _ in told)
    return [change for _, change in told]


ACL: dict[str, Any] = {
    "resource_type": 2,
    "resource_name": "t",
    "principal": "User:bob",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
ACL_FIELDS = {
    "resource_type": "TOPIC",
    "resource": "t",
    "pattern_type": "LITERAL",
    "for_principal": "User:bob",
    "for_host": "*",
    "operation": "READ",
    "permission": "ALLOW",
}


def test_acls() -> None:
    creation = CreateAclsRequest.AclCreation(**ACL)
    results = [CreateAclsResponse.AclCreationResult(), CreateAclsResponse.AclCreationResult(error_code=42)]
    assert changes(CreateAclsRequest(creations=[creation] * 2), CreateAclsResponse(results=results)) == [
        Changed("CreateAcl", "NONE", ACL_FIELDS),
        Changed("CreateAcl", "INVALID_REQUEST", ACL_FIELDS),
    ]
    filter_result = DeleteAclsResponse.DeleteAclsFilterResult(
        matching_acls=[DeleteAclsResponse.DeleteAclsMatchingAcl(**ACL)]
    )
    assert changes(DeleteAclsRequest(), DeleteAclsResponse(filter_results=[filter_result])) == [
        Changed("DeleteAcl", "NONE", ACL_FIELDS)
    ]


def test_a_refusal_of_the_whole_request() -> None:
    denied = KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)
    assert changes(CreateAclsRequest(), denied) == [Changed("CreateAcls", "CLUSTER_AUTHORIZATION_FAILED", {})]


def test_users_without_their_passwords() -> None:
    upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name="bob", mechanism=2, iterations=8192, salt=b"the salt", salted_password=b"the password"
    )
    deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="carol", mechanism=1)
    result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
    found = changes(
        AlterUserScramCredentialsRequest(upsertions=[upsertion], deletions=[deletion]),
        AlterUserScramCredentialsResponse(results=[result(user="bob"), result(user="carol", error_code=91)]),
    )
    assert found == [
        Changed("SetScramCredential", "NONE", {"user": "bob", "credential": "SCRAM-SHA-512", "iterations": 8192}),
        Changed("DeleteScramCredential", "RESOURCE_NOT_FOUND", {"user": "carol", "credential": "SCRAM-SHA-256"}),
    ]


def test_quotas() -> None:
    entity = [
        AlterClientQuotasRequest.EntityData(entity_type="user", entity_name="bob"),
        AlterClientQuotasRequest.EntityData(entity_type="client-id", entity_name=None),
    ]
    ops = [
        AlterClientQuotasRequest.OpData(key="producer_byte_rate", value=1000.0),
        AlterClientQuotasRequest.OpData(key="consumer_byte_rate", remove=True),
    ]
    body = AlterClientQuotasRequest(entries=[AlterClientQuotasRequest.EntryData(entity=entity, ops=ops)])
    response = AlterClientQuotasResponse(entries=[AlterClientQuotasResponse.EntryData()])
    what = {
        "entity": {"user": "bob", "client-id": "<default>"},
        "quotas": {"producer_byte_rate": 1000.0, "consumer_byte_rate": None},
    }
    assert changes(body, response) == [Changed("AlterClientQuota", "NONE", what)]
    body.validate_only = True
    assert changes(body, response) == []


def test_configs_without_their_secrets() -> None:
    config = IncrementalAlterConfigsRequest.AlterableConfig
    topic = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=2,
        resource_name="t",
        configs=[config(name="retention.ms", value="1"), config(name="cleanup.policy", config_operation=1)],
    )
    broker = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=4,
        resource_name="",
        configs=[
            config(name="log.cleaner.threads", value="2"),
            config(name="listener.name.out.ssl.key.password", value="secret-1"),
            config(name="listener.name.out.plain.sasl.jaas.config", value="secret-2"),
            config(name="sasl.jaas.confg", value="secret-3"),
        ],
    )
    result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    response = IncrementalAlterConfigsResponse(responses=[result(), result(error_code=40)])
    found = changes(IncrementalAlterConfigsRequest(resources=[topic, broker]), response)
    hidden = {"op": "SET", "value": "[hidden]"}
    assert [change.error for change in found] == ["NONE", "INVALID_CONFIG"]
    assert found[0].what == {
        "resource_type": "TOPIC",
        "resource": "t",
        "configs": {"retention.ms": {"op": "SET", "value": "1"}, "cleanup.policy": {"op": "DELETE"}},
    }
    assert found[1].what["resource"] == "<default>"
    assert found[1].what["configs"] == {
        "log.cleaner.threads": {"op": "SET", "value": "2"},
        "listener.name.out.ssl.key.password": hidden,
        "listener.name.out.plain.sasl.jaas.config": hidden,
        "sasl.jaas.confg": hidden,
    }


def test_tokens_without_their_hmacs() -> None:
    renewer = CreateDelegationTokenRequest.CreatableRenewers(principal_type="User", principal_name="bob")
    response = CreateDelegationTokenResponse(
        principal_type="User", principal_name="alice", token_id="id-1", hmac=b"the secret", expiry_timestamp_ms=5
    )
    (created,) = changes(CreateDelegationTokenRequest(renewers=[renewer]), response)
    assert created.what == {
        "token_id": "id-1",
        "owner": "User:alice",
        "renewers": "User:bob",
        "expires_ms": 5,
        "ends_ms": 0,
    }
    renewal = RenewDelegationTokenRequest(hmac=b"the secret")
    assert changes(renewal, RenewDelegationTokenResponse(expiry_timestamp_ms=9)) == [
        Changed("RenewDelegationToken", "NONE", {"token_id": "id-1", "owner": "User:alice", "expires_ms": 9})
    ]


def test_renewed_and_expired_tokens_are_named_by_their_id() -> None:
    """Also where the renewal is refused, and where the expiry removes the token; an HMAC of no token is not recorded."""
    named = {"token_id": "id-1", "owner": "User:alice"}
    for error in (Errors.DELEGATION_TOKEN_OWNER_MISMATCH, Errors.DELEGATION_TOKEN_EXPIRED):
        refused = RenewDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=-1)
        assert changes(RenewDelegationTokenRequest(hmac=b"the secret"), refused) == [
            Changed("RenewDelegationToken", error.name, named)
        ]
    expiry = ExpireDelegationTokenRequest(hmac=b"the secret", expiry_time_period_ms=-1)
    assert changes(expiry, ExpireDelegationTokenResponse(expiry_timestamp_ms=7)) == [
        Changed("ExpireDelegationToken", "NONE", {**named, "expires_ms": 7})
    ]
    assert changes(expiry, KafkaError(Errors.REQUEST_TIMED_OUT)) == [
        Changed("ExpireDelegationToken", "REQUEST_TIMED_OUT", named)
    ]
    unknown = ExpireDelegationTokenResponse(error_code=Errors.DELEGATION_TOKEN_NOT_FOUND.code, expiry_timestamp_ms=-1)
    assert changes(ExpireDelegationTokenRequest(hmac=b"another"), unknown) == [
        Changed("ExpireDelegationToken", "DELEGATION_TOKEN_NOT_FOUND", {})
    ]


def test_topics() -> None:
    result = DeleteTopicsResponse.DeletableTopicResult
    response = DeleteTopicsResponse(responses=[result(name="t"), result(name=None, topic_id=bytes(16), error_code=100)])
    assert changes(DeleteTopicsRequest(), response) == [
        Changed("DeleteTopic", "NONE", {"topic": "t"}),
        Changed("DeleteTopic", "UNKNOWN_TOPIC_ID", {"topic_id": "00" * 16}),
    ]
