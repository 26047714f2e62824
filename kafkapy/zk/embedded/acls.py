"""Access control of znodes: the schemes world, auth, digest, ip, sasl and x509.

An identity is a scheme and an id of a connection: ("ip", its address) from the start, ("digest", "user:base64 of the
SHA-1 of user:password") after it has sent a password, ("sasl", user) and ("x509", name of its certificate); ("super",
"") has all permissions.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
from collections.abc import Container, Iterable
from typing import Final, NamedTuple

from kafkapy.common.java_hash_order import java_string_hash
from kafkapy.security.kerberos import parse_kerberos_name
from kafkapy.zk.embedded.codes import ADMIN, Code, KeeperError
from kafkapy.zk.embedded.jute import INT, Decoder, string
from kafkapy.zk.znode_acls import OPEN_ACL as OPEN_ACL
from kafkapy.zk.znode_acls import READ_ACL as READ_ACL
from kafkapy.zk.znode_acls import Acl as Acl
from kafkapy.zk.znode_acls import Acls as Acls

SUPER: Final = "super"
DEFAULT_SCHEMES: Final = frozenset({"ip", "digest"})
_PROVED: Final = frozenset({"digest", "sasl", "x509"})
_DISTINGUISHED_NAME: Final = re.compile(r"\s*(?:[^=,+]+=(?:\\.|[^\\,+])*(?:[,+]|\Z))*", re.DOTALL)


class Identity(NamedTuple):
    scheme: str
    id: str


def decode_acls(decoder: Decoder) -> Acls:
    """kazoo sends an empty id as null."""

    def acl() -> Acl:
        return Acl(decoder.int32(), decoder.nullable_string() or "", decoder.nullable_string() or "")

    return tuple(decoder.vector(acl, least_size=12))


def encode_acls(acls: Acls) -> bytes:
    return INT.pack(len(acls)) + b"".join(INT.pack(a.perms) + string(a.scheme) + string(a.id) for a in acls)


def digest_identity(auth: bytes) -> Identity:
    """Return the identity for `user:password`."""
    user = auth.decode("utf-8", "replace").partition(":")[0]
    return Identity("digest", f"{user}:{base64.b64encode(hashlib.sha1(auth).digest()).decode()}")


def is_allowed(acls: Acls, perms: int, identities: Iterable[Identity]) -> bool:
    """Whether one of the entries grants one of the permissions to one of the identities."""
    if any(each.scheme == SUPER for each in identities):
        return True
    for acl in acls:
        if acl.perms & perms and (
            (acl.scheme == "world" and acl.id == "anyone")
            or any(each.scheme == acl.scheme and _matches(each, acl.id) for each in identities)
        ):
            return True
    return not acls


def check(acls: Acls, perms: int, identities: Iterable[Identity], path: str) -> None:
    if not is_allowed(acls, perms, identities):
        raise KeeperError(Code.NO_AUTH, path)


def resolve_acls(
    acls: Acls, identities: Iterable[Identity], path: str, schemes: Container[str] = DEFAULT_SCHEMES
) -> Acls:
    """Return the ACL that is stored when a client sends `acls`: without duplicates, and `auth` replaced by the client's
    identities.

    `schemes`: those that the server supports, besides world and auth.
    """
    result: list[Acl] = []
    for acl in dict.fromkeys(acls):
        if acl.scheme == "auth":
            proved = [Acl(acl.perms, *each) for each in _in_java_order(identities) if each.scheme in _PROVED]
            if not proved:
                raise KeeperError(Code.INVALID_ACL, path)
            result += proved
        elif (acl.scheme == "world" or acl.scheme in schemes) and _is_valid(acl):
            result.append(acl)
        else:
            raise KeeperError(Code.INVALID_ACL, path)
    if not result:
        raise KeeperError(Code.INVALID_ACL, path)
    return tuple(result)


def _in_java_order(identities: Iterable[Identity]) -> list[Identity]:
    """Order identities as ZooKeeper's server does, which keeps them in a `ConcurrentHashMap`: entries made for `auth`
    have that order.
    """

    def bucket(identity: Identity) -> int:
        value = (37 * (37 * 17 + java_string_hash(identity.scheme)) + java_string_hash(identity.id)) & 0xFFFFFFFF
        return (value ^ value >> 16) & 15

    found = list(identities)
    return sorted(found, key=bucket) if len(found) > 2 else found


def visible_acls(acls: Acls, identities: Iterable[Identity]) -> Acls:
    """Return the list as shown by `getACL`: with digests only for identities that may change it."""
    if is_allowed(acls, ADMIN, identities):
        return acls
    return tuple(a._replace(id=f"{a.id.partition(':')[0]}:x") if a.scheme == "digest" else a for a in acls)


def _is_valid(acl: Acl) -> bool:
    if acl.scheme == "world":
        return acl.id == "anyone"
    if acl.scheme == "digest":
        return len(acl.id.rstrip(":").split(":")) == 2
    if acl.scheme == "sasl":
        return _is_kerberos_name(acl.id)
    if acl.scheme == "x509":
        return _DISTINGUISHED_NAME.fullmatch(acl.id) is not None
    return acl.scheme == "ip" and _network(acl.id) is not None


def _is_kerberos_name(name: str) -> bool:
    """Return whether ZooKeeper accepts the name, which may be any Kerberos principal, though users are those of
    DIGEST-MD5.
    """
    try:
        parse_kerberos_name(name)
    except ValueError:
        return False
    return True


def _matches(identity: Identity, pattern: str) -> bool:
    if identity.scheme == "sasl":
        return identity.id in ("super", pattern)
    if identity.scheme in ("digest", "x509"):
        return identity.id == pattern
    if identity.scheme != "ip":
        return False
    network = _network(pattern)
    return network is not None and ipaddress.ip_address(identity.id) in network


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Parse `10.0.0.1`, `10.0.0.0/8`, `fe80::/10`; bits beyond the mask are ignored."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
