"""The threads that an instance has (Kafka keeps them in `KafkaStreams` itself)."""

from __future__ import annotations

import threading

from kafkapy.streams.runtime.stream_thread import StreamThread
from kafkapy.streams.runtime.thread_factory import StreamThreadFactory


class StreamThreads:
    """Threads by number, their states, and what they share: the record cache's memory, and whether they are paused.

    Invariants: numbers begin with 1, and a new thread has the lowest one that is free; `_states` has threads of `_threads` alone.
    Any thread may call; changes are made with the instance's lock, except by `share_cache`.

    Args:
        factory: Makes them.
        cache_size: Bytes of the record cache, of all threads together.
    """

    def __init__(self, factory: StreamThreadFactory, cache_size: int) -> None:
        self._factory = factory
        self._cache_size = cache_size
        self._threads: dict[int, StreamThread] = {}
        self._states: dict[StreamThread, str] = {}
        self._is_paused = False

    def all(self) -> list[StreamThread]:
        """The threads, in the order in which they were made."""
        return list(self._threads.values())

    def add(self) -> StreamThread:
        """One more, which is not started."""
        number = next(number for number in range(1, len(self._threads) + 2) if number not in self._threads)
        return self._make(number, 0)

    def replace(self, thread: StreamThread, error_code: int) -> StreamThread:
        """A new thread, not started, with the number of one that has ended.

        Args:
            thread: The one that has ended.
            error_code: What the group is told with the first join; 0: nothing.
        """
        number = next(number for number, one in self._threads.items() if one is thread)
        self.forget(thread)
        return self._make(number, error_code)

    def removable(self) -> StreamThread | None:
        """The thread that goes if there is to be one less: not the calling one; None if there is no other."""
        others = [thread for thread in self._threads.values() if thread is not threading.current_thread()]
        return others[-1] if others else None

    def forget(self, thread: StreamThread) -> bool:
        """Take out a thread that has ended; False: it was not there."""
        self._states.pop(thread, None)
        number = next((number for number, one in self._threads.items() if one is thread), 0)
        return self._threads.pop(number, None) is not None

    def share_cache(self) -> None:
        """Give each thread its part of the memory of the record cache.

        The instance's lock is not held: threads take it while they hold the lock of their tasks, which is taken here.
        """
        size = self._cache_size // max(1, len(self._threads))
        for thread in self.all():
            with thread.tasks.lock:
                thread.tasks.cache.resize(size)

    def pause(self, paused: bool) -> None:
        """Let all threads process nothing, or go on."""
        self._is_paused = paused
        for thread in self._threads.values():
            thread.tasks.is_paused = paused

    def set_state(self, thread: StreamThread, state: str) -> None:
        """A thread has reported its state."""
        if thread in self._threads.values():
            self._states[thread] = state

    def are_running(self) -> bool:
        """Whether there are threads, and all of them run."""
        states = [self._states.get(thread) for thread in self._threads.values()]
        return bool(states) and set(states) == {"RUNNING"}

    def _make(self, number: int, error_code: int) -> StreamThread:
        thread = self._threads[number] = self._factory.make(number, error_code)
        thread.tasks.is_paused = self._is_paused
        return thread
