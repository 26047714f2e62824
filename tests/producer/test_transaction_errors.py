"""What ends a transaction names the transactional id, says why, and what to do (docs/errors.md)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.errors import BrokerResponseError, KafkaTimeoutError, TransactionAbortedError, error_for
from kafkapy.producer.transaction_errors import ABORT, ADVICE, FENCED, explained
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.runtime.completion import spawn
from tests.pages.generators.error_advice import BY_CODE
from tests.producer.test_transactions import Coordinator


@pytest.mark.parametrize("code", ADVICE)
def test_each_says_what_docs_say(code: Errors) -> None:
    error = explained(error_for(code), "orders-1", 60_000)
    assert type(error) is type(error_for(code))
    assert "transactional_id 'orders-1'" in str(error)
    assert code.message.rstrip(".") in str(error)
    assert BY_CODE[code] in str(error)
    assert explained(error, "orders-1", 60_000) is error


def test_others_stay_what_they_are() -> None:
    for error in (KafkaTimeoutError("late"), error_for(Errors.TOPIC_AUTHORIZATION_FAILED), ValueError("x")):
        assert explained(error, "orders-1", 60_000) is error


@pytest.mark.parametrize(
    ("api", "code", "advice"),
    [
        (ApiKey.INIT_PRODUCER_ID, Errors.PRODUCER_FENCED, FENCED),
        (ApiKey.INIT_PRODUCER_ID, Errors.INVALID_PRODUCER_EPOCH, FENCED),
        (ApiKey.INIT_PRODUCER_ID, Errors.INVALID_TRANSACTION_TIMEOUT, "transaction.max.timeout.ms"),
        (ApiKey.FIND_COORDINATOR, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "kafka-acls"),
    ],
)
def test_at_the_beginning(api: ApiKey, code: Errors, advice: str) -> None:
    setup = Coordinator()
    setup.errors = {api: [code]}
    with pytest.raises(BrokerResponseError, match="transactional_id 'tx'") as failed:
        setup.driver.result_of(spawn(setup.transactions.initialize()), 1_000)
    assert advice in str(failed.value)


@pytest.mark.parametrize(
    ("api", "code", "advice"),
    [
        (ApiKey.ADD_PARTITIONS_TO_TXN, Errors.PRODUCER_FENCED, FENCED),
        (ApiKey.ADD_PARTITIONS_TO_TXN, Errors.INVALID_TXN_STATE, ABORT),
        (ApiKey.PRODUCE, Errors.INVALID_PRODUCER_EPOCH, FENCED),
        (ApiKey.PRODUCE, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, ABORT),
        (ApiKey.PRODUCE, Errors.INVALID_TXN_STATE, ABORT),
        (ApiKey.END_TXN, Errors.PRODUCER_FENCED, FENCED),
    ],
)
def test_in_the_midst_of_one(api: ApiKey, code: Errors, advice: str) -> None:
    setup = Coordinator().begun()
    if api is ApiKey.PRODUCE:
        setup.fault = lambda *_: code
    else:
        setup.errors = {api: [code]}
    future: Any = setup.send(b"x")
    with pytest.raises(BrokerResponseError, match="transactional_id 'tx'") as failed:
        setup.driver.result_of(spawn(setup.transactions.commit()), 5_000)
    assert advice in str(failed.value)
    if api is not ApiKey.END_TXN:
        assert advice in str(future.exception) or isinstance(future.exception, TransactionAbortedError)


def test_an_aborted_record_names_its_transaction() -> None:
    setup = Coordinator(linger_ms=10_000).begun()
    future: Any = setup.send(b"x")
    setup.driver.result_of(spawn(setup.transactions.abort()), 5_000)
    assert isinstance(future.exception, TransactionAbortedError)
    assert "transactional_id 'tx'" in str(future.exception)
    assert "send the record again" in str(future.exception)
