"""The decision engine (`AclAuthorizer.authorizeAction`, `authorizeByResourceType`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from kafkapy.common.acl_types import (
    WILDCARD_PRINCIPAL,
    WILDCARD_RESOURCE,
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.security.acl.decision import BY_DEFAULT_ALLOWED, BY_DEFAULT_DENIED, BY_SUPER_USER, AclDecision
from kafkapy.security.acl.principal_acls import (
    ALL_BIT,
    EVERY_OPERATION,
    IMPLYING,
    NamesByPattern,
    PrincipalAcls,
    Rule,
    Rules,
    rules_of,
)
from kafkapy.security.principal import KafkaPrincipal

MAX_DECISIONS: Final = 20_000
"""Limit of cached decisions: about 6 MB."""

MAX_KEPT_NAME: Final = 256
"""Longer names, which no topic has, are not cached, because a client could fill the memory with them."""

_DENY_BITS: Final = {operation: 1 << operation | ALL_BIT for operation in ACLOperation if operation > 1}
_ALLOW_BITS: Final = {
    operation: _DENY_BITS[operation] | sum(1 << other for other in IMPLYING.get(operation, ()))
    for operation in ACLOperation
    if operation > ACLOperation.ANY
}

K = TypeVar("K")

_Key = tuple[str, ResourceType]
"""A principal, as text, and a type of resource."""


class AclIndex:
    """All ACLs at one moment, with cached decisions.

    Immutable except for the cache: `changed` creates another index, which shares unchanged parts. So another thread
    sees a change as a whole, and no outdated decision remains.

    Invariant: `_by_principal` has an entry for each principal and type with a rule, `_by_type` for each type with a
    pattern; both depend on `_acls` only.
    """

    __slots__ = (
        "_acls",
        "_allow_everyone",
        "_by_principal",
        "_by_type",
        "_decisions",
        "_super_users",
        "_type_decisions",
    )

    def __init__(
        self,
        acls: Mapping[AclPattern, Iterable[AccessControlEntry]] | None = None,
        super_users: Iterable[KafkaPrincipal] = (),
        allow_everyone_if_no_acl_found: bool = False,
    ) -> None:
        """Index all ACLs at once.

        Args:
            acls: The entries of each pattern; patterns without entries are ignored.
            super_users: Principals that may do everything, whatever ACLs say.
            allow_everyone_if_no_acl_found: Whether operations are allowed if no ACL applies; default False.

        Example:
            >>> from kafkapy.common.acl_types import ACLPermissionType, ACLResourcePatternType
            >>> from kafkapy.security.principal import KafkaPrincipal
            >>> topics = AclPattern(ResourceType.TOPIC, "acme-", ACLResourcePatternType.PREFIXED)
            >>> reads = AccessControlEntry("User:alice", "*", ACLOperation.READ, ACLPermissionType.ALLOW)
            >>> index = AclIndex({topics: [reads]})
            >>> alice = KafkaPrincipal("User", "alice")
            >>> index.decide(alice, "10.0.0.1", ACLOperation.DESCRIBE, ResourceType.TOPIC, "acme-orders").allowed
            True
        """
        self._acls: dict[AclPattern, frozenset[AccessControlEntry]] = {}
        self._super_users = frozenset(str(principal) for principal in super_users)
        self._allow_everyone = allow_everyone_if_no_acl_found
        self._by_principal: dict[_Key, PrincipalAcls] = {}
        self._by_type: dict[ResourceType, PrincipalAcls] = {}
        self._forget_decisions()
        self._load(acls or {})

    def _forget_decisions(self) -> None:
        self._decisions: dict[tuple[KafkaPrincipal, str, ACLOperation, ResourceType, str], AclDecision] = {}
        self._type_decisions: dict[tuple[KafkaPrincipal, str, ACLOperation, ResourceType], AclDecision] = {}

    def _load(self, acls: Mapping[AclPattern, Iterable[AccessControlEntry]]) -> None:
        by_principal: dict[_Key, tuple[dict[str, Rules], dict[str, Rules]]] = {}
        by_type: dict[ResourceType, tuple[dict[str, Rules], dict[str, Rules]]] = {}
        for pattern, entries in acls.items():
            kept = frozenset(entries)
            if not kept:
                continue
            self._acls[pattern] = kept
            place = 0 if pattern.pattern_type is ACLResourcePatternType.LITERAL else 1
            resource_type = pattern.resource_type
            by_type.setdefault(resource_type, ({}, {}))[place][pattern.name] = ()
            for principal, rules in _by_principal(pattern, kept).items():
                by_principal.setdefault((principal, resource_type), ({}, {}))[place][pattern.name] = rules
        self._by_principal = {key: PrincipalAcls(*patterns) for key, patterns in by_principal.items()}
        self._by_type = {resource_type: PrincipalAcls(*patterns) for resource_type, patterns in by_type.items()}

    # --- changes ------------------------------------------------------------------------------------------------------

    def changed(self, changes: Mapping[AclPattern, Collection[AccessControlEntry]]) -> AclIndex:
        """Another index, in which these patterns have these entries instead of those they had; without any, it is gone."""
        differing = {
            pattern: (self._acls.get(pattern, frozenset()), new)
            for pattern, new in ((pattern, frozenset(entries)) for pattern, entries in changes.items())
            if new != self._acls.get(pattern, frozenset())
        }
        if not differing:
            return self
        index = AclIndex.__new__(AclIndex)
        index._super_users, index._allow_everyone = self._super_users, self._allow_everyone
        index._forget_decisions()
        index._acls = self._acls.copy()
        principals: _Drafts[_Key] = _Drafts(self._by_principal)
        types: _Drafts[ResourceType] = _Drafts(self._by_type)
        for pattern, (old, new) in differing.items():
            if new:
                index._acls[pattern] = new
            else:
                del index._acls[pattern]
            resource_type = pattern.resource_type
            if not (new and old):
                types.put(resource_type, pattern, () if new else None)
            before, after = _by_principal(pattern, old), _by_principal(pattern, new)
            for principal in before.keys() | after.keys():
                rules = after.get(principal, ())
                if rules != before.get(principal, ()):
                    principals.put((principal, resource_type), pattern, rules or None)
        index._by_principal, index._by_type = principals.finished(), types.finished()
        return index

    # # --- content
    # ----------------------------------------------------------------------------------------------------------

    def entries(self, pattern: AclPattern) -> frozenset[AccessControlEntry]:
        """Return the entries of exactly this pattern."""
        return self._acls.get(pattern, frozenset())

    @property
    def patterns(self) -> Collection[AclPattern]:
        """Return all patterns that have entries."""
        return self._acls.keys()

    def acls(self, acl_filter: AclBindingFilter | None = None) -> Iterator[AclBinding]:
        """Yield the ACLs that match the filter; without a filter all of them."""
        pattern_filter, entry_filter = acl_filter or AclBindingFilter()
        exact = pattern_filter.patterns()
        for pattern in exact or self._acls:
            if exact or pattern_filter.matches(pattern):
                for entry in self._acls.get(pattern, ()):
                    if entry_filter.matches(entry):
                        yield AclBinding(pattern, entry)

    def is_super_user(self, principal: KafkaPrincipal) -> bool:
        return f"{principal.principal_type}:{principal.name}" in self._super_users

    # --- decisions ----------------------------------------------------------------------------------------------------

    def decide(
        self, principal: KafkaPrincipal, host: str, operation: ACLOperation, resource_type: ResourceType, name: str
    ) -> AclDecision:
        """Decide whether the principal may do an operation on a resource, from this address.

        Args:
            principal: Compared by type and name.
            host: Textual address, as Java prints it; ACLs have exactly this or `*`.
            operation: What it would do, for example `ACLOperation.READ`.
            resource_type: What kind of resource it is, for example `ResourceType.TOPIC`.
            name: Of the resource, literally.

        Raises:
            KeyError: The operation is for filters only: UNKNOWN or ANY.

        Example: see `AclIndex`.
        """
        key = principal, host, operation, resource_type, name
        decision = self._decisions.get(key)
        if decision is None:
            decision = self._decide(principal, host, operation, resource_type, name)
            if len(name) <= MAX_KEPT_NAME:
                if len(self._decisions) >= MAX_DECISIONS:
                    self._decisions.clear()
                self._decisions[key] = decision
        return decision

    def _decide(
        self, principal: KafkaPrincipal, host: str, operation: ACLOperation, resource_type: ResourceType, name: str
    ) -> AclDecision:
        deny_bits, allow_bits = _DENY_BITS[operation], _ALLOW_BITS[operation]
        text = f"{principal.principal_type}:{principal.name}"
        if text in self._super_users:
            return BY_SUPER_USER
        allowing: AclDecision | None = None
        for owner in (text, WILDCARD_PRINCIPAL):
            acls = self._by_principal.get((owner, resource_type))
            if acls is not None and (decision := acls.find(name, host, deny_bits, allow_bits)) is not None:
                if not decision.allowed:
                    return decision
                allowing = allowing or decision
        if allowing is not None:
            return allowing
        return BY_DEFAULT_ALLOWED if self._is_allowed_by_default(resource_type, name) else BY_DEFAULT_DENIED

    def _is_allowed_by_default(self, resource_type: ResourceType, name: str) -> bool:
        if not self._allow_everyone:
            return False
        of_type = self._by_type.get(resource_type)
        return of_type is None or not of_type.has_rules_for(name)

    def allowed_operations(self, principal: KafkaPrincipal, host: str, resource_type: ResourceType, name: str) -> int:
        """All that `decide` would allow, as a bit for each operation's code; whether the type has such operations or not."""
        text = f"{principal.principal_type}:{principal.name}"
        if text in self._super_users or self._is_allowed_by_default(resource_type, name):
            return EVERY_OPERATION
        allowed = denied = 0
        for owner in (text, WILDCARD_PRINCIPAL):
            acls = self._by_principal.get((owner, resource_type))
            if acls is not None:
                more_allowed, more_denied = acls.operations(name, host)
                allowed |= more_allowed
                denied |= more_denied
        return allowed & ~denied

    def decide_by_resource_type(
        self, principal: KafkaPrincipal, host: str, operation: ACLOperation, resource_type: ResourceType
    ) -> AclDecision:
        """Decide whether the principal may do an operation on at least one resource of the type, existing or not
        (KIP-679).

        An ALLOW counts unless a DENY dominates it: one of the wildcard, of the same name, or of a prefix of it. As in
        Kafka, implied operations do not count, and an ALLOW of the wildcard counts whatever prefixes are denied.

        Raises:
            ValueError: The operation or the type is none that a resource has: UNKNOWN or ANY.
        """
        if resource_type <= ResourceType.ANY:
            raise ValueError("Must specify a non-filter resource type for authorizeByResourceType")
        if operation <= ACLOperation.ANY:
            raise ValueError("Must specify a non-filter operation type for authorizeByResourceType")
        key = principal, host, operation, resource_type
        decision = self._type_decisions.get(key)
        if decision is None:
            decision = self._decide_by_resource_type(principal, host, operation, resource_type)
            if len(self._type_decisions) >= MAX_DECISIONS:
                self._type_decisions.clear()
            self._type_decisions[key] = decision
        return decision

    def _decide_by_resource_type(
        self, principal: KafkaPrincipal, host: str, operation: ACLOperation, resource_type: ResourceType
    ) -> AclDecision:
        text = f"{principal.principal_type}:{principal.name}"
        if text in self._super_users:
            return BY_SUPER_USER
        bit = 1 << operation
        owners = {text: None, WILDCARD_PRINCIPAL: None}
        found = [acls for owner in owners if (acls := self._by_principal.get((owner, resource_type))) is not None]
        denied = [names for acls in found for names in acls.names(True, bit, host)]
        for literals, _ in denied:
            if (rule := literals.get(WILDCARD_RESOURCE)) is not None:
                return rule.decision
        if self._allow_everyone:
            return BY_DEFAULT_ALLOWED
        for acls in found:
            for allowed in acls.names(False, bit, host):
                if (rule := _not_dominated(allowed, denied)) is not None:
                    return rule.decision
        return BY_DEFAULT_DENIED


