"""A dispatcher's runtime on Twisted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from twisted.internet import reactor as global_reactor
from twisted.internet.defer import CancelledError, Deferred, DeferredList, ensureDeferred
from twisted.internet.defer import TimeoutError as DeferredTimeoutError
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from kafkapy import tx
from kafkapy.bus.dispatch.daemon_threads import DaemonThreads
from kafkapy.bus.dispatch.runtime import Offsets, RecordSink, RecordSource, with_metadata

T = TypeVar("T")
_reactor: Any = global_reactor


class TxFlag:
    def __init__(self) -> None:
        self.is_set = False
        self._waiting: list[Deferred[None]] = []

    def set(self) -> None:
        self.is_set = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)

    async def wait(self, seconds: float) -> bool:
        if self.is_set:
            return True
        happened: Deferred[None] = Deferred(self._forget)
        self._waiting.append(happened)
        happened.addTimeout(max(seconds, 0.0), _reactor)
        try:
            await happened
        except DeferredTimeoutError:
            return False
        return True

    def _forget(self, deferred: Deferred[None]) -> None:
        if deferred in self._waiting:
            self._waiting.remove(deferred)


class TxRuntime:
    """Make it for the global reactor."""

    def __init__(self) -> None:
        self._spawned: set[Deferred[None]] = set()
        self._threads = DaemonThreads("handlers")

    def source(self, options: Mapping[str, Any]) -> TxSource:
        return TxSource(tx.KafkaConsumer(**options))

    def sink(self, options: Mapping[str, Any]) -> TxSink:
        return TxSink(tx.KafkaProducer(**options))

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        deferred = ensureDeferred(coroutine)
        self._spawned.add(deferred)
        deferred.addErrback(_unless_cancelled)
        deferred.addBoth(lambda _: self._spawned.discard(deferred))

    def cancel_spawned(self) -> None:
        for deferred in list(self._spawned):
            deferred.cancel()

    async def sleep(self, seconds: float) -> None:
        await deferLater(_reactor, seconds)

    async def within(self, seconds: float, awaitable: Awaitable[T]) -> T:
        deferred: Deferred[T] = ensureDeferred(_awaited(awaitable))
        deferred.addTimeout(seconds, _reactor)
        return await _timed(deferred)

    async def in_thread(self, function: Callable[[], T], timeout_s: float | None = None) -> T:
        deferred: Deferred[T] = Deferred()

        def settle(outcome: Any) -> None:
            if not deferred.called:
                deferred.callback(outcome)

        def work() -> None:
            outcome: Any
            try:
                outcome = function()
            except BaseException:
                outcome = Failure()  # type: ignore[no-untyped-call]
            _reactor.callFromThread(settle, outcome)

        self._threads.run(work)
        if timeout_s is not None:
            deferred.addTimeout(timeout_s, _reactor)
        return await _timed(deferred)

    def flag(self) -> TxFlag:
        return TxFlag()

    def close(self) -> None:
        self._threads.close()


def _unless_cancelled(failure: Failure) -> None:
    failure.trap(CancelledError)  # type: ignore[no-untyped-call]


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


async def _timed(deferred: Deferred[T]) -> T:
    try:
        return await deferred
    except DeferredTimeoutError as error:
        raise TimeoutError(str(error)) from error


class TxSource(RecordSource):
    async def back_to_committed(self) -> None:
        for partition in self._consumer.assignment():
            offset = await self._consumer.committed(partition)
            if offset is not None:
                self._consumer.seek(partition, offset)
            elif self._consumer.config["auto_offset_reset"] == "earliest":
                self._consumer.seek_to_beginning(partition)
            else:
                self._consumer.seek_to_end(partition)


class TxSink(RecordSink):
    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: list[tuple[str, bytes | None]],
        timestamp_ms: int,
    ) -> None:
        await self._producer.send(topic, value, key=key, headers=headers, timestamp_ms=timestamp_ms)

    async def transaction(self, sends: list[tuple[Any, ...]], offsets: Offsets, group_metadata: Any) -> None:
        producer = self._producer
        await producer.begin_transaction()
        try:
            deliveries = [
                producer.send(topic, value, key=key, headers=headers, timestamp_ms=timestamp_ms)
                for topic, value, key, headers, timestamp_ms in sends
            ]
            results: Any = await DeferredList(deliveries, consumeErrors=True)
            for succeeded, result in results:
                if not succeeded:
                    raise result.value
            if offsets:
                await producer.send_offsets_to_transaction(with_metadata(offsets), group_metadata)
        except BaseException:
            await producer.abort_transaction()
            raise
        await producer.commit_transaction()
