"""The threads of an instance (in Kafka they are part of `KafkaStreams`)."""

from __future__ import annotations

import threading

from kafkapy.streams.runtime.stream_thread import StreamThread
from kafkapy.streams.runtime.thread_factory import StreamThreadFactory


class StreamThreads:
    """Threads by number, their states, the memory of the record cache, and the paused flag.

    Invariants: numbers begin with 1, and a new thread has the lowest free one; `_states` has only threads of
    `_threads`. Any thread may call; callers hold the instance's lock for changes, except for `share_cache`.

    Args:
        factory: Creates threads.
        cache_size: Bytes of the record cache, of all threads together.
    """

    def __init__(self, factory: StreamThreadFactory, cache_size: int) -> None:
        self._factory = factory
        self._cache_size = cache_size
        self._threads: dict[int, StreamThread] = {}
        self._states: dict[StreamThread, str] = {}
        self._is_paused = False

    def all(self) -> list[StreamThread]:
        """Return the threads in the order of creation."""
        return list(self._threads.values())

    def add(self) -> StreamThread:
        """Create a thread without starting it."""
        number = next(number for number in range(1, len(self._threads) + 2) if number not in self._threads)
        return self._make(number, 0)

    def replace(self, thread: StreamThread, error_code: int) -> StreamThread:
        """Create a thread, without starting it, with the number of an ended one.

        Args:
            thread: The ended thread.
            error_code: Error code for the group with the first join; 0: none.
        """
        number = next(number for number, one in self._threads.items() if one is thread)
        self.forget(thread)
        return self._make(number, error_code)

    def removable(self) -> StreamThread | None:
        """Return the thread to remove: one that is not the calling thread; None if there is no other."""
        others = [thread for thread in self._threads.values() if thread is not threading.current_thread()]
        return others[-1] if others else None

    def forget(self, thread: StreamThread) -> bool:
        """Remove an ended thread; return False if it was not present."""
        self._states.pop(thread, None)
        number = next((number for number, one in self._threads.items() if one is thread), 0)
        return self._threads.pop(number, None) is not None

    def share_cache(self) -> None:
        """Divide the memory of the record cache among the threads.

        The caller must not hold the instance's lock: threads acquire it while they hold the lock of their tasks, which
        this method acquires.
        """
        size = self._cache_size // max(1, len(self._threads))
        for thread in self.all():
            with thread.tasks.lock:
                thread.tasks.cache.resize(size)

    def pause(self, paused: bool) -> None:
        """Pause all threads, or resume them."""
        self._is_paused = paused
        for thread in self._threads.values():
            thread.tasks.is_paused = paused

    def set_state(self, thread: StreamThread, state: str) -> None:
        """Set the state that a thread has reported."""
        if thread in self._threads.values():
            self._states[thread] = state

    def are_running(self) -> bool:
        """Return whether there are threads, and all of them are running."""
        states = [self._states.get(thread) for thread in self._threads.values()]
        return bool(states) and set(states) == {"RUNNING"}

    def _make(self, number: int, error_code: int) -> StreamThread:
        thread = self._threads[number] = self._factory.make(number, error_code)
        thread.tasks.is_paused = self._is_paused
        return thread
