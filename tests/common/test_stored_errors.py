from __future__ import annotations

import gc
import traceback

import pytest

from kafkapy.common.stored_errors import raisable_copy
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.zk.errors import NoNodeError
from kafkapy.zk.requests import Response


def test_what_is_raised_says_the_same() -> None:
    try:
        raise KafkaError(Errors.NOT_CONTROLLER, "ask another") from ValueError("why")
    except KafkaError as error:
        stored = error
    with pytest.raises(KafkaError) as info:
        raise raisable_copy(stored)
    assert info.value is not stored
    assert (info.value.error, info.value.message) == (Errors.NOT_CONTROLLER, "ask another")
    assert info.value.__cause__ is stored.__cause__
    assert "raise KafkaError" in "".join(traceback.format_exception(info.value))


def test_a_response_and_its_error_are_freed_without_the_collector() -> None:
    def ask() -> str | None:
        response = Response(NoNodeError(path="/a"))
        try:
            response.raise_for_error()
        except NoNodeError as error:
            return error.path
        return None

    gc.disable()
    try:
        while gc.collect():  # what other tests have left, and what its finalizers leave
            pass
        assert ask() == "/a"
        assert gc.collect() == 0
    finally:
        gc.enable()
