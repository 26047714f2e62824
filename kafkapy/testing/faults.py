"""The faults of a cluster: of single brokers, given by number, and of the whole cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.testing.broker_process import BrokerProcess
from kafkapy.testing.server_process import ClusterError
from kafkapy.testing.waiting import wait_until

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

MOVE_SECONDS = 120.0


class ClusterClock:
    """Advances the clocks of all brokers, so that retention, timeouts and delayed answers need no waiting."""

    def __init__(self, cluster: Faults) -> None:
        self._cluster = cluster

    def advance(self, seconds: float | timedelta) -> None:
        """Advance the clocks. Returns when all timers due by then have run, each once even if its period has passed
        several times."""
        if isinstance(seconds, timedelta):
            seconds = seconds.total_seconds()
        self._cluster.order_all("advance", ms=round(seconds * 1000))


class Faults:
    """The fault methods. `broker` is a broker's number; it is optional in a cluster of one."""

    brokers: list[BrokerProcess]

    def __init__(self) -> None:
        self.clock = ClusterClock(self)

    @property
    def admin(self) -> AdminClient:
        raise NotImplementedError

    def broker(self, number: int | None = None) -> BrokerProcess:
        """Return a broker.

        Args:
            number: Number of the broker, from 0. None (default): the only one.
        """
        if number is None:
            if len(self.brokers) != 1:
                raise ValueError(f"say which broker: 0 to {len(self.brokers) - 1}")
            number = 0
        if not 0 <= number < len(self.brokers):
            raise ValueError(f"there is no broker {number}: the cluster has {len(self.brokers)}, from 0 on")
        return self.brokers[number]

    def _these(self, number: int | None) -> list[BrokerProcess]:
        return list(self.brokers) if number is None else [self.broker(number)]

    def order_all(self, order: str, **arguments: object) -> list[Any]:
        """Send an order to all running brokers at the same time; return the results.

        Args:
            order: Name of the order.
            arguments: Its arguments.
        """
        running = [broker for broker in self.brokers if broker.is_running]
        numbers = [broker.send(order, **arguments) for broker in running]
        return [broker.answer(number) for broker, number in zip(running, numbers, strict=True)]

    # ------------------------------------------------------------------------------------------------ processes

    def pause(self, broker: int | None = None) -> None:
        """Stop the process (SIGSTOP): connections stay open without answers, until `resume`.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        self.broker(broker).pause()

    def resume(self, broker: int | None = None) -> None:
        """Continue the process after `pause`.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        self.broker(broker).resume()

    @contextmanager
    def paused(self, broker: int | None = None) -> Iterator[None]:
        """Pause a broker for the time of a `with` block.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        self.pause(broker)
        try:
            yield
        finally:
            self.resume(broker)

    def kill(self, broker: int | None = None) -> None:
        """Kill the process (SIGKILL). `restart` starts it again with its port and its data.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        self.broker(broker).kill()

    def restart(self, broker: int | None = None) -> None:
        """Start the broker again; if it runs, after a controlled shutdown.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        self.broker(broker).restart()

    # ------------------------------------------------------------------------------------------------ connections and answers

    @contextmanager
    def cut(self, broker: int | None = None) -> Iterator[None]:
        """Reset existing and new client connections, to one broker or to all, in the `with` block.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        with ExitStack() as cut:
            for each in self._these(broker):
                cut.enter_context(each.cut())
            yield

    def cut_once(self, broker: int | None = None) -> int:
        """Reset all client connections once and return how many were open; clients may reconnect at once.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        count = 0
        for each in self._these(broker):
            count += each.cut_off()
            each.restore_connections()
        return count

    def delay(
        self, seconds: float, api: str | None = None, times: int | None = None, broker: int | None = None
    ) -> None:
        """Delay the answers to clients, by the brokers' clock: for one API (`"FETCH"`) or all, `times` times at each
        broker, or until `heal`.

        Args:
            seconds: The delay, in seconds.
            api: Name of the API. None (default): all.
            times: How often. None (default): until `heal`.
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        for each in self._these(broker):
            each.delay(seconds, api, times)

    def answer_with(self, api: str, error: str, times: int | None = 1, broker: int | None = None) -> None:
        """Answer the next `times` client requests for this API (`"PRODUCE"`) at each broker with this error
        (`"NOT_LEADER_OR_FOLLOWER"`). The requests change nothing.

        Args:
            api: Name of the API.
            error: Name of the error.
            times: How often. Default 1; None: until `heal`.
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        for each in self._these(broker):
            each.answer_with(api, error, times)

    def expire_session(self, broker: int | None = None) -> None:
        """Expire the broker's ZooKeeper session: the broker leaves the cluster and registers again.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        self.broker(broker).expire_session()

    # ------------------------------------------------------------------------------------------------ disks

    def fill_disk(self, broker: int | None = None) -> None:
        """Simulate a full disk. The broker ends with the next write, as any broker does whose only log directory
        fails.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        self.broker(broker).fill_disk()

    def empty_disk(self, broker: int | None = None) -> None:
        """End the simulated full disk; start a broker that has ended.

        Args:
            broker: Number of the broker, from 0. None (default): the only one, or all where that makes sense.
        """
        each = self.broker(broker)
        each.empty_disk()
        each.heal()

    # ------------------------------------------------------------------------------------------------ leaders and groups

    def leader(self, topic: str, partition: int = 0) -> int:
        """Return the number of the partition's leader; -1 if it has none.

        Args:
            topic: Name of the topic.
            partition: Partition number. Default 0.
        """
        from kafkapy.admin.results import values_of

        described = values_of(self.admin.describe_topics([topic]))[topic]
        return described.partitions[partition].leader_id

    def move_leader(self, topic: str, partition: int = 0, to: int | None = None) -> int:
        """Make another replica (`to`, or the next one) the partition's leader; return its number.

        Args:
            topic: Name of the topic.
            partition: Partition number. Default 0.
            to: Number of the broker. None (default): the next replica.
        """
        from kafkapy.admin.results import values_of
        from kafkapy.common.wire_enums import ElectionType

        name = TopicPartition(topic, partition)
        state = values_of(self.admin.describe_topics([topic]))[topic].partitions[partition]
        replicas = list(state.replicas)
        if to is None:
            others = [replica for replica in state.isr if replica != state.leader_id]
            if not others:
                raise ClusterError(f"{name} has no other replica in sync that could lead it: {replicas}")
            to = others[0]
        elif to not in replicas:
            raise ValueError(f"broker {to} is no replica of {name}; its replicas are {replicas}")
        replicas.remove(to)
        values_of(self.admin.alter_partition_reassignments({name: [to, *replicas]}))
        self.admin.elect_leaders(ElectionType.PREFERRED, [name])
        wait_until(lambda: self.leader(topic, partition) == to, MOVE_SECONDS, lambda: f"broker {to} leads {name}")
        return to

    def rebalance(self, group: str) -> None:
        """Make all members of a group rejoin.

        Args:
            group: The group's id.
        """
        if not any(self.order_all("rebalance", group=group)):
            raise ClusterError(f"no broker coordinates group {group!r}")

    # ------------------------------------------------------------------------------------------------ back to the start

    def heal(self) -> None:
        """Undo every fault: all brokers run, answer normally and have disk space; their wall clocks show the real
        time."""
        for broker in self.brokers:
            broker.heal()

    def reset(self) -> None:
        """Delete all records, groups, committed offsets and transactions, and undo all faults. Offsets start at 0;
        topics and their configs stay.

        Running consumers keep their old positions: close clients before, or use new groups.
        """
        self.heal()
        if len(self.brokers) > 1:
            self.order_all("stop_following")
        if any(self.order_all("empty")):
            self.order_all("write_checkpoints")
        if len(self.brokers) > 1:
            self.order_all("follow")
