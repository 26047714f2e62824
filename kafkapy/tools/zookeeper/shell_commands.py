"""The commands of zookeeper-shell, with the options, outputs and errors of Apache ZooKeeper's shell."""

from __future__ import annotations

import base64
import string
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kafkapy.clients.software import VERSION
from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import OPEN_ACL, Acl, Acls
from kafkapy.zk.embedded.codes import Code
from kafkapy.zk.embedded.plain_tree import CONTAINER, EPHEMERAL, SEQUENTIAL, NodeStat, PlainTree, TreeError
from kafkapy.zk.paths import reason_invalid

_PERMISSIONS = {
    "c": codes.CREATE_PERM,
    "d": codes.DELETE_PERM,
    "r": codes.READ,
    "w": codes.WRITE,
    "a": codes.ADMIN,
}
_SENTENCES = {
    Code.NO_NODE: "Node does not exist: {path}",
    Code.NODE_EXISTS: "Node already exists: {path}",
    Code.NOT_EMPTY: "Node not empty: {path}",
    Code.NO_CHILDREN_FOR_EPHEMERALS: "Ephemerals cannot have children: {path}",
    Code.BAD_VERSION: "version No is not valid : {path}",
    Code.NO_AUTH: "Insufficient permission : {path}",
    Code.INVALID_ACL: "Acl is not valid : {path}",
    Code.BAD_ARGUMENTS: "Arguments are not valid : {path}",
    Code.UNIMPLEMENTED: "KeeperErrorCode = Unimplemented for {path}",
    Code.AUTH_FAILED: "KeeperErrorCode = AuthFailed for {path}",
}
_HEX_RULE = "+--------+" + "-" * 49 + "+" + "-" * 16 + "+"
_PRINTABLE = frozenset((string.ascii_letters + string.digits + string.punctuation + " ").encode())


class ShellError(Exception):
    """A command has failed; the text is the message."""


class UnknownCommandError(ShellError):
    """The command does not exist."""


class Given(NamedTuple):
    """The words behind a command's name: `options` with their values (empty: it takes none), and the other words."""

    options: dict[str, str]
    words: list[str]

    def path(self) -> str:
        """The first word. Raises ShellError if it is no path."""
        if (problem := reason_invalid(self.words[0])) is not None:
            raise ShellError(problem)
        return self.words[0]

    def number(self, option: str, default: int) -> int:
        text = self.options.get(option, str(default))
        try:
            return int(text)
        except ValueError:
            raise ShellError(f"-{option} {text} is no number") from None


class Command(NamedTuple):
    """Parse the words. `flags`: options without a value; `valued`: options with a value; `least`: the smallest number
    of other words."""

    usage: str
    run: Callable[[PlainTree, Given], Iterator[str]]
    flags: str = ""
    valued: str = ""
    least: int = 0


def execute(tree: PlainTree, name: str, words: Sequence[str]) -> None:
    """Run one command and print its output. Raises ShellError, and OSError if the connection is lost."""
    command = COMMANDS.get(name)
    if command is None:
        raise UnknownCommandError(f"Command not found: Command not found {name}")
    given = _parse(command, words)
    try:
        for line in command.run(tree, given):
            print(line)
    except TreeError as error:
        sentence = _SENTENCES.get(Code(error.code)) if error.code in Code.__members__.values() else None
        raise ShellError((sentence or f"KeeperErrorCode = {error.code} for {{path}}").format(path=error.path)) from None


def usage() -> str:
    """All commands, a line each."""
    return "\n".join(f"\t{command.usage}" for _, command in sorted(COMMANDS.items(), key=lambda item: item[0].lower()))


def _parse(command: Command, words: Sequence[str]) -> Given:
    given = Given({}, [])
    left = iter(words)
    for word in left:
        if not word.startswith("-") or word == "-":
            given.words.append(word)
        elif word == "--":
            given.words.extend(left)
        elif len(word) == 2 and word[1] in command.flags:
            given.options[word[1]] = ""
        elif len(word) == 2 and word[1] in command.valued:
            if (value := next(left, None)) is None:
                raise ShellError(f"Missing argument for option: {word[1]}")
            given.options[word[1]] = value
        elif word == "-w":
            raise ShellError("-w is not supported: this shell sets no watches")
        else:
            raise ShellError(f"Unrecognized option: {word}")
    if len(given.words) < command.least:
        raise ShellError(command.usage)
    return given


