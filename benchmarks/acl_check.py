"""What one check of an ACL costs with 10,000 ACLs: `python -m benchmarks.acl_check`."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from kafkapy.common.acl_types import (
    AccessControlEntry,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.security.acl import acl_index
from kafkapy.security.acl.acl_index import AclIndex
from kafkapy.security.principal import KafkaPrincipal

ACLS = 10_000
CHECKS = 100_000


def random_index(chance: random.Random) -> AclIndex:
    """500 principals, half of the ACLs for prefixes, one of twenty denies."""
    acls: dict[AclPattern, list[AccessControlEntry]] = {}
    for _ in range(ACLS):
        prefixed = chance.random() < 0.5
        name = f"team-{chance.randrange(500)}." + ("" if prefixed else f"topic-{chance.randrange(50)}")
        kind = ACLResourcePatternType.PREFIXED if prefixed else ACLResourcePatternType.LITERAL
        permission = ACLPermissionType.DENY if chance.random() < 0.05 else ACLPermissionType.ALLOW
        operation = chance.choice([ACLOperation.READ, ACLOperation.WRITE, ACLOperation.ALL, ACLOperation.DESCRIBE])
        entry = AccessControlEntry(f"User:u{chance.randrange(500)}", "*", operation, permission)
        acls.setdefault(AclPattern(ResourceType.TOPIC, name, kind), []).append(entry)
    return AclIndex(acls)


def mean_us(
    function: Callable[..., object], asked: list[tuple[KafkaPrincipal, str, ACLOperation, ResourceType, str]]
) -> float:
    """CPU time of one call in the mean, in the best of five rounds: other programs do not count."""
    rounds = []
    for _ in range(5):
        start = time.process_time()
        for arguments in asked:
            function(*arguments)
        rounds.append((time.process_time() - start) / len(asked) * 1e6)
    return min(rounds)


def main() -> None:
    chance = random.Random(1)
    index = random_index(chance)
    users = [KafkaPrincipal("User", f"u{number}") for number in range(500)]
    names = [f"team-{chance.randrange(500)}.topic-{chance.randrange(50)}" for _ in range(2_000)]
    asked = [
        (chance.choice(users), "10.0.0.1", ACLOperation.READ, ResourceType.TOPIC, chance.choice(names))
        for _ in range(CHECKS)
    ]
    print(f"decided anew: {mean_us(index._decide, asked):.2f} us")
    few = [(user, host, operation, kind, names[0]) for user, host, operation, kind, _ in asked]
    index.decide(*few[0])
    mean_us(index.decide, few)
    print(f"kept: {mean_us(index.decide, few):.2f} us")
    print(
        f"100,000 different ones of which {acl_index.MAX_DECISIONS:,} are kept: {mean_us(index.decide, asked):.2f} us"
    )
    start = time.perf_counter()
    for number in range(200):
        pattern = AclPattern(ResourceType.TOPIC, f"new-{number}")
        index = index.changed(
            {pattern: [AccessControlEntry("User:u1", "*", ACLOperation.READ, ACLPermissionType.ALLOW)]}
        )
    print(f"a change: {(time.perf_counter() - start) / 200 * 1e6:.0f} us")


if __name__ == "__main__":
    main()
