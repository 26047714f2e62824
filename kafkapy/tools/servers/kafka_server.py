"""kafka-server-start: runs one broker until a signal stops it (Kafka's `kafka.Kafka`)."""

from __future__ import annotations

import faulthandler
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kafkapy import compiled
from kafkapy.common import capabilities, logger_levels
from kafkapy.common.extras import MissingExtra, need
from kafkapy.common.light_imports import hide_packages, import_lazily
from kafkapy.runtime import garbage
from kafkapy.tools.servers import thread_dump, watchdog
from kafkapy.tools.servers.server_arguments import FOR_A_JVM, USAGE, ServerArguments, configs_of, log_levels

SWITCH_SECONDS = 0.00005
"""The interpreter's switch interval: how long another thread (cleaner, controller, encoder of a response) keeps the
interpreter while the reactor waits for it (Python's default: 5 ms). The reactor releases it for each read, write and
wait, so a request may have to wait four times."""

TIMER_SLACK = Path("/proc/self/timerslack_ns")
"""Option of prctl: timer slack of the calling thread, and of threads that it starts."""

DAEMON = "KAFKAPY_DAEMON"
"""Set for a process whose output goes to a file that is never rotated: after its start the broker logs to its own
files only."""

MACOS_OPEN_MAX = 10_240
"""The largest limit of open files that macOS accepts."""

CONTROL = "KAFKAPY_CONTROL"
"""Set by a test that has started the broker: see `kafkapy.testing.control.wire`."""

SessionListeners = list[Callable[[Any], None]]
"""Called with each new ZooKeeper session."""

log = logging.getLogger("kafkapy.server.KafkaServer")


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        print(USAGE, file=sys.stderr)
        return 1
    if arguments[0] in ("--version", "--help"):
        return _information(arguments[0])
    try:
        capabilities.require_server_support("kafkapy's broker")
        if arguments[0] == "-daemon":
            return _start_daemon(arguments[1:])
        need("broker", "twisted", "kazoo", by="The broker")
    except (capabilities.UnsupportedSystem, MissingExtra) as missing:
        print(missing, file=sys.stderr)
        return 1
    garbage.pause()  # imported modules are permanent: until `configure` there is no garbage to collect
    _set_scheduling()
    import_lazily("pickle")  # errors of log handlers that a broker does not have
    from kafkapy.common.config_def import ConfigException
    from kafkapy.common.logging_setup import default_log_dir, setup_logging
    from kafkapy.server.config.startup_warnings import log_config
    from kafkapy.server.metrics.config import HEALTH_LISTENER, HttpAddress, MetricsConfig
    from kafkapy.server.security.audit.audit_config import AuditConfig
    from kafkapy.tools.servers.schema_gate import install_schema_gate
    from kafkapy.zk.embedded.connect import EmbeddedConnect

    try:
        given = ServerArguments.parse(arguments)
        properties = given.properties(os.environ)
        with_watchdog = _watchdog_enabled(properties)
        metrics = MetricsConfig.take_from(properties)
        health = HttpAddress.take_from(properties, HEALTH_LISTENER)
        audit = AuditConfig.take_from(properties, default_log_dir())
        install_schema_gate(properties)
        thread_dump.dump_on_sigquit()
        setup_logging()
        if given.with_environment:
            _log_environment(os.environ)
        config = _broker_config(properties)
        log_config(config, _own_configs())
        log.info("The hot paths run as %s", "machine code" if compiled.is_used() else "plain Python")
    except (ConfigException, OSError, ValueError) as error:
        garbage.resume()
        print(f"{_sentence(error)}", file=sys.stderr)
        return 1
    # The watchdog would outlive the embedded ZooKeeper, whose next start closes the session.
    is_embedded = EmbeddedConnect.parse(config.zookeeper_connect, config.log_dirs[0]) is not None
    started = _start_watchdog() if with_watchdog and not is_embedded else None
    session_listeners: SessionListeners = [] if started is None else [started.tell]
    return _run(config, _zookeeper(config, is_embedded, session_listeners), session_listeners, metrics, health, audit)