def _ls(tree: PlainTree, given: Given) -> Iterator[str]:
    path = given.path()
    names, stat = tree.children(path)
    if "R" in given.options:
        yield path
        yield from tree.descendants(path)
        return
    yield f"[{', '.join(names)}]"
    if "s" in given.options:
        yield _stat_text(stat)


def _get(tree: PlainTree, given: Given) -> Iterator[str]:
    data, stat = tree.data(given.path())
    if data is None:
        yield "null"
    elif "b" in given.options:
        yield base64.b64encode(data).decode()
    elif "x" in given.options:
        yield _hex_text(data)
    else:
        yield data.decode("utf-8", "replace")
    if "s" in given.options:
        yield _stat_text(stat)


def _stat(tree: PlainTree, given: Given) -> Iterator[str]:
    yield _stat_text(tree.stat(given.path()))


def _create(tree: PlainTree, given: Given) -> Iterator[str]:
    options = given.options
    if "c" in options and {"e", "s", "t"} & options.keys():
        raise ShellError("-c cannot be combined with -s or -e. Containers cannot be ephemeral or sequential.")
    if {"e", "t"} <= options.keys():
        raise ShellError("TTLs cannot be used with Ephemeral znodes")
    flags = (EPHEMERAL * ("e" in options)) | (SEQUENTIAL * ("s" in options)) | (CONTAINER * ("c" in options))
    data = given.words[1].encode() if len(given.words) > 1 else None
    acls = _acls(given.words[2]) if len(given.words) > 2 else OPEN_ACL
    ttl_ms = given.number("t", 0) if "t" in options else None
    made = tree.create(given.path(), data, acls, flags, ttl_ms)
    print(f"Created {made}", file=sys.stderr)
    yield from ()


def _set(tree: PlainTree, given: Given) -> Iterator[str]:
    data = given.words[1].encode()
    if "b" in given.options:
        try:
            data = base64.b64decode(data, validate=True)
        except ValueError:
            raise ShellError(f"{given.words[1]} is not in base64") from None
    stat = tree.set_data(given.path(), data, given.number("v", -1))
    if "s" in given.options:
        yield _stat_text(stat)


def _delete(tree: PlainTree, given: Given) -> Iterator[str]:
    tree.delete(given.path(), given.number("v", -1))
    yield from ()


def _delete_all(tree: PlainTree, given: Given) -> Iterator[str]:
    path = given.path()
    tree.stat(path)
    for each in sorted([path, *tree.descendants(path)], key=lambda each: each.count("/"), reverse=True):
        try:
            tree.delete(each)
        except TreeError as error:
            if error.code != Code.NO_NODE:
                raise
    yield from ()


def _get_acl(tree: PlainTree, given: Given) -> Iterator[str]:
    acls, stat = tree.acls(given.path())
    for acl in acls:
        yield f"'{acl.scheme},'{acl.id}"
        yield f": {''.join(letter for letter, bit in _PERMISSIONS.items() if acl.perms & bit)}"
    if "s" in given.options:
        yield _stat_text(stat)


def _set_acl(tree: PlainTree, given: Given) -> Iterator[str]:
    path, acls = given.path(), _acls(given.words[1])
    stat = tree.set_acls(path, acls, given.number("v", -1))
    for each in tree.descendants(path) if "R" in given.options else ():
        tree.set_acls(each, acls)
    if "s" in given.options:
        yield _stat_text(stat)


def _get_ephemerals(tree: PlainTree, given: Given) -> Iterator[str]:
    yield f"[{', '.join(tree.ephemerals(given.path() if given.words else '/'))}]"


def _get_all_children_number(tree: PlainTree, given: Given) -> Iterator[str]:
    yield str(tree.count_descendants(given.path()))


def _sync(tree: PlainTree, given: Given) -> Iterator[str]:
    tree.sync(given.path())
    yield "Sync is OK"


def _config(tree: PlainTree, given: Given) -> Iterator[str]:
    data, stat = tree.data("/zookeeper/config")
    yield (data or b"").decode("utf-8", "replace")
    if "s" in given.options:
        yield _stat_text(stat)


