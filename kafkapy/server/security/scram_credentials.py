"""The SCRAM users of /config/users, in memory (Kafka's `CredentialCache`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafkapy.common.sanitizer import desanitize
from kafkapy.security.scram import SCRAM_HASHES, ScramCredential, ScramFormatError, parse_credential

log = logging.getLogger("kafkapy.server.KafkaServer")


class ScramCredentials:
    """Credentials by mechanism and user. On the reactor thread.

    Invariant: a user has the credentials that were applied last; an unreadable one is treated as missing.
    """

    def __init__(self) -> None:
        self._by_mechanism: dict[str, dict[str, ScramCredential]] = {mechanism: {} for mechanism in SCRAM_HASHES}

    def __repr__(self) -> str:
        return f"ScramCredentials({ {name: len(users) for name, users in self._by_mechanism.items()} })"

    def apply(self, entity: str, configs: Mapping[str, str]) -> None:
        """Apply all configs of an entity below /config/users; `entity`: its sanitized path."""
        if "/" in entity:  # a client of a user has only quotas
            return
        user = desanitize(entity)
        for mechanism, users in self._by_mechanism.items():
            users.pop(user, None)
            if mechanism in configs:
                try:
                    users[user] = parse_credential(configs[mechanism])
                except ScramFormatError as problem:
                    log.error("The %s credential of user %s cannot be read: %s", mechanism, user, problem)

    def credential_of(self, mechanism: str, user: str) -> ScramCredential | None:
        return self._by_mechanism[mechanism].get(user)
