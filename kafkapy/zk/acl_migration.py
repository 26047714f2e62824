"""Sets the access lists of an existing cluster's znodes to those that `zookeeper.set.acl` gives new ones (Kafka's
`ZkSecurityMigrator`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from kafkapy.runtime.chunks import chunks
from kafkapy.zk.errors import NoNodeError
from kafkapy.zk.request_pipeline import RequestPipeline
from kafkapy.zk.requests import Exists, GetChildren, SetAcl
from kafkapy.zk.znode_acls import SECURE_ROOT_PATHS, default_acls

log = logging.getLogger("kafkapy.admin.ZkSecurityMigrator")

_ROOT = "/"


class AclMigration:
    """One run over the znodes below a chroot. Blocks; `ZooKeeperError`s are the pipeline's.

    It creates no znodes. Apache's tool creates every missing root, empty, on which KRaft brokers fail later
    (KAFKA-19480).
    """

    def __init__(self, pipeline: RequestPipeline, is_secure: bool) -> None:
        """`is_secure`: whether only the cluster's own user may change the znodes afterwards; else they become open to
        all.
        """
        self._pipeline = pipeline
        self._is_secure = is_secure

    def missing_roots(self) -> list[str]:
        """Return the missing roots, in Kafka's order."""
        answers = self._pipeline.answers_to([Exists(path) for path in SECURE_ROOT_PATHS])
        missing = []
        for path, answer in zip(SECURE_ROOT_PATHS, answers, strict=True):
            if isinstance(answer.error, NoNodeError):
                missing.append(path)
            else:
                answer.raise_for_error()
        return missing

    def set_root(self) -> bool:
        """Set the chroot's own access list. Return False if the chroot does not exist."""
        return bool(self._set([_ROOT]))

    def run(self, set_some: Callable[[int], object] = lambda _: None) -> int:
        """Set all roots and everything below; return the number of znodes that were set. `set_some` is called with the
        progress.
        """
        total = 0
        roots = [path for path in SECURE_ROOT_PATHS if not path.startswith("/kafka-acl-extended/")]  # a child
        for root in roots:
            level = [root]
            while level:
                below: list[str] = []
                for chunk in chunks(level):
                    found = self._set(chunk)
                    below += self._children_of(found)
                    total += len(found)
                    set_some(total)
                level = below
        return total

    def _set(self, paths: Sequence[str]) -> list[str]:
        """Set existing znodes and return them. Znodes may be deleted concurrently."""
        answers = self._pipeline.answers_to([SetAcl(path, default_acls(self._is_secure, path)) for path in paths])
        found = []
        for path, answer in zip(paths, answers, strict=True):
            if isinstance(answer.error, NoNodeError):
                log.debug("%s is gone, or was never there", path)
            else:
                answer.raise_for_error()
                found.append(path)
        return found

    def _children_of(self, paths: Sequence[str]) -> list[str]:
        answers = self._pipeline.answers_to([GetChildren(path, watch=False) for path in paths])
        below = []
        for path, answer in zip(paths, answers, strict=True):
            if not isinstance(answer.error, NoNodeError):
                answer.raise_for_error()
                below += [f"{path}/{name}" for name in sorted(answer.children)]
        return below
