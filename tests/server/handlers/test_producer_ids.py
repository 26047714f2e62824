"""InitProducerId and the answers of a broker without authorizer, SASL and delegation tokens."""

from __future__ import annotations

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.server.allows import Allows
from tests.server.broker_core import BrokerCore, Client


@pytest.mark.parametrize("version", range(6))
def test_each_call_gives_a_new_id_with_epoch_0(client: Client, version: int) -> None:
    for expected in (1000, 1001):
        response = client.call(InitProducerIdRequest(transactional_id=None), version)
        assert (response.error_code, response.producer_id, response.producer_epoch) == (0, expected, 0)


def test_a_known_id_is_not_given_back_to_a_producer_without_transactions(client: Client) -> None:
    request = InitProducerIdRequest(transactional_id=None, producer_id=7, producer_epoch=3)
    response = client.call(request, 3)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, 1000, 0)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (InitProducerIdRequest(transactional_id=None, producer_id=7), Errors.INVALID_REQUEST),
        (InitProducerIdRequest(transactional_id=None, producer_epoch=0), Errors.INVALID_REQUEST),
        (InitProducerIdRequest(transactional_id=""), Errors.INVALID_REQUEST),
        (InitProducerIdRequest(transactional_id="x", producer_id=7, transaction_timeout_ms=1), Errors.INVALID_REQUEST),
        (InitProducerIdRequest(transactional_id="x"), Errors.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_refusals(client: Client, request_: InitProducerIdRequest, expected: Errors) -> None:
    response = client.call(request_, 5)
    assert Errors.for_code(response.error_code) is expected
    assert (response.producer_id, response.producer_epoch) == (-1, -1)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ((), Errors.CLUSTER_AUTHORIZATION_FAILED),
        ((("READ", "TOPIC", "t"),), Errors.CLUSTER_AUTHORIZATION_FAILED),
        ((("WRITE", "TOPIC", "t"),), Errors.NONE),
        ((("IDEMPOTENT_WRITE", "CLUSTER", "kafka-cluster"),), Errors.NONE),
    ],
)
def test_the_right_to_write_to_a_topic_is_enough_for_an_id(
    core: BrokerCore, client: Client, allowed: tuple[tuple[str, str, str], ...], expected: Errors
) -> None:
    """KIP-679."""
    core.handlers.producer_ids._authorizer = Allows(*allowed)
    response = client.call(InitProducerIdRequest(transactional_id=None), 4)
    assert Errors.for_code(response.error_code) is expected


@pytest.mark.parametrize(
    ("api_key", "expected"),
    [
        (ApiKey.SASL_HANDSHAKE, Errors.ILLEGAL_SASL_STATE),
        (ApiKey.SASL_AUTHENTICATE, Errors.ILLEGAL_SASL_STATE),
        (ApiKey.DESCRIBE_ACLS, Errors.SECURITY_DISABLED),
        (ApiKey.CREATE_DELEGATION_TOKEN, Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        (ApiKey.RENEW_DELEGATION_TOKEN, Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        (ApiKey.EXPIRE_DELEGATION_TOKEN, Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        (ApiKey.DESCRIBE_DELEGATION_TOKEN, Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
    ],
)
def test_security_that_is_not_there(core: BrokerCore, api_key: ApiKey, expected: Errors) -> None:
    for version in range(api_key.max_version + 1):
        response = core.connect().call(api_key.request(), version)
        assert Errors.for_code(response.error_code) is expected


@pytest.mark.parametrize("api_key", [ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS])
def test_acls_can_not_be_changed(core: BrokerCore, api_key: ApiKey) -> None:
    item = "creations" if api_key is ApiKey.CREATE_ACLS else "filters"
    kind = api_key.request.AclCreation if item == "creations" else api_key.request.DeleteAclsFilter
    response = core.connect().call(api_key.request(**{item: [kind()]}), 2)
    results = response.results if item == "creations" else response.filter_results
    assert [Errors.for_code(r.error_code) for r in results] == [Errors.SECURITY_DISABLED]
    assert results[0].error_message == "No Authorizer is configured."
