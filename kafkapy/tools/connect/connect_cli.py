"""kafkapy-connect: connectors of a Connect cluster: files with a plan, states, offsets, plugins, loggers."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from kafkapy.connect.connect_client import ConnectClient, ConnectRequestError
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.common.subcommands import Action, Parser, run_subcommand
from kafkapy.tools.connect import connect_tables as tables
from kafkapy.tools.connect.connect_plan import PlannedConnector, PlanStep, make_plan, read_directory, read_file

DEFAULT_URL: Final = "http://localhost:8083"
PASSWORD: Final = "KAFKAPY_CONNECT_PASSWORD"
"""The environment variable with the password, where there is no --password-file."""
DIFFERENT: Final = 2
"""The exit status of `status` if something has failed, and of `plan --check` if there is something to do."""


def parser() -> Parser:
    """Return the parser of the command line."""
    whole = Parser(
        prog="kafkapy-connect.sh", description="Looks at the connectors of a Connect cluster and changes them."
    )
    _add_connection(whole)
    words = whole.add_subparsers(dest="action", required=True, parser_class=Parser)
    words.add_parser("list", help="names, types and classes of the connectors")
    status = words.add_parser("status", help="states of connectors and tasks; exit status 2 if one has failed")
    status.add_argument("name", nargs="*", help="default: all")
    status.add_argument("--trace", action="store_true", help="with the whole traces of failures")
    for word, text in (("plan", "what `apply` would do"), ("apply", "create and change connectors as files say")):
        each = words.add_parser(word, help=text)
        each.add_argument("dir", type=Path, help="the folder of files, *.json and *.properties")
        each.add_argument("--prune", action="store_true", help="delete connectors that have no file")
        if word == "plan":
            each.add_argument("--check", action="store_true", help="exit status 2 if there is something to do")
        else:
            each.add_argument("--yes", action="store_true", help="without asking")
    validate = words.add_parser("validate", help="let the worker check files; exit status 1 if it finds errors")
    validate.add_argument("file", nargs="+", type=Path)
    _add_lifecycle(words)
    offsets = words.add_parser("offsets", help="show offsets, or change those of a stopped connector")
    offsets.add_argument("what", choices=("show", "alter", "reset"))
    offsets.add_argument("name")
    offsets.add_argument(
        "--file",
        help='for alter: a JSON file, {"offsets": [{"partition": {…}, "offset": {…}}]} as show --json prints it',
    )
    plugins = words.add_parser("plugins", help="what the worker can run, or the configs of one")
    plugins.add_argument("name", nargs="?", help="a plugin, whose configs are shown")
    plugins.add_argument("--all", action="store_true", help="converters, transforms and predicates, too")
    logs = words.add_parser("logs", help="show the levels of loggers, or set one")
    logs.add_argument("logger", nargs="?", help="default: all that have a level")
    logs.add_argument("level", nargs="?", help="TRACE, DEBUG, INFO, WARN, ERROR …")
    logs.add_argument("--cluster", action="store_true", help="set it on all workers")
    return whole


def _add_connection(whole: Parser) -> None:
    url = os.environ.get("KAFKAPY_CONNECT_URL") or DEFAULT_URL
    whole.add_argument("--url", default=url, help="of a worker (default: %(default)s, or $KAFKAPY_CONNECT_URL)")
    whole.add_argument("--user", help=f"for basic authentication; the password is in ${PASSWORD} or --password-file")
    whole.add_argument("--password-file", type=Path, help="a file whose first line is the password")
    whole.add_argument("--ca", type=Path, help="PEM file of the certificates that are trusted (default: the system's)")
    whole.add_argument("--cert", type=Path, help="PEM file of the client's certificate, perhaps with its key")
    whole.add_argument("--key", type=Path, help="PEM file of the client's key")
    whole.add_argument("--timeout", type=float, default=90.0, help="of each request, in seconds (default: %(default)s)")
    whole.add_argument("--json", action="store_true", help="print JSON")


def _add_lifecycle(words: Any) -> None:
    restart = words.add_parser("restart", help="restart connectors")
    restart.add_argument("name", nargs="+")
    restart.add_argument("--tasks", action="store_true", help="with their tasks")
    restart.add_argument("--only-failed", action="store_true", help="only what has failed")
    restart.add_argument("--task", type=int, help="this task alone")
    for word, text in (
        ("pause", "stop reading and writing; tasks keep what they have opened"),
        ("resume", "continue after pause or stop"),
        ("stop", "end the tasks; the connector stays"),
        ("delete", "remove connectors from the cluster"),
    ):
        words.add_parser(word, help=text).add_argument("name", nargs="+")


def main(argv: Sequence[str] | None = None) -> int:
    return run_subcommand(parser(), {word: _guarded(action) for word, action in ACTIONS.items()}, argv)


def _guarded(action: Action) -> Action:
    def run(given: argparse.Namespace) -> int | None:
        try:
            return action(given)
        except ConnectRequestError as error:
            raise ToolError(_sentence(error)) from None

    return run


def _sentence(error: ConnectRequestError) -> str:
    if error.status == 401:
        return f"The worker wants another user or password ({error}): give --user, and ${PASSWORD} or --password-file"
    return str(error)


def client_of(given: argparse.Namespace) -> ConnectClient:
    """Return the client that the command line describes. Raises ToolError, ConnectRequestError."""
    tls = None
    if given.ca or given.cert:
        import ssl

        try:
            tls = ssl.create_default_context(cafile=given.ca)
            if given.cert:
                tls.load_cert_chain(given.cert, given.key)
        except OSError as error:  # ssl.SSLError is one
            raise ToolError(f"--ca, --cert or --key cannot be used: {error}") from None
    return ConnectClient(given.url, _user(given), tls, given.timeout)


def _user(given: argparse.Namespace) -> tuple[str, str] | None:
    if given.user is None:
        return None
    if given.password_file is None:
        if PASSWORD not in os.environ:
            raise ToolError(f"--user needs a password: set ${PASSWORD}, or give --password-file")
        return given.user, os.environ[PASSWORD]
    try:
        return given.user, given.password_file.read_text().partition("\n")[0].rstrip("\r")
    except OSError as error:
        raise ToolError(f"{given.password_file}: {error.strerror}") from None


# -- looking


def list_connectors(given: argparse.Namespace) -> None:
    found = client_of(given).connectors()
    rows = [
        (name, each["info"]["type"], each["info"]["config"].get("connector.class", "")) for name, each in found.items()
    ]
    if given.json:
        _print_json([{"name": name, "type": kind, "class": class_name} for name, kind, class_name in sorted(rows)])
    else:
        tables.print_table(("NAME", "TYPE", "CLASS"), sorted(rows))


def status(given: argparse.Namespace) -> int:
    client = client_of(given)
    if given.name:
        found = {name: client.get("connectors", name, "status") for name in given.name}
    else:
        found = {name: each["status"] for name, each in sorted(client.connectors().items())}
    if given.json:
        _print_json(list(found.values()))
    else:
        tables.print_states(found.values(), given.trace)
    return DIFFERENT if any(tables.has_failed(each) for each in found.values()) else 0


def plugins(given: argparse.Namespace) -> None:
    client = client_of(given)
    if given.name:
        configs = client.get("connector-plugins", given.name, "config")
        if given.json:
            _print_json(configs)
        else:
            tables.print_configs(configs)
        return
    found = client.get("connector-plugins", connectorsOnly=str(not given.all).lower())
    if given.json:
        _print_json(found)
    else:
        tables.print_table(
            ("TYPE", "CLASS", "VERSION"), [(each["type"], each["class"], each.get("version") or "") for each in found]
        )


def logs(given: argparse.Namespace) -> None:
    client = client_of(given)
    if given.level:
        query = "?scope=cluster" if given.cluster else ""
        changed = client.request("PUT", client.path("admin", "loggers", given.logger) + query, {"level": given.level})
        if changed is not None and given.json:
            _print_json(changed)
        elif changed is not None:
            print("\n".join(f"{logger}: {given.level.upper()}" for logger in changed))
        return
    found = client.get("admin", "loggers", given.logger) if given.logger else client.get("admin", "loggers")
    levels = {given.logger: found} if given.logger else found
    if given.json:
        _print_json(found)
    else:
        tables.print_table(("LOGGER", "LEVEL"), [(name, each["level"] or "") for name, each in sorted(levels.items())])


# -- files


def plan(given: argparse.Namespace) -> int:
    steps = _steps(client_of(given), given)
    _print_plan(steps, given.json)
    return DIFFERENT if given.check and any(step.step is not PlanStep.KEEP for step in steps) else 0


def apply(given: argparse.Namespace) -> None:
    client = client_of(given)
    steps = _steps(client, given)
    if not given.json:
        _print_plan(steps, False)
    todo = [step for step in steps if step.step is not PlanStep.KEEP]
    if todo and not given.yes:
        _ask()
    errors = {step.name: _errors(client, step.after) for step in todo if step.file is not None}
    wrong = [f"{name}: {error}" for name, found in errors.items() for error in found]
    if wrong:
        raise ToolError(f"Nothing was changed, because the worker finds errors: {'; '.join(wrong)}")
    for step in sorted(todo, key=lambda step: step.step is PlanStep.DELETE):
        _carry_out(client, step)
        if not given.json:
            print(f"{step.name}: {tables.DONE[step.step]}")
    if given.json:
        _print_plan(steps, True)


def _steps(client: ConnectClient, given: argparse.Namespace) -> list[PlannedConnector]:
    files = read_directory(given.dir)
    cluster = {name: each["info"]["config"] for name, each in client.connectors().items()}
    return make_plan(files.values(), cluster, given.prune)


def _ask() -> None:
    if not sys.stdin.isatty():
        raise ToolError("Nothing was changed: there is no terminal to ask at; --yes applies the plan without asking")
    if input("Apply this plan? [y/N] ").strip().lower() not in ("y", "yes"):
        raise ToolError("Nothing was changed")


def _carry_out(client: ConnectClient, step: PlannedConnector) -> None:
    if step.file is None:
        client.delete(step.name)
    elif step.step is PlanStep.CREATE:
        client.create(
            step.name,
            step.after,
            None if step.file.state is None else step.file.state.name.replace("STARTED", "RUNNING"),
        )
    else:
        client.put_config(step.name, step.after)


def _print_plan(steps: Sequence[PlannedConnector], as_json: bool) -> None:
    if as_json:
        _print_json(
            [{"name": step.name, "step": step.step.name.lower(), "changes": list(step.lines())} for step in steps]
        )
    else:
        tables.print_plan(steps)


def validate(given: argparse.Namespace) -> int:
    client = client_of(given)
    found = {str(path): _errors(client, read_file(path).config) for path in given.file}
    if given.json:
        _print_json(found)
    else:
        for path, errors in found.items():
            print("\n".join(f"{path}: {error}" for error in errors) if errors else f"{path}: valid")
    return int(any(found.values()))


def _errors(client: ConnectClient, config: Any) -> list[str]:
    class_name = config.get("connector.class")
    if not class_name:
        return ["connector.class is missing"]
    configs = client.validate(class_name, config)["configs"]
    return [f"{each['value']['name']}: {error}" for each in configs for error in each["value"]["errors"]]


# -- changing


def restart(given: argparse.Namespace) -> None:
    client = client_of(given)
    for name in given.name:
        if given.task is None:
            client.restart(name, given.tasks, given.only_failed)
        else:
            client.restart_task(name, given.task)
        _say(given, f"{name}: restarted" if given.task is None else f"{name}: task {given.task} is restarted")


def change_state(given: argparse.Namespace) -> None:
    client = client_of(given)
    for name in given.name:
        client.change_state(name, given.action)
        _say(given, f"{name}: {tables.REQUESTED[given.action]}")


def delete(given: argparse.Namespace) -> None:
    client = client_of(given)
    for name in given.name:
        client.delete(name)
        _say(given, f"{name}: deleted")


def offsets(given: argparse.Namespace) -> None:
    client = client_of(given)
    if given.what == "reset":
        _say(given, client.reset_offsets(given.name))
    elif given.what == "alter":
        _say(given, client.alter_offsets(given.name, _offsets_of(given.file)))
    elif given.json:
        _print_json({"offsets": client.offsets(given.name)})
    else:
        rows = [(json.dumps(each["partition"]), json.dumps(each["offset"])) for each in client.offsets(given.name)]
        tables.print_table(("PARTITION", "OFFSET"), rows)


def _offsets_of(path: str | None) -> list[dict[str, Any]]:
    if path is None:
        raise ToolError("offsets alter needs --file")
    try:
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ToolError(f"{path} is no JSON: {error}") from None
    found = document.get("offsets") if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise ToolError(f'{path}: an object {{"offsets": […]}} is expected')
    return found


def _say(given: argparse.Namespace, sentence: str) -> None:
    if given.json:
        _print_json({"message": sentence})
    else:
        print(sentence)


def _print_json(content: Any) -> None:
    print(json.dumps(content, ensure_ascii=False, indent=2))


ACTIONS: Final[dict[str, Action]] = {
    "list": list_connectors,
    "status": status,
    "plan": plan,
    "apply": apply,
    "validate": validate,
    "restart": restart,
    **dict.fromkeys(("pause", "resume", "stop"), change_state),
    "delete": delete,
    "offsets": offsets,
    "plugins": plugins,
    "logs": logs,
}
"""The function of each subcommand."""


if __name__ == "__main__":
    sys.exit(main())
