"""A member of a group as a state machine: what it is, and what each answer of the coordinator means.

No I/O and no clock in here; `GroupMember` sends the requests and obeys the verdicts.

    UNJOINED --join--> JOINING --joined--> SYNCING --synced--> STABLE
    from anywhere: --rejoin--> UNJOINED (the member id stays), --lost--> UNJOINED (the generation goes), --left--> UNJOINED
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kafkapy.protocol.errors import Errors

NO_GENERATION_ID = -1


class MembershipState(Enum):
    """Kafka's `MemberState`: UNJOINED, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE."""

    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"
    LEAVING = "leaving"


class Event(Enum):
    JOIN = "a JoinGroup goes out"
    JOINED = "the group has a new generation, and the member is in it"
    SYNCED = "the member has its assignment"
    FAILED = "the rebalance failed and starts anew"
    RESET = "the coordinator does not know the generation or the member"
    LEAVE = "a LeaveGroup goes out"
    LEFT = "the member is out"


_TRANSITIONS: dict[tuple[MembershipState, Event], MembershipState] = {
    (MembershipState.UNJOINED, Event.JOIN): MembershipState.JOINING,
    (MembershipState.STABLE, Event.JOIN): MembershipState.JOINING,
    (MembershipState.JOINING, Event.JOINED): MembershipState.SYNCING,
    (MembershipState.SYNCING, Event.SYNCED): MembershipState.STABLE,
    (MembershipState.JOINING, Event.FAILED): MembershipState.UNJOINED,
    (MembershipState.SYNCING, Event.FAILED): MembershipState.UNJOINED,
    (MembershipState.LEAVING, Event.LEFT): MembershipState.UNJOINED,
    **{
        (state, Event.RESET): MembershipState.UNJOINED
        for state in MembershipState
        if state is not MembershipState.LEAVING
    },
    **{(state, Event.LEAVE): MembershipState.LEAVING for state in MembershipState},
}
"""Any other pair changes nothing: an answer to a request of an earlier state."""


class Generation(NamedTuple):
    """The member's id and the group's generation in which it is a member (Kafka's `Generation`)."""

    id: int = NO_GENERATION_ID
    member_id: str = ""
    protocol: str | None = None

    @property
    def valid(self) -> bool:
        return self.id >= 0


NO_GENERATION = Generation()


class Api(Enum):
    """The requests whose errors change the membership."""

    JOIN = "JoinGroup"
    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"


class Verdict(Enum):
    OK = "go on"
    RETRY = "the same again, after a pause"
    AGAIN = "join again, at once"
    FIND_COORDINATOR = "look the coordinator up, then the same again"
    RESET_GENERATION = "forget the generation, keep the member id, join again"
    RESET_MEMBER = "forget both, join again"
    FATAL = "tell the user"


_COORDINATOR_GONE = {
    Errors.COORDINATOR_NOT_AVAILABLE: Verdict.FIND_COORDINATOR,
    Errors.NOT_COORDINATOR: Verdict.FIND_COORDINATOR,
}
_NOT_KNOWN = {Errors.UNKNOWN_MEMBER_ID: Verdict.RESET_MEMBER, Errors.ILLEGAL_GENERATION: Verdict.RESET_GENERATION}

_VERDICTS: dict[Api, dict[Errors, Verdict]] = {
    Api.JOIN: {
        **_COORDINATOR_GONE,
        Errors.COORDINATOR_LOAD_IN_PROGRESS: Verdict.RETRY,
        Errors.REBALANCE_IN_PROGRESS: Verdict.RETRY,
        Errors.UNKNOWN_MEMBER_ID: Verdict.RESET_MEMBER,
        Errors.MEMBER_ID_REQUIRED: Verdict.AGAIN,
    },
    Api.SYNC: {**_COORDINATOR_GONE, **_NOT_KNOWN, Errors.REBALANCE_IN_PROGRESS: Verdict.AGAIN},
    Api.HEARTBEAT: {**_COORDINATOR_GONE, **_NOT_KNOWN, Errors.REBALANCE_IN_PROGRESS: Verdict.AGAIN},
}


class GroupMembership:
    """The member's state.

    Invariant: the generation is valid in SYNCING and STABLE; `rejoin_needed` is set whenever the state is not STABLE,
    except after the member left.
    """

    def __init__(self) -> None:
        self.state = MembershipState.UNJOINED
        self.generation = NO_GENERATION
        self.rejoin_needed = True
        self.rejoin_reason = ""

    @property
    def heartbeats(self) -> bool:
        """Does the coordinator expect heartbeats? While the member joins, the JoinGroup counts as one."""
        return self.state in (MembershipState.SYNCING, MembershipState.STABLE)

    @property
    def stable_generation(self) -> Generation:
        """The generation in which the member has an assignment; NO_GENERATION between two generations."""
        return self.generation if self.state is MembershipState.STABLE else NO_GENERATION

    def on(self, event: Event) -> bool:
        """Apply an event; False if it has no meaning in this state (any more)."""
        state = _TRANSITIONS.get((self.state, event))
        if state is None:
            return False
        self.state = state
        return True

    def request_rejoin(self, reason: str) -> None:
        self.rejoin_needed = True
        self.rejoin_reason = reason

    def joined(self, generation: Generation) -> bool:
        if not self.on(Event.JOINED):
            return False
        self.generation = generation
        return True

    def synced(self, sent: Generation) -> bool:
        """The SyncGroup sent with this generation succeeded; False if the member was removed since the join."""
        if sent != self.generation or not self.on(Event.SYNCED):
            return False
        self.rejoin_needed = False
        self.rejoin_reason = ""
        return True

    def given_id(self, member_id: str) -> None:
        """Take the member id with which the coordinator wants a new member to join again (KIP-394)."""
        self.generation = Generation(member_id=member_id)
        self.on(Event.FAILED)
        self.request_rejoin(f"need to re-join with the given member-id: {member_id}")

    def left(self, reason: str) -> None:
        """The member has left of its own accord. `reason`: sent with a later JoinGroup."""
        self.generation = NO_GENERATION
        self.on(Event.LEFT)
        self.request_rejoin(reason)

    def reset(self, reason: str, keep_member_id: bool = False) -> None:
        """The member is out of the group, without a LeaveGroup."""
        self.generation = Generation(member_id=self.generation.member_id) if keep_member_id else NO_GENERATION
        self.on(Event.RESET)
        self.request_rejoin(reason)

    def judge(self, api: Api, error: Errors, sent: Generation) -> Verdict:
        """The meaning of an error; the state is changed accordingly. `sent`: the generation of the request."""
        if error is Errors.NONE:
            return Verdict.OK
        verdict = _VERDICTS[api].get(error, Verdict.FATAL)
        current = sent == self.generation
        if verdict in (Verdict.RESET_GENERATION, Verdict.RESET_MEMBER):
            if current:
                self.reset(f"encountered {error.name} from {api.value} response", verdict is Verdict.RESET_GENERATION)
            elif api is Api.HEARTBEAT:
                return Verdict.OK  # an answer about an earlier generation
        elif verdict is Verdict.AGAIN and api is Api.HEARTBEAT:
            if self.state is not MembershipState.STABLE:
                return Verdict.OK  # the member is joining already
            self.request_rejoin("group is already rebalancing")
        elif error is Errors.FENCED_INSTANCE_ID and api is Api.HEARTBEAT:
            if not current:
                return Verdict.OK
            self.reset("another member has this group.instance.id")
        if api is not Api.HEARTBEAT:
            self.on(Event.FAILED)
        return verdict
