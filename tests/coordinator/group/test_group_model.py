"""Clients that join, sync, leave, crash and come back as they like, under a log that fails and a clock that jumps.

Whatever they do: no request is answered twice or forgotten, nobody gets an assignment of another generation or member, the
group's own books agree, and when the clients behave again the group settles.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.group_state import ClassicGroupState
from kafkapy.protocol.errors import Errors
from tests.coordinator.group.group_harness import Harness, Reply, subscription

SESSION = 10_000
REBALANCE = 20_000

FRESH_START = {Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_INSTANCE_ID, Errors.GROUP_MAX_SIZE_REACHED}
KEEP_ID = {
    Errors.NONE,
    Errors.REBALANCE_IN_PROGRESS,
    Errors.ILLEGAL_GENERATION,
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
}


class Client:
    """A consumer: it knows its id, its generation, and the request it waits for."""

    def __init__(self, name: str, static: bool) -> None:
        self.name = name
        self.instance = name if static else None
        self.protocols = [("range", subscription("t"))]
        self.reset()

    def reset(self) -> None:
        self.member_id = ""
        self.generation = -1
        self.members: list[str] | None = None
        self.synced = False
        self.join: Reply | None = None
        self.sync: Reply | None = None

    @property
    def busy(self) -> bool:
        return self.join is not None or self.sync is not None

    @property
    def joined(self) -> bool:
        return self.generation >= 0

    def lost(self, error: Errors) -> None:
        """The generation is over for this client."""
        assert error in FRESH_START | KEEP_ID, error
        self.generation, self.members, self.synced = -1, None, False
        if error in FRESH_START:
            self.member_id = ""


class Groups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.h = Harness(config=GroupConfig(max_size=7))
        self.clients = [
            Client("a", False),
            Client("b", False),
            Client("c", True),
            Client("d", True),
            Client("e", False),
        ]
        self.epoch = 1
        self.forgotten: list[Reply] = []

    # ------------------------------------------------------------------------------------------------ what clients do

    def do_join(self, client: Client, version: int = 9) -> None:
        client.join = self.h.join(
            client.member_id,
            version=version,
            instance=client.instance,
            protocols=client.protocols,
            session=SESSION,
            rebalance=REBALANCE,
        )
        client.generation, client.synced = -1, False
        self.read_answers()

    def do_sync(self, client: Client) -> None:
        assignment = {name: f"{client.generation}:{name}".encode() for name in client.members or ()}
        client.sync = self.h.sync(client.member_id, client.generation, assignment, instance=client.instance)
        self.read_answers()

    def do_heartbeat(self, client: Client) -> None:
        error = self.h.heartbeat(client.member_id, client.generation, instance=client.instance)
        if error is not Errors.NONE:
            client.lost(error)

    def read_answers(self) -> None:
        for client in self.clients:
            if client.join is not None and client.join.done:
                self.read_join(client, client.join)
            elif client.sync is not None and client.sync.done:
                self.read_sync(client, client.sync)

    def read_join(self, client: Client, reply: Reply) -> None:
        client.join = None
        response = reply.response
        if reply.error is Errors.MEMBER_ID_REQUIRED:
            assert client.instance is None
            client.member_id = response.member_id
        elif reply.error is Errors.NONE:
            client.member_id = response.member_id
            client.generation = response.generation_id
            is_leader = response.leader == client.member_id
            client.members = [m.member_id for m in response.members] if is_leader else None
            assert not response.members or client.member_id in (client.members or ())
        else:
            client.lost(reply.error)

    def read_sync(self, client: Client, reply: Reply) -> None:
        client.sync = None
        if reply.error is not Errors.NONE:
            client.lost(reply.error)
            return
        client.synced = True
        given = reply.response.assignment.decode()
        if given:
            generation, _, owner = given.partition(":")
            assert int(generation) == client.generation
            # A static member goes on with what was assigned to its former id.
            assert owner == client.member_id or owner.startswith(f"{client.instance}-")

    def well_behaved_second(self, clients: list[Client]) -> None:
        self.h.advance(1_000)
        self.read_answers()
        for client in clients:
            if client.busy:
                continue
            if not client.joined:
                self.do_join(client)
            elif not client.synced:
                self.do_sync(client)
            else:
                self.do_heartbeat(client)

    # ------------------------------------------------------------------------------------------------ rules

    who = st.integers(0, 4)
    some = st.sets(who, min_size=1)

    @rule(some=some, version=st.sampled_from([3, 5, 9]), change=st.booleans())
    def join(self, some: set[int], version: int, change: bool) -> None:
        for client in (self.clients[who] for who in sorted(some)):
            if not client.busy:
                if change:
                    client.protocols = [("range", subscription("t", str(len(client.protocols[0][1]))))]
                self.do_join(client, version if client.instance is None else max(version, 5))

    @rule(some=some)
    def sync(self, some: set[int]) -> None:
        for client in (self.clients[who] for who in sorted(some)):
            if client.joined and not client.busy:
                self.do_sync(client)

    @rule(some=some)
    def heartbeat(self, some: set[int]) -> None:
        for client in (self.clients[who] for who in sorted(some)):
            if client.joined and not client.busy:
                self.do_heartbeat(client)

    @rule(who=who)
    def commit(self, who: int) -> None:
        client = self.clients[who]
        if client.joined and not client.busy:
            self.forgotten.append(
                self.h.start_commit({("t", who): 1}, client.member_id, client.generation, instance=client.instance)
            )

    @rule(who=who)
    def leave(self, who: int) -> None:
        client = self.clients[who]
        if client.member_id:
            self.h.leave_group((client.member_id, client.instance) if client.instance else client.member_id)
            self.read_answers()
            if not client.busy:
                client.lost(Errors.UNKNOWN_MEMBER_ID)

    @rule(who=who)
    def crash(self, who: int) -> None:
        client = self.clients[who]
        self.forgotten += [reply for reply in (client.join, client.sync) if reply is not None]
        client.reset()

    @rule(some=some, late=st.booleans())
    def all_join(self, some: set[int], late: bool) -> None:
        """Bring a group to the point where it waits for its assignment."""
        for who in sorted(some):
            if not self.clients[who].busy:
                self.do_join(self.clients[who])
                if self.clients[who].member_id and not self.clients[who].busy:
                    self.do_join(self.clients[who])
        self.h.advance(REBALANCE if late else 6_000)
        self.read_answers()

    @rule(some=some, seconds=st.integers(1, 8))
    def behave(self, some: set[int], seconds: int) -> None:
        for _ in range(seconds):
            self.well_behaved_second([self.clients[who] for who in some])

    @rule(ms=st.sampled_from([1, 1_000, 3_000, 6_000, SESSION, REBALANCE, 60_000]))
    def wait(self, ms: int) -> None:
        self.h.advance(ms)
        self.read_answers()

    @rule(error=st.sampled_from([Errors.NONE, Errors.NONE, Errors.NOT_ENOUGH_REPLICAS, Errors.REQUEST_TIMED_OUT]))
    def log_error(self, error: Errors) -> None:
        self.h.log.error = error

    @rule(hold=st.booleans(), error=st.sampled_from([Errors.NONE, Errors.NOT_LEADER_OR_FOLLOWER]))
    def log_delay(self, hold: bool, error: Errors) -> None:
        self.h.log.hold = hold
        if not hold:
            self.h.log.release(error)
            self.read_answers()

    @rule(gone_ms=st.sampled_from([0, 1_000, 20_000]))
    def move(self, gone_ms: int) -> None:
        """The group's partition goes to another broker and comes back."""
        partition = self.h.coordinator.partition_for("group")
        self.epoch += 2
        self.h.coordinator.on_resignation(partition, self.epoch)
        self.read_answers()
        self.h.advance(gone_ms)
        self.h.coordinator.on_election(partition, self.epoch + 1)

    # ------------------------------------------------------------------------------------------------ what must hold

    @invariant()
    def books_agree(self) -> None:
        group = self.h.coordinator.groups.get("group")
        if group is None:
            return
        members, timers = group.members, self.h.timers
        ids = {member.member_id for member in members}
        assert members.num_awaiting_join == sum(m.awaiting_join is not None for m in members)
        assert (members.leader_id in ids) if members else members.leader_id is None
        assert members.pending_sync <= ids
        assert not ids & members.pending
        assert all(members[name].member_id == name for name in ids)
        static = {m.group_instance_id: m.member_id for m in members if m.group_instance_id is not None}
        assert {name: members.static_member_id(name) for name in static} == static
        assert members.num_static == sum(m.is_static for m in members)
        assert timers("rebalance") == ({""} if group.is_in(ClassicGroupState.PREPARING_REBALANCE) else set())
        assert timers("sync") == ({""} if members.pending_sync else set())
        assert timers("pending member") == members.pending
        assert timers("heartbeat") <= ids
        if group.is_in(ClassicGroupState.EMPTY) or group.is_in(ClassicGroupState.DEAD):
            assert not members
        if group.is_in(ClassicGroupState.STABLE):
            assert members.select_protocol() == group.protocol_name
            assert all(m.awaiting_sync is None for m in members)
        for member in members:
            quiet = member.is_awaiting and not member.is_new
            assert quiet or member.member_id in timers("heartbeat")

    def teardown(self) -> None:
        """The log heals, the clients behave: they settle in one Stable generation, and nothing is left unanswered."""
        self.h.log.error = Errors.NONE
        self.h.log.hold = False
        self.h.log.release()
        alive = self.clients[:4]
        if self.clients[4].member_id and not self.clients[4].busy:
            self.leave(4)
        for _ in range(200):
            self.well_behaved_second(alive)
            self.books_agree()
        assert self.h.state() == "Stable"
        assert len({client.generation for client in alive}) == 1
        assert all(client.synced and not client.busy for client in alive)
        assert all(reply.done for reply in self.forgotten)
        assert {m.member_id for m in self.h.group().members} == {client.member_id for client in alive}


Groups.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestGroups = Groups.TestCase
