"""The context managers of `producer.transaction()`: they commit at the end and abort after an exception."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Generic, Protocol, TypeVar

from kafkapy.errors import KafkaError, KafkaTimeoutError

log = logging.getLogger("kafkapy.producer")


class BlockingVerbs(Protocol):
    def begin_transaction(self) -> None: ...
    def commit_transaction(self) -> None: ...
    def abort_transaction(self) -> None: ...


class AwaitedVerbs(Protocol):
    def begin_transaction(self) -> Awaitable[None]: ...
    def commit_transaction(self) -> Awaitable[None]: ...
    def abort_transaction(self) -> Awaitable[None]: ...


B = TypeVar("B", bound=BlockingVerbs)
A = TypeVar("A", bound=AwaitedVerbs)


def _may_be_aborted(error: BaseException) -> bool:
    """Return whether the transaction may be aborted after this error of a commit. After a time-out it may be committed
    already."""
    return isinstance(error, KafkaError) and not isinstance(error, KafkaTimeoutError)


def _note(failure: KafkaError) -> None:
    """Log a failed abort: the caller gets the original exception instead. (A fenced producer can't abort, either.)"""
    log.info("A transaction that has failed could not be aborted: %s", failure)


class BlockingTransaction(Generic[B]):
    """Commits or aborts on exit. Exceptions propagate, also those of the commit; the transaction is aborted first, if
    possible."""

    def __init__(self, producer: B) -> None:
        self._producer = producer

    def __enter__(self) -> B:
        self._producer.begin_transaction()
        return self._producer

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            self._abort()
            return
        try:
            self._producer.commit_transaction()
        except BaseException as failed:
            if _may_be_aborted(failed):
                self._abort()
            raise

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction()
        except KafkaError as failure:
            _note(failure)


class TransactionContext(Generic[A]):
    """The same with `async with`."""

    def __init__(self, producer: A) -> None:
        self._producer = producer

    async def __aenter__(self) -> A:
        await self._producer.begin_transaction()
        return self._producer

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            await self._abort()
            return
        try:
            await self._producer.commit_transaction()
        except BaseException as failed:
            if _may_be_aborted(failed):
                await self._abort()
            raise

    async def _abort(self) -> None:
        try:
            await self._producer.abort_transaction()
        except KafkaError as failure:
            _note(failure)
