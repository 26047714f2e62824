"""Command lines as Kafka's tools read them, and how a tool starts and fails.

Kafka's tools use jopt-simple, whose habits differ from argparse's: an option is given as `--name value` or
`--name=value`, never abbreviated; one that needs a value takes the next word even if that begins with a dash
(`--shift-by -5`); an option may be repeated; the order of options can matter (`--entity-type`, `--entity-name`);
errors have fixed sentences.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from kafkapy.clients.software import VERSION_LINE


class CommandLineError(Exception):
    """Invalid options; the text is the message for the user."""


class ToolError(Exception):
    """The tool cannot do what was requested; the text is the message for the user."""


class ToolOption(NamedTuple):
    """One option. `argument`: the name of its value in the help, None if it takes none."""

    name: str
    help: str
    argument: str | None = None
    type: Callable[[str], Any] = str
    default: Any = None
    optional_argument: bool = False
    separator: str | None = None
    available_if: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"[{self.name}]"


def integer(text: str) -> int:
    """Parse a number as Java's `Integer.parseInt`: no spaces, no underscores."""
    digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(text)
    return int(text)


BOOTSTRAP_SERVER = ToolOption("bootstrap-server", "REQUIRED: the server(s) to connect to.", "host:port,host:port")
COMMAND_CONFIG = ToolOption("command-config", "A property file with configs for the admin client.", "property file")


class Options:
    """The parsed command line. Asking for an option that the tool does not define is a bug (KeyError)."""

    def __init__(self, defined: dict[str, ToolOption], given: list[tuple[str, str | None]]) -> None:
        self._defined = defined
        self.given = given
        """Name and value of each option in the order of the command line."""

    def has(self, name: str) -> bool:
        assert name in self._defined, name
        return any(given == name for given, _ in self.given)

    def count(self, names: Iterable[str]) -> int:
        return sum(self.has(name) for name in names)

    def values(self, name: str) -> list[Any]:
        """All values of an option, converted; its default, if it has one and was not given."""
        option = self._defined[name]
        texts = [value for given, value in self.given if given == name and value is not None]
        if option.separator is not None:
            texts = [piece for text in texts for piece in text.split(option.separator)]
        if not texts and option.default is not None:
            return [option.default]
        return [_convert(option, text) for text in texts]

    def value(self, name: str) -> Any:
        """The value of an option that may be given once; None if it has none."""
        values = self.values(name)
        if len(values) > 1:
            raise CommandLineError(f"Found multiple arguments for option {name}, but you asked for only one")
        return values[0] if values else None

    def require(self, *names: str) -> None:
        for name in names:
            if not self.has(name):
                raise CommandLineError(f'Missing required argument "{self._defined[name]}"')

    def exclude(self, used: str, others: Iterable[str]) -> None:
        """Raise CommandLineError if one of `others` was given together with `used`."""
        if not self.has(used):
            return
        for name in others:
            if self.has(name):
                raise CommandLineError(f'Option "[{used}]" can\'t be used with option "[{name}]"')


def _convert(option: ToolOption, text: str) -> Any:
    try:
        return option.type(text)
    except ValueError:
        raise CommandLineError(f"Cannot parse argument '{text}' of option {option.name}") from None


def _looks_like_an_option(option: ToolOption, word: str) -> bool:
    """Is the word after an option another option? A word with a dash is one, unless the option takes a number and the
    word is one."""
    if not word.startswith("-"):
        return False
    if option.type is str:
        return True
    try:
        option.type(word)
    except ValueError:
        return True
    return False


