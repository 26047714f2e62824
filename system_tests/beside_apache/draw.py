"""Random numbers, and the names and numbers of which requests are made."""

from __future__ import annotations

import random
from enum import Enum
from typing import NamedTuple, TypeVar

from kafkapy.protocol.api_keys import ApiKey

T = TypeVar("T")

TOPICS = ("t0", "t1", "t2", "t3", "t4")
"""Those that exist from the start; records are deleted only from the first three."""
UNCUT_TOPICS = TOPICS[3:]
MORE_TOPICS = ("a.b", "a_b", "long" + "x" * 200)
STRANGE_TOPICS = ("", "..", ".", "x" * 250, "bad/name", "bad name", "ü")
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state")
SLOTS = ("m0", "m1", "m2", "m3")
GROUPS_AT_A_TIME = 2
LOG_BEGIN_MS = 1_600_000_000_000
"""All records' timestamps come soon after that: years ago, so that they are told from times of now."""


class Phase(Enum):
    """How far a member has come in its group, by the last answer that it got."""

    OUTSIDE = "outside"
    JOINED = "joined"
    SYNCED = "synced"


class Member(NamedTuple):
    """Somebody who may join a group; each has a connection of its own, since JoinGroup may wait there for long."""

    slot: str
    group: str

    def __str__(self) -> str:
        return f"{self.slot}-of-{self.group}"


class Draw(random.Random):
    """Draws. It is seeded anew for each step, so that a step is the same however many numbers those before it took.

    `groups` are those that are asked about at present, `retired` those that no longer are, `members` those who have been
    given a member id, `phases` how far they have come; `sequences` has the next sequence number by producer id, topic and
    partition, if all went well.
    """

    def __init__(self) -> None:
        super().__init__()
        self.groups = [f"g{number}" for number in range(GROUPS_AT_A_TIME)]
        self.retired: set[str] = set()
        self.members: list[Member] = []
        self.phases: dict[Member, Phase] = {}
        self.sequences: dict[tuple[int, str, int], int] = {}

    def retire(self, group: str) -> None:
        """Ask no more about this group; a new one takes its place."""
        if group in self.groups:
            self.groups[self.groups.index(group)] = f"g{len(self.groups) + len(self.retired)}"
            self.retired.add(group)
            self.members = [member for member in self.members if member.group != group]
            self.phases = {member: phase for member, phase in self.phases.items() if member.group != group}

    def add_member(self, member: Member) -> None:
        if member not in self.members and member.group in self.groups:
            self.members.append(member)

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def one_of(self, *values: T) -> T:
        """One of the values; a value that is there twice is twice as likely."""
        return self.choice(values)

    def version(self, api: ApiKey) -> int:
        return self.randint(api.min_version, api.max_version)

    # ------------------------------------------------------------------------------------------------ names

    def topic(self) -> str:
        """Any name, of topics that exist or not, or that cannot exist."""
        return self.choice(INTERNAL_TOPICS) if self.chance(0.03) else self.users_topic()

    def users_topic(self) -> str:
        """The same but for internal ones, in which each broker writes what it likes."""
        return self.choice(TOPICS + MORE_TOPICS) if self.chance(0.87) else self.choice(STRANGE_TOPICS)

    def existing_topic(self) -> str:
        """Nearly always one that exists; never an internal one."""
        return self.choice(TOPICS) if self.chance(0.95) else self.users_topic()

    def topics(self, most: int = 2) -> list[str]:
        """Different ones, mostly one: Apache keeps many requests' topics in maps."""
        return sorted({self.existing_topic() for _ in range(self.one_of(*[1] * most, most))})

    def partition(self) -> int:
        return self.one_of(0, 0, 0, 0, 1, 1, 2, 2, 3, 5, -1)

    def partitions(self) -> list[int]:
        """Different ones, one or two: Apache keeps many requests' partitions in maps."""
        return sorted({self.partition() for _ in range(2)})

    def group(self) -> str:
        return self.choice(self.groups) if self.chance(0.93) else self.one_of("", "nope")

    def new_member(self) -> Member:
        """Of a group that can be retired should the brokers' groups part, or of the one that cannot be."""
        return Member(self.choice(SLOTS), self.choice(self.groups) if self.chance(0.95) else "")

    def member(self) -> Member:
        """Mostly one who has a member id."""
        return self.choice(self.members) if self.members and self.chance(0.85) else self.new_member()