def _broker_config(properties: Mapping[str, str]) -> Any:
    """The `KafkaConfig`. A `ConfigException` lists names that may be misspelt in its advice."""
    from kafkapy.common.config_def import ConfigException
    from kafkapy.server.config.kafka_config import KafkaConfig
    from kafkapy.server.config.startup_warnings import misspelt
    from kafkapy.zk.client_security import require_servable
    from kafkapy.zk.embedded.connect import EmbeddedConnect

    try:
        config = KafkaConfig.from_properties(properties)
    except ConfigException as error:
        advice = filter(None, [error.advice, *misspelt(properties, _own_configs())])
        raise ConfigException(str(error), ". ".join(advice)) from None
    is_embedded = EmbeddedConnect.parse(config.zookeeper_connect, config.log_dirs[0]) is not None
    require_servable(properties, config.zookeeper_set_acl, is_embedded)
    return config


def _own_configs() -> tuple[str, ...]:
    """kafkapy's own configs, which are removed before the properties become Kafka's configs."""
    from kafkapy.server.metrics.config import HEALTH_LISTENER, LISTENER, MAX_SERIES
    from kafkapy.server.security.audit import audit_config
    from kafkapy.tools.servers import schema_gate

    return (
        *(LISTENER, MAX_SERIES, HEALTH_LISTENER, watchdog.ENABLE_CONFIG),
        *schema_gate.CONFIGS,
        *audit_config.CONFIGS,
    )


def _set_scheduling() -> None:
    """Set the interpreter's switch interval and the timer slack.

    A thread that waits for the interpreter waits by a timer, which the kernel would delay by the default slack.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    with suppress(OSError):
        TIMER_SLACK.write_text("1000")


def _information(option: str) -> int:
    if option == "--help":
        print(USAGE)
        return 0
    from kafkapy.clients.software import VERSION_LINE

    print(VERSION_LINE)
    return 0


def _sentence(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return (
            f"{error.filename}: no such file. Give the path of a server.properties file, e.g. config/server.properties."
        )
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return getattr(error, "with_advice", str(error))


def _log_environment(environment: Mapping[str, str]) -> None:
    """Set the loggers' levels, which take precedence over logging.properties, and log the configs from the environment.

    Only names are logged, since values may be secrets.
    """
    for name, level in log_levels(environment).items():
        logger_levels.set_level(name, level)
    configs = ", ".join(f"{name} ({key})" for name, key in configs_of(environment).items())
    log.info("Configs from the environment: %s", configs or "none")
    if unused := sorted(FOR_A_JVM & environment.keys()):
        log.warning("These variables are for a JVM and have no effect here: %s", ", ".join(unused))


def _watchdog_enabled(properties: dict[str, str]) -> bool:
    """Is the watchdog enabled? The config, which is none of Kafka's, is removed from the properties."""
    text = properties.pop(watchdog.ENABLE_CONFIG, "true").strip().lower()
    if text not in ("true", "false"):
        raise ValueError(
            f"Invalid value {text} for configuration {watchdog.ENABLE_CONFIG}: Expected value to be either true or false"
        )
    return text == "true"


def _start_watchdog() -> watchdog.Watchdog | None:
    if not capabilities.PIDFD:
        log.info(
            "The watchdog is off: it needs a pidfd. If this broker is killed, its ZooKeeper session stays until it expires"
        )
        return None
    try:
        started = watchdog.start()
    except OSError as error:
        log.warning("The watchdog is off, it can't be started: %s", error)
        return None
    log.info("The watchdog is process %d", started.pid)
    return started


def _start_daemon(arguments: list[str]) -> int:
    """Start the broker in a session of its own, with its output in the log directory (`kafkaServer.out`)."""
    from kafkapy.common.logging_setup import default_log_dir

    directory = default_log_dir()
    os.makedirs(directory, exist_ok=True)
    command = [sys.executable, "-m", "kafkapy.tools.kafka_server_start", *arguments]
    environment = {**os.environ, DAEMON: "1"}
    with open(os.path.join(directory, "kafkaServer.out"), "ab") as out:
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=environment
        )
    return 0