class OptionParser:
    """The options of one tool. `--help` and `--version` are added."""

    def __init__(self, description: str, *options: ToolOption) -> None:
        self.description = description
        standard = (ToolOption("help", "Print usage information."), ToolOption("version", "Display the version."))
        self.options = {option.name: option for option in (*options, *standard)}

    def parse(self, arguments: Sequence[str]) -> Options:
        """Parse a command line. Words that belong to no option are ignored, as in Kafka. Raises CommandLineError."""
        given: list[tuple[str, str | None]] = []
        words = list(arguments)
        position = 0
        while position < len(words):
            word = words[position]
            position += 1
            if word == "--":
                break
            if not word.startswith("-") or word == "-":
                continue
            name, equals, value = word.lstrip("-").partition("=")
            option = self.options.get(name)
            if option is None:
                raise CommandLineError(f"{name} is not a recognized option")
            if option.argument is None:
                if equals:
                    raise CommandLineError(f"Option {name} does not take an argument")
                given.append((name, None))
                continue
            if equals:
                given.append((name, value))
            elif position < len(words) and not (
                option.optional_argument and _looks_like_an_option(option, words[position])
            ):
                given.append((name, words[position]))
                position += 1
            elif option.optional_argument:
                given.append((name, None))
            else:
                raise CommandLineError(f"Option {name} requires an argument")
        options = Options(self.options, given)
        if not options.has("help") and not options.has("version"):
            self._check_availability(options)
        return options

    def _check_availability(self, options: Options) -> None:
        for option in self.options.values():
            if option.available_if and options.has(option.name) and not options.count(option.available_if):
                raise CommandLineError(
                    f"Option(s) [{option.name}] are unavailable given other options on the command line"
                )

    def usage(self, width: int | None = None) -> str:
        """The help: the description, then each option with its description."""
        import textwrap

        width = width or min(shutil.get_terminal_size().columns, 120)
        lines = [self.description, f"{'Option':<40} Description", f"{'------':<40} -----------"]
        for option in sorted(self.options.values()):
            title = f"--{option.name}"
            if option.argument is not None:
                title += f" [{option.argument}]" if option.optional_argument else f" <{option.argument}>"
            text = option.help if option.default is None else f"{option.help} (default: {option.default})"
            wrapped = textwrap.wrap(text, max(30, width - 41)) or [""]
            if len(title) > 40:
                lines.append(title)
                title = ""
            lines.append(f"{title:<40} {wrapped[0]}")
            lines += [" " * 41 + line for line in wrapped[1:]]
        return "\n".join(lines)


def run(parser: OptionParser, execute: Callable[[Options], int | None], arguments: Sequence[str] | None) -> int:
    """Run one tool and return its exit status.

    Without arguments it prints its usage. A failure is one sentence on stderr and status 1. The tool ends silently
    when the reader of its output closes the pipe (`| head`).
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        print(parser.usage(), file=sys.stderr)
        return 1

    def parse_and_execute() -> int | None:
        options = parser.parse(arguments)
        return 0 if has_printed_information(parser, options) else execute(options)

    return guard(parse_and_execute)


def has_printed_information(parser: OptionParser, options: Options) -> bool:
    """Print the usage or the version, if that was asked for."""
    if options.has("help"):
        print(parser.usage())
    elif options.has("version"):
        print_version()
    return options.has("help") or options.has("version")


def run_words(
    usage: str, help: Callable[[], str], execute: Callable[[list[str]], int | None], argv: Sequence[str] | None
) -> int:
    """Run a tool that takes words and no options, except --help and --version as the first word; returns its exit
    status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words:
        print(usage, file=sys.stderr)
        return 1
    if words[0] in ("--help", "--version"):
        print(help() if words[0] == "--help" else VERSION_LINE)
        return 0
    return guard(lambda: execute(words))


def guard(body: Callable[[], int | None]) -> int:
    """Run `body`; an exception becomes a sentence on stderr and an exit status."""
    from kafkapy.common.capabilities import UnsupportedSystem
    from kafkapy.protocol.errors import KafkaError

    try:
        status = body() or 0
        sys.stdout.flush()
        return status
    except (CommandLineError, ToolError, UnsupportedSystem) as error:
        return fail(str(error))
    except KafkaError as error:
        return fail(error.message)
    except SystemExit as ended:  # argparse has printed its help or the version
        return int(ended.code or 0)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Python flushes stdout at exit once more, which would fail: the reader has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def fail(sentence: str) -> int:
    """Print the error; returns the exit status for it."""
    sys.stdout.flush()
    print(" ".join(sentence.split()), file=sys.stderr)
    return 1


def refuse(sentence: str) -> NoReturn:
    raise ToolError(sentence)


def print_version() -> None:
    print(VERSION_LINE)
