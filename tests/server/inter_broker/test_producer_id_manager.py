"""Blocks of producer ids: asked for early, one at a time, again after a failure."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.time import MockTime
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.inter_broker.producer_ids import Block, ProducerIdManager


class Controller:
    """Answers requests for blocks when the test says so."""

    def __init__(self) -> None:
        self.asked = 0
        self.waiting: list[Completion[Block]] = []
        self.time = MockTime()
        self.ids = ProducerIdManager(self.request, self.time.monotonic_ms)

    def request(self) -> Completion[Block]:
        self.asked += 1
        self.waiting.append(Completion())
        return self.waiting[-1]

    def answer(self, first: int, count: int = 10) -> None:
        self.waiting.pop().set_result((first, count))

    def fail(self) -> None:
        self.waiting.pop().set_exception(KafkaError(Errors.NOT_CONTROLLER))

    def wait_for_id(self) -> list[Any]:
        """What `generate_when_ready` comes to, once it does."""
        results: list[Any] = []

        async def wait() -> None:
            try:
                results.append(await self.ids.generate_when_ready())
            except KafkaError as error:
                results.append(error.error)

        spawn(wait())
        return results


@pytest.fixture
def controller() -> Controller:
    return Controller()


def is_loading(controller: Controller) -> bool:
    try:
        controller.ids.generate()
    except KafkaError as error:
        return error.error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    return False


def test_nothing_to_give_until_the_first_block_is_here(controller: Controller) -> None:
    assert is_loading(controller)
    assert is_loading(controller)
    assert controller.asked == 1
    controller.answer(1000)
    assert [controller.ids.generate() for _ in range(3)] == [1000, 1001, 1002]


def test_the_next_block_is_asked_for_at_nine_tenths(controller: Controller) -> None:
    is_loading(controller)
    controller.answer(0, 100)
    assert [controller.ids.generate() for _ in range(90)] == list(range(90))
    assert controller.asked == 1
    assert controller.ids.generate() == 90
    assert controller.asked == 2
    controller.answer(500, 100)
    assert [controller.ids.generate() for _ in range(11)] == [*range(91, 100), 500, 501]
    assert controller.asked == 2


def test_waiting_producers_all_get_an_id_of_the_block(controller: Controller) -> None:
    first, second = controller.wait_for_id(), controller.wait_for_id()
    assert (first, second, controller.asked) == ([], [], 1)
    controller.answer(7)
    assert (first, second) == ([7], [8])


def test_a_block_too_small_for_those_who_wait(controller: Controller) -> None:
    results = [controller.wait_for_id() for _ in range(3)]
    controller.answer(0, 2)
    assert results == [[0], [1], [Errors.COORDINATOR_LOAD_IN_PROGRESS]]


def test_a_failure_is_told_and_asked_about_again_a_little_later(controller: Controller) -> None:
    waiting = controller.wait_for_id()
    controller.fail()
    assert waiting == [Errors.COORDINATOR_LOAD_IN_PROGRESS]
    assert controller.wait_for_id() == [Errors.COORDINATOR_LOAD_IN_PROGRESS]
    assert controller.asked == 1
    controller.time.advance(50)
    again = controller.wait_for_id()
    assert controller.asked == 2
    controller.answer(3)
    assert again == [3]


def test_a_failed_early_request_is_repeated_by_the_next_id(controller: Controller) -> None:
    is_loading(controller)
    controller.answer(0, 10)
    for _ in range(10):
        controller.ids.generate()
    controller.fail()
    controller.time.advance(50)
    assert is_loading(controller)
    assert controller.asked == 3
