import pytest

from kafkapy.protocol.errors import Errors, KafkaError


def test_codes() -> None:
    assert Errors.for_code(3) is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert Errors.UNKNOWN_TOPIC_OR_PARTITION.code == 3
    assert Errors(41) is Errors.NOT_CONTROLLER
    assert [error.code for error in Errors] == list(range(-1, 128))


def test_an_unknown_code_is_an_unknown_error() -> None:
    assert Errors.for_code(12345) is Errors.UNKNOWN_SERVER_ERROR


def test_what_a_client_should_do() -> None:
    assert Errors.NOT_LEADER_OR_FOLLOWER.retriable and Errors.NOT_LEADER_OR_FOLLOWER.refresh_metadata
    assert Errors.REQUEST_TIMED_OUT.retriable and not Errors.REQUEST_TIMED_OUT.refresh_metadata
    assert not Errors.NONE.retriable and not Errors.INVALID_REQUEST.retriable


def test_names_of_kafkas_exceptions() -> None:
    assert Errors.REQUEST_TIMED_OUT.exception == "TimeoutException"
    assert Errors.NONE.exception == ""


def test_the_exception_carries_error_and_message() -> None:
    with pytest.raises(KafkaError, match=r"INVALID_REQUEST: no such thing") as caught:
        raise KafkaError(Errors.INVALID_REQUEST, "no such thing")
    assert caught.value.error is Errors.INVALID_REQUEST
    assert caught.value.message == "no such thing"
    assert KafkaError(Errors.NOT_COORDINATOR).message == "This is not the correct coordinator."
    assert KafkaError(Errors.NOT_COORDINATOR, "").message == ""