def _who_am_i(tree: PlainTree, given: Given) -> Iterator[str]:
    yield "Auth scheme: User"
    yield from (f"{scheme}: {user}" for scheme, user in tree.who_am_i())


def _add_auth(tree: PlainTree, given: Given) -> Iterator[str]:
    scheme, *rest = given.words
    if scheme != "digest":
        raise ShellError(f"addauth {scheme} is not supported: the scheme is digest")
    tree.authenticate(rest[0] if rest else "")
    yield from ()


def _version(tree: PlainTree, given: Given) -> Iterator[str]:
    yield f"ZooKeeper CLI version: kafkapy {VERSION}"


def _acls(text: str) -> Acls:
    """Parse `scheme:id:permissions`, separated by commas; an id may contain colons."""
    acls = []
    for each in text.split(","):
        scheme, _, rest = each.partition(":")
        identity, colon, letters = rest.rpartition(":")
        if not colon:
            raise ShellError(f"{each} does not have the form scheme:id:perm")
        if unknown := set(letters) - _PERMISSIONS.keys():
            raise ShellError(f"Unknown perm type: {min(unknown)}")
        acls.append(Acl(sum(_PERMISSIONS[letter] for letter in set(letters)), scheme, identity))
    return tuple(acls)


def _stat_text(stat: NodeStat) -> str:
    return "\n".join((
        f"cZxid = {_hex(stat.czxid)}", f"ctime = {_date(stat.ctime_ms)}", f"mZxid = {_hex(stat.mzxid)}",
        f"mtime = {_date(stat.mtime_ms)}", f"pZxid = {_hex(stat.pzxid)}", f"cversion = {stat.cversion}",
        f"dataVersion = {stat.version}", f"aclVersion = {stat.aversion}",
        f"ephemeralOwner = {_hex(stat.ephemeral_owner)}", f"dataLength = {stat.data_length}",
        f"numChildren = {stat.num_children}",
    ))  # fmt: skip


def _hex(number: int) -> str:
    return f"0x{number & (1 << 64) - 1:x}"


def _date(time_ms: int) -> str:
    """A time as Java's `Date` prints it."""
    return time.strftime("%a %b %d %H:%M:%S %Z %Y", time.localtime(time_ms / 1000))


def _hex_text(data: bytes) -> str:
    """Bytes as Netty's `prettyHexDump` prints them."""
    lines = [" " * 9 + "+" + "-" * 49 + "+", " " * 9 + "|" + "".join(f"{i:3x}" for i in range(16)) + " |", _HEX_RULE]
    for start in range(0, len(data), 16):
        row = data[start : start + 16]
        text = "".join(chr(byte) if byte in _PRINTABLE else "." for byte in row)
        lines.append(f"|{start:08x}|{''.join(f' {byte:02x}' for byte in row):<48} |{text:<16}|")
    return "\n".join((*lines, _HEX_RULE))


COMMANDS = {
    "addauth": Command("addauth scheme auth", _add_auth, least=1),
    "config": Command("config [-s]", _config, "s"),
    "create": Command("create [-s] [-e] [-c] [-t ttl] path [data] [acl]", _create, "sec", "t", least=1),
    "delete": Command("delete [-v version] path", _delete, "", "v", least=1),
    "deleteall": Command("deleteall path", _delete_all, least=1),
    "get": Command("get [-s] [-b] [-x] path", _get, "sbx", least=1),
    "getAcl": Command("getAcl [-s] path", _get_acl, "s", least=1),
    "getAllChildrenNumber": Command("getAllChildrenNumber path", _get_all_children_number, least=1),
    "getEphemerals": Command("getEphemerals path", _get_ephemerals),
    "ls": Command("ls [-s] [-R] path", _ls, "sR", least=1),
    "set": Command("set path data [-s] [-v version] [-b]", _set, "sb", "v", least=2),
    "setAcl": Command("setAcl [-s] [-v version] [-R] path acl", _set_acl, "sR", "v", least=2),
    "stat": Command("stat path", _stat, least=1),
    "sync": Command("sync path", _sync, least=1),
    "version": Command("version", _version),
    "whoami": Command("whoami", _who_am_i),
}