def _raise_open_files_limit() -> None:
    """Raise the limit of open files: a broker has a descriptor for each segment in use and each connection."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (hard, MACOS_OPEN_MAX):
        if soft in (resource.RLIM_INFINITY, limit):
            return
        with suppress(OSError, ValueError):  # on macOS `hard` may exceed the largest accepted value
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return


def _control(reactor: Any) -> Any:
    """The control connection of a test that has started the broker; otherwise None, and its modules are not imported."""
    if CONTROL not in os.environ:
        return None
    from kafkapy.testing.control.broker_control import BrokerControl
    from kafkapy.testing.control.wire import ControlEnd

    end = ControlEnd.take_from(os.environ)
    assert end is not None
    return BrokerControl(reactor, end)


def _zookeeper(config: Any, is_embedded: bool, session_listeners: SessionListeners) -> Any:
    """The connector to ZooKeeper, which calls each of `session_listeners` with every new session.

    Unless ZooKeeper is embedded, the connector begins with the first session at once.
    """
    from kafkapy.server.zookeeper_connector import ZooKeeperConnector

    def on_session(session: Any) -> None:
        for each in session_listeners:
            each(session)

    connector = ZooKeeperConnector(config, on_session)
    if not is_embedded and CONTROL not in os.environ:
        connector.begin()
    return connector


def _install_reactor() -> Any:
    """Install the reactor, without Twisted's TLS and web clients: some 60 modules of 16 MB that no broker uses."""
    import_lazily("http.cookiejar")
    with hide_packages("OpenSSL"):
        from kafkapy.runtime.reactor import install_reactor

    install_reactor()
    from twisted.internet import reactor

    return reactor


def _run(config: Any, zookeeper: Any, listeners: SessionListeners, metrics: Any, health: Any, audit: Any) -> int:
    reactor = _install_reactor()
    from twisted.internet.defer import Deferred
    from twisted.python.log import PythonLoggingObserver

    from kafkapy.common.logging_setup import to_files_only
    from kafkapy.network.accept_errors import AcceptErrors
    from kafkapy.network.socket_server import ListenError
    from kafkapy.server.broker_identity import InconsistentBrokerError
    from kafkapy.server.kafka_server import KafkaServer
    from kafkapy.tools.servers.stop_signals import StopSignals

    log.info("%s", capabilities.summary(reactor.poller_name))
    faulthandler.enable()  # a crash in machine code prints the stacks on stderr
    _raise_open_files_limit()
    garbage.configure()
    logging.getLogger("kafkapy.twisted").setLevel(logging.WARNING)
    PythonLoggingObserver("kafkapy.twisted").start()
    AcceptErrors().start()
    control = _control(reactor)
    if control is not None:
        listeners.append(control.zk_session)
    server = KafkaServer(config, reactor, zookeeper, metrics, health, control, audit)
    status = 0

    async def start() -> None:
        nonlocal status
        try:
            await server.startup()
        except (ListenError, InconsistentBrokerError) as error:
            log.error("%s", error)
            status = 1
        except Exception as error:
            expected = type(error).__module__.startswith("kafkapy.")
            log.error("Exiting Kafka: %s", error, exc_info=None if expected else error)
            status = 1
        if control is not None:
            control.started() if not status else control.failed("its log says why")
        if status:
            reactor.stop()
        elif os.environ.get(DAEMON):
            to_files_only()

    async def stop() -> None:
        await server.shutdown()
        if server.starting:
            # Threads may recover logs for minutes. Ending them now does no more harm than a crash.
            log.info("Halting Kafka, which was still starting up")
            logging.shutdown()
            os._exit(1)

    reactor.callWhenRunning(StopSignals(reactor).install)
    if control is not None:
        reactor.callWhenRunning(control.open)
    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(start()))
    reactor.addSystemEventTrigger("before", "shutdown", lambda: Deferred.fromCoroutine(stop()))
    reactor.run()
    logging.shutdown()
    return status


if __name__ == "__main__":
    sys.exit(main())
