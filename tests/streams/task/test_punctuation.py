"""When punctuations are called."""

from __future__ import annotations

from kafkapy.streams.task.punctuation import Punctuation, PunctuationQueue


def called(queue: PunctuationQueue, now: int) -> list[int]:
    times: list[int] = []
    queue.punctuate(now, lambda punctuation, time: punctuation.punctuator(time))
    return times


def test_calls_that_were_missed_are_not_made_up_for() -> None:
    queue, times = PunctuationQueue(), list[int]()
    queue.schedule(Punctuation(None, 10, 10, times.append))
    for now in (5, 10, 12, 55, 59, 60):
        called(queue, now)
    assert times == [10, 55, 60]


def test_a_cancelled_punctuation_is_not_called_again() -> None:
    queue, times = PunctuationQueue(), list[int]()
    handle = queue.schedule(Punctuation(None, 0, 10, times.append))
    called(queue, 0)
    handle.cancel()
    called(queue, 100)
    assert times == [0]
    assert queue.next_time() is None


def test_a_punctuation_may_cancel_itself() -> None:
    queue, times = PunctuationQueue(), list[int]()

    def once(time: int) -> None:
        times.append(time)
        handle.cancel()

    handle = queue.schedule(Punctuation(None, 0, 10, once))
    called(queue, 5)
    called(queue, 50)
    assert times == [5]
