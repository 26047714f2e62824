"""Authorizes by ACLs in ZooKeeper (`kafka.security.authorizer.AclAuthorizer`)."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from kafkapy.common.acl_types import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.time import SystemTime, Time
from kafkapy.network.request import RequestContext
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.chunks import chunks
from kafkapy.security.acl.acl_index import AclIndex
from kafkapy.security.acl.decision import AclDecision
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.api_error import NO_ERROR, ApiError
from kafkapy.server.authorizer import SUPPORTED_BITS, AclDeletion, Authorizer, host_of
from kafkapy.server.security.decision_log import DecisionListener, DecisionLog, RequestedAction
from kafkapy.zk.acl_store import VersionedAcls, ZkAclStore
from kafkapy.zk.change_notifications import ZkNodeChangeNotificationListener

log = logging.getLogger("kafkapy.security.authorizer.AclAuthorizer")

MAX_UPDATE_RETRIES: Final = 10
UPDATE_TIMEOUT_MS: Final = 30_000
"""Time limit of an update, including the wait for ZooKeeper and for another update: the default time-out of clients."""

_RETRY_BACKOFF_MS: Final = 100
_RETRY_BACKOFF_JITTER_MS: Final = 50

Entries = frozenset[AccessControlEntry]
Change = Callable[[Entries], Entries]
"""Returns the new entries for the current ones. Called again after a concurrent change."""

FEWEST_TOGETHER: Final = 4
"""Minimum patterns of a batched update; fewer are updated one by one."""


class AclAuthorizer(Authorizer):
    """Decides with the ACLs in memory, and follows changes by any broker.

    Invariant: `_index` is replaced as a whole, under `_lock`; it is read without it. For each pattern it has
    ZooKeeper's content at the version in `_zk_versions`, or a later one if a notification is pending. `_zk_versions`
    has the patterns of `_index`; it is only accessed under `_lock`.
    """

    def __init__(
        self,
        store: ZkAclStore,
        super_users: Iterable[KafkaPrincipal] = (),
        allow_everyone_if_no_acl_found: bool = False,
        time: Time | None = None,
        prefixes_supported: Callable[[], bool] = lambda: True,
        on_decision: DecisionListener | None = None,
        reports_allowed: bool = True,
    ) -> None:
        """Decides nothing before `startup`: without ACLs all except super users are denied.

        Args:
            store: The store of ACLs.
            super_users: `super.users`, see `parse_super_users`.
            allow_everyone_if_no_acl_found: `allow.everyone.if.no.acl.found`.
            time: For sleeps between attempts of an update.
            prefixes_supported: Returns whether prefixed patterns may be created: inter.broker.protocol.version is 2.0
                or later.
            on_decision: Called with each decision except those of `authorized_operations`, for the audit.
            reports_allowed: Whether `on_decision` is also called for allowed operations.
        """
        self._store = store
        self._super_users = tuple(super_users)
        self._allow_everyone = allow_everyone_if_no_acl_found
        self._time = time or SystemTime()
        self._prefixes_supported = prefixes_supported
        self._log = DecisionLog(on_decision, reports_allowed)
        self._lock = threading.Lock()
        self._index = AclIndex({}, self._super_users, allow_everyone_if_no_acl_found)
        self._zk_versions: dict[AclPattern, int] = {}
        self._listeners: list[ZkNodeChangeNotificationListener] = []

    def startup(self) -> None:
        """Create missing znodes, start listening, and load all ACLs. Blocks on ZooKeeper.

        Raises:
            ValueError: A node does not contain ACLs; the message names it.
        """
        self._store.create_acl_paths()
        self._listeners = self._store.listeners(self._reload_patterns, self._load)
        for listener in self._listeners:
            listener.startup()
        self._load()

    def shutdown(self) -> None:
        for listener in self._listeners:
            listener.shutdown()
        self._listeners = []
        self._store.close()

    # --- decisions ----------------------------------------------------------------------------------------------------

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        *,
        log_if_allowed: bool = True,
        log_if_denied: bool = True,
        count: int = 1,
    ) -> bool:
        """See `Authorizer`."""
        decision = self._index.decide(context.principal, host_of(context), operation, resource_type, name)
        if self._log.wants(decision.allowed, log_if_allowed, log_if_denied):
            action = RequestedAction(operation, resource_type, "LITERAL", name, count, log_if_allowed, log_if_denied)
            self._log.write(context, action, decision)
        return decision.allowed

    def authorize_by_resource_type(
        self, context: RequestContext, operation: ACLOperation, resource_type: ResourceType
    ) -> bool:
        """See `Authorizer`."""
        decision = self._index.decide_by_resource_type(context.principal, host_of(context), operation, resource_type)
        if self._log.wants(decision.allowed, True, True):
            action = RequestedAction(operation, resource_type, "UNKNOWN", "NONE", 0)
            self._log.write(context, action, decision)
        return decision.allowed

    def authorized_operations(self, context: RequestContext, resource_type: ResourceType, name: str) -> int:
        """See `Authorizer`. No operation is executed, so the decisions are not audited, and logged at TRACE only."""
        if self._log.wants_asides:
            return super().authorized_operations(context, resource_type, name)
        allowed = self._index.allowed_operations(context.principal, host_of(context), resource_type, name)
        return allowed & SUPPORTED_BITS[resource_type]

    def decision(
        self, principal: KafkaPrincipal, host: str, operation: ACLOperation, resource_type: ResourceType, name: str
    ) -> AclDecision:
        """Return the decision and the deciding rule, without logging."""
        return self._index.decide(principal, host, operation, resource_type, name)

    # --- ACLs ---------------------------------------------------------------------------------------------------------

    def acls(self, acl_filter: AclBindingFilter) -> list[AclBinding]:
        """Return the matching ACLs in memory."""
        return list(self._index.acls(acl_filter))

    def create_acls(self, context: RequestContext, bindings: Sequence[AclBinding]) -> list[ApiError]:
        """Write ACLs to ZooKeeper; return an error for each. ACLs of the same pattern are written atomically."""
        results = [self._why_invalid(binding) for binding in bindings]
        by_pattern: dict[AclPattern, list[int]] = {}
        for index, binding in enumerate(bindings):
            if results[index] is NO_ERROR:
                by_pattern.setdefault(binding.pattern, []).append(index)
        changes: dict[AclPattern, Change] = {
            pattern: frozenset(bindings[index].entry for index in indexes).__or__
            for pattern, indexes in by_pattern.items()
        }
        for pattern, error in self._update_all(changes).items():
            for index in by_pattern[pattern]:
                results[index] = error
        return results

    def delete_acls(self, context: RequestContext, filters: Sequence[AclBindingFilter]) -> list[list[AclDeletion]]:
        """Delete matching ACLs from ZooKeeper; return for each filter the ACLs that it was the first to match."""
        results: list[list[AclDeletion]] = [[] for _ in filters]
        matched: dict[AclPattern, dict[AccessControlEntry, int]] = {}
        changes: dict[AclPattern, Change] = {}
        for pattern, indexes in self._patterns_of(filters).items():
            matched[pattern] = {}
            entry_filters = {index: filters[index].entry_filter for index in indexes}
            changes[pattern] = partial(_without_matching, entry_filters, matched[pattern])
        for pattern, error in self._update_all(changes).items():
            for entry, index in matched[pattern].items():
                results[index].append(AclDeletion(AclBinding(pattern, entry), error))
        return results

    def _why_invalid(self, binding: AclBinding) -> ApiError:
        pattern = binding.pattern
        if pattern.pattern_type is ACLResourcePatternType.PREFIXED and not self._prefixes_supported():
            reason = "prefixed patterns require inter.broker.protocol.version of 2.0-IV1 or greater"
        elif binding.is_unknown:
            reason = "ACL binding contains unknown elements"
        elif "/" in pattern.name:
            reason = f"ACL binding contains invalid resource name: {pattern.name}"
        else:
            return NO_ERROR
        return ApiError(Errors.INVALID_REQUEST, f"Failed to create ACL: {reason}")

    def _patterns_of(self, filters: Sequence[AclBindingFilter]) -> dict[AclPattern, list[int]]:
        """Return the filters by matching pattern. A filter that can list its patterns also finds those that are not in
        memory yet.
        """
        found: dict[AclPattern, list[int]] = {}
        known = self._index.patterns
        for index, (pattern_filter, _) in enumerate(filters):
            for pattern in pattern_filter.patterns() or filter(pattern_filter.matches, known):
                found.setdefault(pattern, []).append(index)
        return found

    # --- updates ------------------------------------------------------------------------------------------------------

    def _update_all(self, changes: Mapping[AclPattern, Change]) -> dict[AclPattern, ApiError]:
        """Make the changes, in batches that share a request to ZooKeeper and a copy of the index; return each
        pattern's result."""
        results: dict[AclPattern, ApiError] = {}
        with self._store.time_limit(UPDATE_TIMEOUT_MS):
            for some in chunks(changes):
                if len(some) >= FEWEST_TOGETHER and self._lock.acquire(timeout=UPDATE_TIMEOUT_MS / 1000):
                    try:
                        results |= self._update_together({pattern: changes[pattern] for pattern in some})
                    finally:
                        self._lock.release()
                for pattern in some:
                    if pattern not in results:
                        results[pattern] = self._try_update(pattern, changes[pattern])
        return results

    def _update_together(self, changes: Mapping[AclPattern, Change]) -> dict[AclPattern, ApiError]:
        """Make a batch of changes; return the successful ones. Conflicts and errors are left to `_update`, which
        retries or reports."""
        try:
            writes = self._writes_of(changes)
            versions = self._store.update_many([(p, new, current.zk_version) for p, (current, new) in writes.items()])
            made = {
                pattern: VersionedAcls(new, zk_version)
                for (pattern, (_, new)), zk_version in zip(writes.items(), versions, strict=True)
                if zk_version is not None
            }
        except Exception as error:
            log.warning("ACLs of %d patterns are updated one by one: %s", len(changes), error)
            return {}
        self._keep(made)
        for pattern, acls in made.items():
            log.info("Updated ACLs for %s with new version %d", pattern, acls.zk_version)
        try:
            self._store.notify_many(list(made))
        except Exception as error:
            log.error("No broker could be notified of the ACLs of %d patterns", len(made), exc_info=error)
            return dict.fromkeys(made, ApiError.from_exception(error))
        return dict.fromkeys(made, NO_ERROR)

    def _writes_of(self, changes: Mapping[AclPattern, Change]) -> dict[AclPattern, tuple[VersionedAcls, Entries]]:
        """Return the current and new entries of the patterns that really change."""
        found = {pattern: self._kept(pattern) for pattern in changes}
        unknown = [pattern for pattern, acls in found.items() if acls is None]
        found.update(zip(unknown, self._store.get_many(unknown), strict=True))
        writes: dict[AclPattern, tuple[VersionedAcls, Entries]] = {}
        for pattern, current in found.items():
            assert current is not None
            new = changes[pattern](current.entries)
            _require_principals(new - current.entries)
            if new != current.entries:
                writes[pattern] = current, new
        return writes

    def _try_update(self, pattern: AclPattern, change: Change) -> ApiError:
        # While ZooKeeper is unreachable, the thread that reads a change holds the lock.
        if not self._lock.acquire(timeout=UPDATE_TIMEOUT_MS / 1000):
            return ApiError(Errors.REQUEST_TIMED_OUT)
        try:
            self._update(pattern, change)
        except ValueError as error:
            return ApiError(Errors.UNKNOWN_SERVER_ERROR, str(error))
        except Exception as error:
            log.error("ACLs of %s could not be updated", pattern, exc_info=error)
            return ApiError.from_exception(error)
        finally:
            self._lock.release()
        return NO_ERROR

    def _update(self, pattern: AclPattern, change: Change) -> None:
        """Compare-and-set, with retries after concurrent changes.

        Raises:
            ValueError: The pattern or an entry cannot be stored.
            KafkaError: Another broker's change came first each time.
        """
        current = self._kept(pattern) or self._store.get(pattern)
        for attempt in range(MAX_UPDATE_RETRIES + 1):
            if attempt:
                self._time.sleep((_RETRY_BACKOFF_MS + random.randrange(_RETRY_BACKOFF_JITTER_MS)) / 1000)
                current = self._store.get(pattern)
            new = change(current.entries)
            _require_principals(new - current.entries)
            zk_version = self._store.update(pattern, new, current.zk_version)
            if zk_version is not None:
                break
        else:
            text = f"Failed to update ACLs for {pattern} after trying a maximum of {MAX_UPDATE_RETRIES} times"
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, text)
        self._keep({pattern: VersionedAcls(new, zk_version)})
        if new != current.entries:
            log.info("Updated ACLs for %s with new version %d", pattern, zk_version)
            self._store.notify(pattern)

    def _kept(self, pattern: AclPattern) -> VersionedAcls | None:
        zk_version = self._zk_versions.get(pattern)
        return None if zk_version is None else VersionedAcls(self._index.entries(pattern), zk_version)

    def _keep(self, found: Mapping[AclPattern, VersionedAcls]) -> None:
        """Requires `_lock`."""
        self._index = self._index.changed({pattern: acls.entries for pattern, acls in found.items()})
        for pattern, acls in found.items():
            if acls.entries:
                self._zk_versions[pattern] = acls.zk_version
            else:
                self._zk_versions.pop(pattern, None)

    def _reload_patterns(self, patterns: Sequence[AclPattern]) -> None:
        """Reload patterns that some broker, perhaps this one, has changed."""
        with self._lock:
            found = dict(zip(patterns, self._store.get_many(patterns), strict=True))
            for pattern, acls in found.items():
                log.info(
                    "Processing Acl change notification for %s, versionedAcls : %s, zkVersion : %d",
                    pattern,
                    sorted(map(str, acls.entries)),
                    acls.zk_version,
                )
            self._keep(found)

    def _load(self) -> None:
        with self._lock:
            loaded = {pattern: acls for pattern, acls in self._store.load_all() if acls.entries}
            entries = {pattern: acls.entries for pattern, acls in loaded.items()}
            self._index = AclIndex(entries, self._super_users, self._allow_everyone)
            self._zk_versions = {pattern: acls.zk_version for pattern, acls in loaded.items()}


def _without_matching(
    filters: Mapping[int, AccessControlEntryFilter], matched: dict[AccessControlEntry, int], entries: Entries
) -> Entries:
    """Return the entries that no filter matches; `matched` gets the others, each with the number of its first matching
    filter.
    """
    matched.clear()
    for entry in sorted(entries):
        first = next((index for index, entry_filter in filters.items() if entry_filter.matches(entry)), None)
        if first is not None:
            matched[entry] = first
    return entries - matched.keys()


def _require_principals(entries: Iterable[AccessControlEntry]) -> None:
    for entry in entries:
        if ":" not in entry.principal:
            raise ValueError(f"expected a string in format principalType:principalName but got {entry.principal}")
