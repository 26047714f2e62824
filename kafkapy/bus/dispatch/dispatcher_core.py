"""The dispatcher, on any loop: fetch records, handle many in parallel, commit what is done.

At least once: records pass through the lanes continuously, and offsets that are done are committed periodically.
Exactly once: in rounds; all records of a poll are handled, then the handlers' outputs and the offsets go into one
transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from kafkapy.bus.audit_counters import AUDIT_TOPIC
from kafkapy.bus.audit_topic import ensure_audit_topic
from kafkapy.bus.client_options import AUDIT_INTERVAL_S
from kafkapy.bus.dispatch.attempts import Attempts, Outcome, Stopping
from kafkapy.bus.dispatch.dead_letters import DeadLetter, dead_letter
from kafkapy.bus.dispatch.handlers import EventHandlers
from kafkapy.bus.dispatch.lanes import Lanes, Work
from kafkapy.bus.dispatch.metrics import DispatcherMetrics
from kafkapy.bus.dispatch.options import DispatcherOptions
from kafkapy.bus.dispatch.runtime import Flag, Runtime
from kafkapy.bus.errors import DispatcherFailedError
from kafkapy.bus.outbox import Outbox, Outgoing
from kafkapy.common.time import SystemTime, Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import InvalidProducerEpochError, ProducerFencedError
from kafkapy.serializer import LookUpFirst

_log = logging.getLogger("kafkapy.bus")
_POLL_MS = 200.0


class DispatcherCore:
    """The loop of a dispatcher.

    Invariant: an offset is committed only when every record before it in its partition was handled, ignored, or
    delivered to the dead-letter topic, and the outputs of the handlers were delivered.
    """

    def __init__(
        self,
        runtime: Runtime,
        handlers: EventHandlers,
        outbox: Outbox,
        options: DispatcherOptions,
        consumer_options: Mapping[str, Any],
        producer_options: Mapping[str, Any],
        time: Time | None = None,
    ) -> None:
        self.options = options
        self.metrics = DispatcherMetrics()
        self._runtime = runtime
        self._handlers = handlers
        self._outbox = outbox
        self._time = SystemTime() if time is None else time
        transactional = {} if options.transactional_id is None else {"transactional_id": options.transactional_id}
        self._producer_options = producer_options
        self._audit_due_ms = self._time.monotonic_ms() + AUDIT_INTERVAL_S * 1000
        self._commit_due_ms = 0.0
        self._source = runtime.source(consumer_options)
        self._sink = runtime.sink({**producer_options, **transactional})
        self._lanes = Lanes()
        self._stopping: Flag = runtime.flag()
        self._idle: Flag = runtime.flag()
        self._failure: BaseException | None = None
        self.ended = False
        self._ends: dict[TopicPartition, int] = {}
        """End offsets of a replay: records from there on are not handled."""
        self._aborted = 0
        """Serializes the transactions."""
        self._paused = False
        self._attempts = Attempts(runtime, handlers, options, self.metrics, self._time, self._stopping)
        self._round: list[tuple[list[Outgoing], DeadLetter | None]] = []

    def stop(self) -> None:
        """Make `run` end when the records that are being handled are done."""
        self._stopping.set()

    async def run(self, topics: list[str] | None = None, *, until_end: bool = False) -> None:
        """Run until `stop`, or, with `until_end`, until all records that existed at the start are done.

        Raises DispatcherFailedError, and errors of the clients; records that were not handled are not committed.
        """
        wanted = self._handlers.topics if topics is None else topics
        if not wanted:
            raise DispatcherFailedError("The dispatcher has no handlers: put @dispatcher.on(EventClass) before some")
        exactly_once = self.options.transactional_id is not None
        try:
            await self._sink.start(transactional=exactly_once)
            await self._source.start(wanted, self)
            step = self._round_step if exactly_once else self._step
            while not self._stopping.is_set and self._failure is None:
                if until_end and not self._ends:
                    self._ends = await self._source.end_offsets()
                await step()
                if self._ends and await self._reached(self._ends):
                    break
        finally:
            self.ended = True
            await self._end()
        if self._failure is not None:
            raise DispatcherFailedError(
                f"The dispatcher of {self.options.group} has stopped: {self._failure}"
            ) from self._failure

    # ----------------------------------------------------------------------------------------------------- at least once

    async def _step(self) -> None:
        self._pause_if_full()
        for partition, records in (await self._source.poll(_POLL_MS)).items():
            self._take(partition, records)
        self._start_ready()
        await self._commit()
        await self._write_audit()

    def _take(self, partition: TopicPartition, records: list[Any]) -> None:
        end = self._ends.get(partition)
        if end is not None:
            records = [record for record in records if record.offset < end]
        for record in records:
            self._lanes.add(partition, record.offset, None if record.key is None else bytes(record.key), record)
        self.metrics.received += len(records)

    def _pause_if_full(self) -> None:
        """Stop fetching while the queue is full."""
        full = self._lanes.queued + self._lanes.running >= self.options.max_queued
        if full:
            self._source.pause()  # repeated, since partitions may have been assigned since
        elif self._paused:
            self._source.resume()
        self._paused = full

    def _start_ready(self) -> None:
        while self._lanes.running < self.options.max_parallel and not self._stopping.is_set:
            work = self._lanes.next()
            if work is None:
                break
            self._runtime.spawn(self._process(work))
        self.metrics.queued, self.metrics.running = self._lanes.queued, self._lanes.running

    async def _process(self, work: Work) -> None:
        """Handle one record completely."""
        handled = False
        try:
            outcome = await self._attempts.handle(work.record)
            await self._deliver_outcome(work.record, outcome)
            handled = True
        except Stopping:
            pass
        except Exception as error:
            self._fail(error)
        finally:
            self._lanes.finished(work, handled=handled)
            if not self._lanes.running:
                self._idle.set()
            self._start_ready()

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            _log.error("The dispatcher of %s stops: %s", self.options.group, error)
            self._failure = error
        self._stopping.set()

    async def _deliver_outcome(self, record: Any, outcome: Outcome) -> None:
        """Deliver a record's outputs or dead letter; retried without limit. Raises Stopping."""
        letter = self._letter(record, outcome)
        outgoing = [await self._prepared(output) for output in outcome.outputs]
        if self.options.transactional_id is not None:
            self._round.append((outgoing, letter))
            return
        for each in outgoing:
            await self._deliver(
                each[:5], f"what the handler gave for offset {record.offset} of {record.topic}-{record.partition}"
            )
            self._outbox.settled(each, None)
            self.metrics.outputs += 1
        if letter is not None:
            await self._deliver(
                tuple(letter), f"the dead letter of offset {record.offset} of {record.topic}-{record.partition}"
            )
            self.metrics.dead_lettered += 1

    def _letter(self, record: Any, outcome: Outcome) -> DeadLetter | None:
        if outcome.reason is None or outcome.error is None:
            return None
        to = self.options.dead_letters_of(record.topic)
        if outcome.reason == "unreadable":
            _log.warning(
                "%s-%d, offset %d goes to %s: %s", record.topic, record.partition, record.offset, to, outcome.error
            )
        now = self._time.milliseconds()
        return dead_letter(record, to, self.options.group, outcome.reason, outcome.error, outcome.attempts, now)

    async def _prepared(self, event: Any) -> Outgoing:
        while True:
            try:
                return self._outbox.prepare(event)
            except LookUpFirst as needed:
                look_up = partial(self._runtime.in_thread, needed.look_up)
                await self._retry_until_done(look_up, f"the schema of {type(event).__name__}")

    async def _deliver(self, arguments: tuple[Any, ...], what: str) -> None:
        await self._retry_until_done(lambda: self._sink.send(*arguments), what)

    async def _retry_until_done(self, act: Callable[[], Any], what: str) -> None:
        """Send a record, and retry without limit: the input record is not done before. Raises Stopping."""
        attempt = 1
        while True:
            try:
                await act()
                return
            except Exception as error:
                _log.warning("Attempt %d: %s cannot be had or sent now: %s", attempt, what, error)
                await self._attempts.pause(attempt)
                attempt += 1

    # ------------------------------------------------------------------------------------------------------ exactly once

    async def _round_step(self) -> None:
        found = await self._source.poll(_POLL_MS)
        await self._write_audit()
        if not found:
            return
        self._round.clear()
        for partition, records in found.items():
            self._take(partition, records)
        await self._until_idle(None)
        if self._stopping.is_set or self._failure is not None:
            return
        offsets = self._lanes.to_commit()
        sends: list[tuple[Any, ...]] = [tuple(each[:5]) for outgoing, _ in self._round for each in outgoing]
        letters = [letter for _, letter in self._round if letter is not None]
        sends += [tuple(letter) for letter in letters]
        try:
            await self._sink.transaction(sends, offsets, self._source.group_metadata())
        except Exception as error:
            self.metrics.aborted_transactions += 1
            _log.warning(
                "The transaction of %s was aborted; its events are handled again: %s", self.options.group, error
            )
            if isinstance(error, (ProducerFencedError, InvalidProducerEpochError)):
                self._fail(error)  # another dispatcher uses the transactional id now
                return
            self._lanes.forget()
            await self._source.back_to_committed()
            self._aborted += 1
            await self._stopping.wait(self.options.retries.pause_s(self._aborted))
            return
        self._aborted = 0
        self._lanes.committed(offsets)
        self.metrics.transactions += 1
        self.metrics.dead_lettered += len(letters)
        for outgoing, _ in self._round:
            self.metrics.outputs += len(outgoing)
            for each in outgoing:
                self._outbox.settled(each, None)

    async def _until_idle(self, timeout_s: float | None) -> bool:
        """Wait until no record is being handled and, unless the dispatcher stops, none is ready."""
        end = None if timeout_s is None else self._time.monotonic_ms() + timeout_s * 1000
        while True:
            self._start_ready()
            if not self._lanes.running:
                return True
            self._idle = self._runtime.flag()
            left = 1.0 if end is None else (end - self._time.monotonic_ms()) / 1000
            if end is not None and left <= 0:
                return False
            await self._idle.wait(min(left, 1.0))

    # -------------------------------------------------------------------------------------------------------- the audit

    async def _write_audit(self, *, closed: bool = False) -> None:
        """Write the counters of events sent for handlers, as `Bus` does."""
        at = self._time.monotonic_ms()
        if not closed and at < self._audit_due_ms:
            return
        self._audit_due_ms = at + AUDIT_INTERVAL_S * 1000
        records = self._outbox.audit(closed=closed)
        try:
            if records:
                await self._runtime.in_thread(partial(ensure_audit_topic, self._producer_options))
            sends: list[tuple[Any, ...]] = [(AUDIT_TOPIC, each.encode(), each.key, [], each.at) for each in records]
            if self.options.transactional_id is None:
                for send in sends:
                    await self._sink.send(*send)
            elif sends:
                await self._sink.transaction(sends, {}, None)
        except Exception as error:
            _log.warning(
                "The counters of %s cannot be written to %s now: %s", self._outbox.producer_id, AUDIT_TOPIC, error
            )
            for record in records:
                self._outbox.audit_failed(record)

    # ---------------------------------------------------------------------------------------------- commits, coming and going

    async def _commit(self, partitions: Collection[TopicPartition] | None = None, *, now: bool = False) -> None:
        """Commit offsets that are done, if the interval has passed. A commit that fails is repeated the next time."""
        at = self._time.monotonic_ms()
        if not now and at < self._commit_due_ms:
            return
        self._commit_due_ms = at + self.options.commit_interval_s * 1000
        offsets = self._lanes.to_commit(partitions)
        if not offsets:
            return
        try:
            await self._source.commit(offsets)
        except Exception as error:
            self.metrics.failed_commits += 1
            _log.warning("The offsets of %s cannot be committed now: %s", self.options.group, error)
        else:
            self.metrics.commits += 1
            self._lanes.committed(offsets)

    async def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Let running handlers end, so that the next owner of the partitions does not handle the same keys at the
        same time."""
        if self.options.transactional_id is None:
            self._lanes.drop_queued(partitions)
            end = self._time.monotonic_ms() + self.options.revoke_timeout_s * 1000
            while self._lanes.running_in(partitions) and self._time.monotonic_ms() < end:
                await self._runtime.sleep(0.01)
            await self._commit(partitions, now=True)
        self._lanes.forget(partitions)

    async def lost(self, partitions: Collection[TopicPartition]) -> None:
        self._lanes.forget(partitions)

    async def _reached(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Are all records below these offsets done?"""
        if self._lanes.queued or self._lanes.running:
            return False
        for partition, end in ends.items():
            position = await self._source.position(partition)
            if position is None or position < end:
                return False
        return True

    async def _end(self) -> None:
        """Let running handlers end, commit, disconnect."""
        self._stopping.set()
        self._lanes.drop_queued()
        try:
            if not await self._until_idle(self.options.stop_timeout_s):
                _log.warning(
                    "%d handlers of %s have not ended within %g s; their events come again",
                    self._lanes.running,
                    self.options.group,
                    self.options.stop_timeout_s,
                )
            if self.options.transactional_id is None:
                await self._commit(now=True)
            await self._write_audit(closed=True)
            self._lanes.forget()  # leave the group without waiting for handlers
        finally:
            self._runtime.cancel_spawned()
            try:
                await self._source.stop()
            finally:
                await self._sink.stop()
