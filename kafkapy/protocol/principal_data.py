"""A principal inside an Envelope request, after an int16 version."""

from __future__ import annotations

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import boolean, string


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    type: str = string()
    name: str = string()
    token_authenticated: bool = boolean()
