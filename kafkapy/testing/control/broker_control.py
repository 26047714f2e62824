"""The commands ("orders") that a test can send to a broker that it has started, and the broker hooks that they use."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from kafkapy.protocol.errors import Errors
from kafkapy.runtime.clock import Clock
from kafkapy.server.hooks import BuiltBroker, Handle, Hooks
from kafkapy.testing.control.emptying import Emptying
from kafkapy.testing.control.full_disk import FullDisk
from kafkapy.testing.control.garbage_count import GarbageCount
from kafkapy.testing.control.movable_clock import MovableClock
from kafkapy.testing.control.ordered_answers import OrderedAnswers
from kafkapy.testing.control.server_end import OrderError, ServerEnd
from kafkapy.testing.control.wire import ControlEnd
from kafkapy.zk.session_closer import Session

CLIENTS = "CLIENTS"
"""The clients' listener. Brokers use another one among themselves, so that faults affect clients only."""


class BrokerControl(Hooks):
    """Executes orders on the reactor thread. Those that need the built broker fail until it has reported `ready`."""

    def __init__(self, reactor: Any, end: ControlEnd) -> None:
        self._reactor = reactor
        self._clock = MovableClock(reactor)
        self._answers = OrderedAnswers(CLIENTS, reactor)
        self._broker: BuiltBroker | None = None
        self._emptying: Emptying | None = None
        self._disk: FullDisk | None = None
        self._garbage = GarbageCount()
        self._end = ServerEnd(reactor, end, self._orders())

    def _orders(self) -> dict[str, Callable[..., object]]:
        return {
            "stop": self._reactor.stop,
            "advance": self._advance,
            "back_to_present": self._clock.back_to_present,
            "answer_with": self._answers.answer_with,
            "delay": self._answers.delay,
            "answer_as_usual": self._answers.clear,
            "cut": self._cut,
            "restore_connections": self._restore_connections,
            "fill_disk": self._fill_disk,
            "empty_disk": self._empty_disk,
            "rebalance": self._rebalance,
            "stop_following": lambda: self._empties.stop_following(),
            "empty": lambda: self._empties.empty(),
            "follow": lambda: self._empties.follow(),
            "write_checkpoints": self._write_checkpoints,
            "begin_garbage_count": self._garbage.begin,
            "count_unreachable": self._garbage.unreachable,
            "count_alive": self._garbage.alive,
            "count_memory": self._garbage.memory,
            "end_garbage_count": self._garbage.end,
        }

    # ------------------------------------------------------------------------------------------------ the broker's hooks

    def clock(self, reactor: Any) -> MovableClock:
        return self._clock

    def built(self, broker: BuiltBroker) -> None:
        self._broker = broker
        self._emptying = Emptying(broker.core)
        self._disk = FullDisk(broker.core.log_manager.live_log_dirs)
        broker.sockets.now = self._clock.seconds

    def handler(self, handle: Handle) -> Handle:
        return self._answers.before(handle)

    def zk_session(self, session: Session | None) -> None:
        line = None if session is None else base64.b64encode(session.to_line()).decode()
        self._reactor.callFromThread(self._end.tell, "session", line=line)

    # ------------------------------------------------------------------------------------------------ start and stop

    def open(self) -> None:
        self._end.open()

    def started(self) -> None:
        self._end.tell("ready")

    def failed(self, why: str) -> None:
        self._end.tell("failed", why=why)

    # ------------------------------------------------------------------------------------------------ orders

    @property
    def _parts(self) -> BuiltBroker:
        if self._broker is None:
            raise OrderError("the broker has not started yet")
        return self._broker

    @property
    def _empties(self) -> Emptying:
        if self._emptying is None:
            raise OrderError("the broker has not started yet")
        return self._emptying

    async def _advance(self, ms: int) -> None:
        """Advance the clock; return when all timers due by then have run, on the reactor and in the background
        pool."""
        if ms < 0:
            raise OrderError(f"a broker's clock does not go back; advance by {ms} ms is not possible")
        clock: Clock = self._clock
        self._clock.advance(ms)
        await clock.yield_now()
        while not self._is_pool_idle():
            await clock.yield_now()

    def _is_pool_idle(self) -> bool:
        pool = self._reactor.getThreadPool()
        return not pool.working and not pool._team.statistics().backloggedWorkCount

    def _cut(self) -> int:
        """Close all client connections, and new ones until `restore_connections`; return how many were open."""
        return self._parts.sockets.cut_off(CLIENTS)

    def _restore_connections(self) -> None:
        self._parts.sockets.restore_listener(CLIENTS)

    def _fill_disk(self) -> None:
        assert self._parts is not None and self._disk is not None
        self._disk.fill()

    def _empty_disk(self) -> None:
        assert self._parts is not None and self._disk is not None
        self._disk.empty()

    def _rebalance(self, group: str) -> bool:
        """Rebalance a group; return False if another broker coordinates it."""
        error = self._parts.core.group_coordinator.rebalance(group, "a test has ordered it")
        if error is Errors.NOT_COORDINATOR:
            return False
        if error is not Errors.NONE:
            raise OrderError(f"group {group!r} can't rebalance: {error.name}")
        return True

    async def _write_checkpoints(self) -> None:
        await self._clock.in_thread(self._empties.write_checkpoints)
