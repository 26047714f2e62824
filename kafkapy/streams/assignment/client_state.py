"""The leader's state of an instance during an assignment (Kafka's `ClientState`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.subscription_info import LATEST_OFFSET, UNKNOWN_OFFSET_SUM
from kafkapy.streams.assignment.task_id import ProcessId, TaskId


class ClientState:
    """An instance's previous tasks, the lags of its stores, and its new tasks.

    Invariants: no task is in both `active` and `standby`; `lags` has exactly the stateful tasks of the topology.

    Args:
        process_id: Process id of the instance.
        tags: Its client tags.

    Attributes:
        capacity: Number of its members (threads).
        previous_active: Its previous active tasks.
        previous_standby: Its previous standby tasks.
        lags: The changelog records that the instance lacks, for each stateful task; `LATEST_OFFSET`: it runs the task.
        followup_rebalance_ms: Time at which one of its members is to rejoin; None: no rejoin needed.
    """

    def __init__(self, process_id: ProcessId, tags: Mapping[str, str] | None = None) -> None:
        self.process_id = process_id
        self.tags = dict(tags or {})
        self.capacity = 0
        self.active: set[TaskId] = set()
        self.standby: set[TaskId] = set()
        self.previous_active: set[TaskId] = set()
        self.previous_standby: set[TaskId] = set()
        self.lags: dict[TaskId, int] = {}
        self.followup_rebalance_ms: int | None = None
        self._offset_sums: dict[TaskId, int] = {}
        self._owned: dict[TopicPartition, str] = {}
        """The previous owner (member) of each partition."""
        self._tasks_of_member: dict[str, set[TaskId]] = {}
        """Stateful tasks that a member had, active or standby."""

    # --- before -----------------------------------------------------------------------------------------------------------

    def add_member(self, member: str, owned: Iterable[TopicPartition], offset_sums: Mapping[TaskId, int]) -> None:
        """Add a member of the instance with its previous partitions and offset sums."""
        self.capacity += 1
        self._owned.update(dict.fromkeys(owned, member))
        self._offset_sums.update(offset_sums)
        self._tasks_of_member[member] = set(offset_sums)

    def learn_previous_tasks(self, task_of: Mapping[TopicPartition, TaskId]) -> None:
        """Derive the previous tasks from the members' partitions and offset sums, after all members were added."""
        self.previous_active = {task_of[partition] for partition in self._owned if partition in task_of}
        for task, offset in self._offset_sums.items():
            if task not in self.previous_active:
                (self.previous_active if offset == LATEST_OFFSET else self.previous_standby).add(task)

    def compute_lags(self, end_offset_sums: Mapping[TaskId, int]) -> None:
        """Compute the lag of each stateful task from the sums of its changelogs' end offsets."""
        for task, end in end_offset_sums.items():
            has = self._offset_sums.get(task, 0)
            if has in (LATEST_OFFSET, UNKNOWN_OFFSET_SUM):
                self.lags[task] = has
            else:
                # An offset sum above the end means an invalid store: the task would be restored from the start.
                self.lags[task] = end - has if end >= has else end

    def previous_owner(self, partition: TopicPartition) -> str | None:
        """Return the member that previously owned the partition."""
        return self._owned.get(partition)

    def previous_tasks_by_lag(self, member: str) -> list[TaskId]:
        """Return the stateful tasks that a member had, by ascending lag."""
        tasks = (task for task in self._tasks_of_member.get(member, ()) if task in self.lags)
        return sorted(tasks, key=lambda task: (self.lags[task], task))

    # --- now --------------------------------------------------------------------------------------------------------------

    @property
    def task_count(self) -> int:
        return len(self.active) + len(self.standby)

    @property
    def active_load(self) -> float:
        """Active tasks per thread."""
        return len(self.active) / self.capacity

    @property
    def load(self) -> float:
        """Active and standby tasks per thread."""
        return self.task_count / self.capacity

    def has(self, task: TaskId) -> bool:
        return task in self.active or task in self.standby

    def assign_active(self, task: TaskId) -> None:
        self._check_new(task)
        self.active.add(task)

    def assign_standby(self, task: TaskId) -> None:
        self._check_new(task)
        self.standby.add(task)

    def stateful_active(self) -> Collection[TaskId]:
        return {task for task in self.active if task in self.lags}

    def stateless_active(self) -> Collection[TaskId]:
        return {task for task in self.active if task not in self.lags}

    def _check_new(self, task: TaskId) -> None:
        if self.has(task):
            raise ValueError(f"Tried to assign task {task}, but it is already assigned to {self.process_id}")

    def __repr__(self) -> str:
        active, standby = (sorted(map(str, tasks)) for tasks in (self.active, self.standby))
        return f"[activeTasks: {active} standbyTasks: {standby} capacity: {self.capacity}]"
