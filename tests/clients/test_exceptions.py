from __future__ import annotations

import pickle
import subprocess
import sys
import traceback

import kafka.errors
import pytest

from kafkapy import errors
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.errors import KafkaError as LowLevelError


def test_each_code_of_kafka_python_has_its_class() -> None:
    for code, theirs in kafka.errors.kafka_errors.items():
        if code is None:
            continue  # a class without a code
        ours = errors.for_code(code)
        assert (ours.__name__, ours.errno) == (theirs.__name__ if code != 35 else "UnsupportedVersionError", code)
        assert ours.message == theirs.message


def test_an_unknown_code_is_not_lost() -> None:
    found = errors.for_code(999)
    assert issubclass(found, errors.UnknownError)
    assert found.errno == 999


def test_one_base_for_all() -> None:
    assert errors.KafkaError is LowLevelError
    for name in ("KafkaTimeoutError", "TopicAlreadyExistsError", "CommitFailedError", "LogTruncationError"):
        assert issubclass(getattr(errors, name), errors.KafkaError)
    assert issubclass(errors.DisconnectError, errors.KafkaConnectionError)
    assert issubclass(errors.NotLeaderForPartitionError, errors.InvalidMetadataError)
    assert not errors.TopicAuthorizationFailedError.retriable
    assert errors.NotControllerError.retriable


def test_texts() -> None:
    assert str(errors.KafkaTimeoutError("late")) == "late"
    assert str(errors.KafkaTimeoutError()) == "KafkaTimeoutError"
    assert str(errors.error_for(36)) == "[Error 36] TopicAlreadyExistsError: Topic with this name already exists."
    assert errors.error_for(Errors.INVALID_CONFIG, "no").args == ("no",)
    assert errors.KafkaTimeoutError("a") == errors.KafkaTimeoutError("a") != errors.KafkaTimeoutError("b")
    assert "t-0" in str(errors.LogTruncationError({"t-0": None}))


def test_a_users_own_errors() -> None:
    """They may be raised as kafka-python's: with a text, or without anything."""

    class OrderError(errors.KafkaError):
        retriable = True

    assert (str(errors.KafkaError("text")), errors.KafkaError("text").args) == ("text", ("text",))
    assert str(errors.KafkaError()) == "KafkaError"
    assert str(OrderError("lost")) == "lost"
    assert OrderError("lost").retriable
    assert errors.KafkaError("text").error is Errors.UNKNOWN_SERVER_ERROR
    assert str(pickle.loads(pickle.dumps(LowLevelError(Errors.INVALID_CONFIG, "no")))) == "INVALID_CONFIG: no"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (LowLevelError(Errors.UNSUPPORTED_VERSION, "old"), errors.IncompatibleBrokerVersion),
        (LowLevelError(Errors.INVALID_CONFIG, "bad"), errors.KafkaConfigurationError),
        (LowLevelError(Errors.NOT_CONTROLLER), errors.NotControllerError),
        (errors.KafkaTimeoutError("x"), errors.KafkaTimeoutError),
    ],
)
def test_errors_of_lower_layers_become_the_clients(error: LowLevelError, expected: type[LowLevelError]) -> None:
    assert type(errors.as_client_error(error)) is expected


def test_low_level_errors_can_be_asked_the_same() -> None:
    error = LowLevelError(Errors.LEADER_NOT_AVAILABLE)
    assert (error.retriable, error.invalid_metadata, error.errno) == (True, True, 5)


def test_importing_the_package_imports_no_client() -> None:
    program = "import sys, kafkapy; print(sorted(m for m in sys.modules if m.startswith('kafkapy')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = ["kafkapy", "kafkapy.compiled"]
    assert done.stdout.strip() == str(names)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (errors.IllegalStateError("It is closed"), "kafkapy.errors.IllegalStateError: It is closed"),
        (errors.KafkaTimeoutError(), "kafkapy.errors.KafkaTimeoutError: KafkaTimeoutError"),
    ],
)
def test_a_traceback_says_once_what_it_is(error: Exception, line: str) -> None:
    assert traceback.format_exception_only(error)[0].startswith(line)
