"""A request that was drawn, for both brokers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct
from system_tests.beside_apache.draw import Member
from system_tests.beside_apache.side import Appended, Side


@dataclass(frozen=True)
class Question:
    """`ask` is the request, or makes it from what a side calls things; nothing is drawn any more when it does.

    - `member`: who asks, on a connection of its own; None: anybody, on the connection of that name.
    - `about`: on whose standing in the group the answer tells something; `member`, if that is given.
    - `may_wait`: the answer may stay away until others ask something (JoinGroup, SyncGroup).
    - `one_way`: there is no answer, at most a hang-up (Produce with acks=0).
    - `repeats`: it changes nothing, and is asked again for a while if the answers differ: what was changed before may
      reach one broker's caches later than the other's.
    - `transactional_id`: whose producer the answer names (InitProducerId), or whose transaction it ends.
    - `appends`: what a Produce request in a transaction brings.
    - `pause`: seconds until that what it changes is known (dynamic configs reach a broker through ZooKeeper).
    """

    api: ApiKey
    version: int
    ask: Message | Callable[[Side], Message]
    connection: str = "anybody"
    member: Member | None = None
    about: Member | None = None
    may_wait: bool = False
    one_way: bool = False
    repeats: bool = False
    transactional_id: str | None = None
    appends: Appended | None = None
    pause: float = 0

    @property
    def connection_name(self) -> str:
        return str(self.member) if self.member else self.connection

    @property
    def group(self) -> str:
        return self.member.group if self.member else ""

    def request(self, side: Side) -> Message:
        message = self.ask if isinstance(self.ask, Message) else self.ask(side)
        _fit(message, self.version)
        return message


_EMPTY = {"string": "", "bytes": b"", "records": None}


def _fit(message: Struct, version: int) -> None:
    """Set back what the version does not have, so that operations may draw the fields of all versions."""
    for field in type(message).FIELDS:
        value = getattr(message, field.name)
        if not field.versions.includes(version):
            setattr(message, field.name, getattr(type(message)(), field.name))
        elif value is None and not field.nullable.includes(version) and field.tag is None:
            setattr(message, field.name, [] if field.element_type else _EMPTY[field.type])
        else:
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, Struct):
                    _fit(inner, version)