def _not_dominated(allowed: NamesByPattern, denied: list[NamesByPattern]) -> Rule | None:
    """Return an allowing rule that no denying one dominates."""
    literals, prefixes = allowed
    if (rule := literals.get(WILDCARD_RESOURCE)) is not None:
        return rule
    for prefix, rule in prefixes.items():
        if not _has_dominant_prefix(prefix, denied):
            return rule
    for name, rule in literals.items():
        if not any(name in names for names, _ in denied) and not _has_dominant_prefix(name, denied):
            return rule
    return None


def _has_dominant_prefix(name: str, denied: list[NamesByPattern]) -> bool:
    prefixes = [names for _, names in denied if names]
    return any(name[:length] in names for names in prefixes for length in range(len(name) + 1))


def _by_principal(pattern: AclPattern, entries: Iterable[AccessControlEntry]) -> dict[str, Rules]:
    owned: dict[str, list[AclBinding]] = {}
    for entry in sorted(entries):
        owned.setdefault(entry.principal, []).append(AclBinding(pattern, entry))
    return {principal: rules for principal, bindings in owned.items() if (rules := rules_of(bindings))}


class _Drafts(Generic[K]):
    """Copies of what changes of a dict of `PrincipalAcls`, each made once."""

    def __init__(self, before: dict[K, PrincipalAcls]) -> None:
        self._before = before
        self._drafts: dict[K, tuple[dict[str, Rules], dict[str, Rules]]] = {}

    def put(self, key: K, pattern: AclPattern, rules: Rules | None) -> None:
        """None: the pattern goes."""
        draft = self._drafts.get(key)
        if draft is None:
            found = self._before.get(key)
            draft = ({}, {}) if found is None else (found.literals.copy(), found.prefixes.copy())
            self._drafts[key] = draft
        names = draft[0 if pattern.pattern_type is ACLResourcePatternType.LITERAL else 1]
        if rules is None:
            names.pop(pattern.name, None)
        else:
            names[pattern.name] = rules

    def finished(self) -> dict[K, PrincipalAcls]:
        made = self._before.copy()
        for key, (literals, prefixes) in self._drafts.items():
            if literals or prefixes:
                made[key] = PrincipalAcls(literals, prefixes)
            else:
                made.pop(key, None)
        return made
