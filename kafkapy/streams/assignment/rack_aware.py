"""Moves tasks to instances that are in the racks of their partitions (KIP-925; Kafka's `RackAwareTaskAssignor`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import Final, NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.client_state import ClientState
from kafkapy.streams.assignment.min_cost_flow import FlowGraph
from kafkapy.streams.assignment.task_id import ProcessId, TaskId

NONE: Final = "none"
MIN_TRAFFIC: Final = "min_traffic"
BALANCE_SUBTOPOLOGY: Final = "balance_subtopology"

_SOURCE: Final = -1
_STANDBY_ROUNDS: Final = 4

Clients = Mapping[ProcessId, ClientState]
TasksOf = Callable[[ClientState], set[TaskId]]
CanMove = Callable[[ClientState, ClientState, TaskId], bool]


class Costs(NamedTuple):
    """The weights of an assignment's costs.

    Attributes:
        traffic: Cost of each partition without a replica in the rack of the task's instance.
        non_overlap: Cost of each task that is moved from its previous instance.
    """

    traffic: int
    non_overlap: int


STATELESS_COSTS: Final = Costs(1, 0)


class Racks(NamedTuple):
    """The racks of instances and partitions.

    Attributes:
        of_process: The rack of each instance.
        of_partition: The racks with a replica of each partition.
        partitions: The source partitions of each task.
        changelogs: The changelog partitions of each task.
    """

    of_process: Mapping[ProcessId, str]
    of_partition: Mapping[TopicPartition, Collection[str]]
    partitions: Mapping[TaskId, Collection[TopicPartition]]
    changelogs: Mapping[TaskId, Collection[TopicPartition]]

    def cost(self, task: TaskId, process: ProcessId, costs: Costs, *, stays: bool, is_standby: bool) -> int:
        """Return the cost of a task on an instance."""
        rack = self.of_process[process]
        partitions = self.changelogs[task] if is_standby else self.partitions[task]
        remote = sum(rack not in self.of_partition[partition] for partition in partitions)
        return costs.traffic * remote + (0 if stays else costs.non_overlap)


def client_racks(racks_of_members: Mapping[ProcessId, Iterable[str | None]]) -> dict[ProcessId, str] | None:
    """Return the rack of each instance; None if one has none, or members of one instance have different racks.

    Args:
        racks_of_members: The `client.rack` of each instance's members.
    """
    found: dict[ProcessId, str] = {}
    for process, racks in racks_of_members.items():
        said = set(racks)
        rack = said.pop() if len(said) == 1 else None
        if not rack:
            return None
        found[process] = rack
    return found


def optimize_active(clients: Clients, tasks: Sequence[TaskId], racks: Racks, strategy: str, costs: Costs) -> int:
    """Exchange active tasks between instances to minimize the total cost; each instance keeps its number of tasks.

    Args:
        clients: By ascending process id; the tasks are assigned.
        tasks: The movable tasks, in order.
        racks: The racks of instances and partitions.
        strategy: `MIN_TRAFFIC` or `BALANCE_SUBTOPOLOGY`.
        costs: The weights.

    Returns:
        The total cost.
    """
    if not tasks:
        return 0
    exchange = _Exchange(clients, tasks, racks, costs, lambda client: client.active, is_standby=False)
    graph = exchange.min_traffic() if strategy == MIN_TRAFFIC else exchange.balance_subtopology()
    graph.find_least_cost()
    exchange.move(graph)
    return graph.total_cost()


def optimize_standbys(clients: Clients, racks: Racks, costs: Costs, can_move: CanMove) -> None:
    """Exchange standby tasks between pairs of instances in different racks.

    Args:
        clients: By ascending process id; the tasks are assigned.
        racks: The racks of instances and partitions.
        costs: The weights.
        can_move: Returns whether a standby task may move from one instance to another.
    """

    def movable(source: ClientState, destination: ClientState) -> list[TaskId]:
        tasks = (task for task in source.standby if not destination.has(task))
        return [task for task in tasks if can_move(source, destination, task)]

    processes = list(clients)
    for _ in range(_STANDBY_ROUNDS):
        moved = False
        for number, one in enumerate(processes):
            for other in processes[number + 1 :]:
                if racks.of_process[one] == racks.of_process[other]:
                    continue
                there = movable(clients[one], clients[other])
                back = movable(clients[other], clients[one])
                if there and back:
                    pair = {one: clients[one], other: clients[other]}
                    moved |= _exchange_standbys(pair, sorted(there + back), racks, costs)
        if not moved:
            return


def _exchange_standbys(pair: Clients, tasks: Sequence[TaskId], racks: Racks, costs: Costs) -> bool:
    exchange = _Exchange(pair, tasks, racks, costs, lambda client: client.standby, is_standby=True)
    graph = exchange.min_traffic()
    graph.find_least_cost()
    return exchange.move(graph)


class _Exchange:
    """One optimization: tasks are nodes from 0 on, instances are nodes after them.

    Invariant: `_order` has the tasks by their nodes, and `_base` the number of the first node of a task's instances.
    """

    def __init__(
        self,
        clients: Clients,
        tasks: Sequence[TaskId],
        racks: Racks,
        costs: Costs,
        tasks_of: TasksOf,
        *,
        is_standby: bool,
    ) -> None:
        self._clients = clients
        self._racks = racks
        self._costs = costs
        self._tasks_of = tasks_of
        self._is_standby = is_standby
        self._processes = list(clients)
        self._order = sorted(tasks)
        self._base = dict.fromkeys(tasks, len(tasks))
        self._owner = {
            task: process for task in tasks for process, client in clients.items() if task in tasks_of(client)
        }
        self._counts = Counter(self._owner.values())

    def min_traffic(self) -> FlowGraph:
        """Build the graph: edges from tasks to instances with the present assignment as flow, and from each instance
        to the sink with its number of tasks as capacity."""
        first = len(self._order)
        sink = first + len(self._processes)
        graph = FlowGraph(_SOURCE, sink)
        for node, task in enumerate(self._order):
            for number, process in enumerate(self._processes):
                graph.add(node, first + number, 1, self._cost(task, process), int(self._owner[task] == process))
            graph.add(_SOURCE, node, 1, 0, 1)
        for number, process in enumerate(self._processes):
            count = self._counts[process]
            graph.add(first + number, sink, count, 0, count)
        return graph

    def balance_subtopology(self) -> FlowGraph:
        """Build the graph like `min_traffic`, but limit each instance to its share of each sub-topology."""
        groups = sorted({task.subtopology for task in self._order})
        count, size = len(self._order), len(self._processes)
        last = count + size * len(groups)
        graph = FlowGraph(_SOURCE, last + size)
        for group_number, group in enumerate(groups):
            members = [(node, task) for node, task in enumerate(self._order) if task.subtopology == group]
            base = count + size * group_number
            for number, process in enumerate(self._processes):
                for node, task in members:
                    self._base[task] = base
                    graph.add(node, base + number, 1, self._cost(task, process), 0)
                part = ceil(self._counts[process] * 1.0 / count * len(members))
                graph.add(base + number, last + number, part, 0, 0)
        for node in range(count):
            graph.add(_SOURCE, node, 1, 0, 0)
        for number, process in enumerate(self._processes):
            graph.add(last + number, last + size, self._counts[process], 0, 0)
        flow = graph.find_greatest_flow()
        if flow != count:
            raise ValueError(f"max flow calculated: {flow} doesn't match taskSize: {count}")
        return graph

    def move(self, graph: FlowGraph) -> bool:
        """Assign tasks according to the flow; return whether one has moved."""
        moved = False
        for node, task in enumerate(self._order):
            for edge in graph.edges(node):
                process = self._processes[edge.destination - self._base[task]] if edge.flow > 0 else self._owner[task]
                if process != self._owner[task]:
                    self._tasks_of(self._clients[self._owner[task]]).remove(task)
                    self._tasks_of(self._clients[process]).add(task)
                    moved = True
        return moved

    def _cost(self, task: TaskId, process: ProcessId) -> int:
        stays = task in self._tasks_of(self._clients[process])
        return self._racks.cost(task, process, self._costs, stays=stays, is_standby=self._is_standby)
