"""JAAS strings and files as Java reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.security.jaas import (
    DISALLOWED_LOGIN_MODULES,
    JaasConfigError,
    LoginModule,
    check_allowed,
    module_option,
    parse_jaas_config,
    parse_jaas_file,
    server_section,
    single_module,
    user_passwords,
)

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"

# Kafka's documentation, "Authentication using SASL/PLAIN".
DOCUMENTED_FILE = """
KafkaServer {
    org.apache.kafka.common.security.plain.PlainLoginModule required
    username="admin"
    password="admin-secret"
    user_admin="admin-secret"
    user_alice="alice-secret";
};
"""


def options_of(text: str) -> dict[str, str]:
    return single_module(parse_jaas_config(text)).options


def test_the_documented_string() -> None:
    module = single_module(
        parse_jaas_config(f'{PLAIN} required \\\n username="alice" \\\n password="alice-secret";'.replace("\\\n", ""))
    )
    assert module == LoginModule(PLAIN, "required", {"username": "alice", "password": "alice-secret"})


def test_the_documented_file() -> None:
    sections = parse_jaas_file(DOCUMENTED_FILE)
    modules = server_section(sections, "SASL")
    assert dict(user_passwords(modules, PLAIN)) == {"admin": "admin-secret", "alice": "alice-secret"}
    assert module_option(modules, "username", PLAIN) == "admin"
    assert module_option(modules, "username", SCRAM) is None
    assert module_option(modules, "nothing") is None


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"plain"', "plain"),
        ("'single'", "single"),
        ("bare", "bare"),
        ("a.b-c_d$9", "a.b-c_d$9"),
        ('""', ""),
        (r'"a\"b"', 'a"b'),
        (r'"a\\b"', "a\\b"),
        (r'"tab\there"', "tab\there"),
        (r'"\101\60"', "A0"),
        (r'"\1234"', "S4"),
        (r'"\777"', "?7"),
        (r'"\z"', "z"),
        ('"a;b=c//d/*e"', "a;b=c//d/*e"),
        ("'it\"s'", 'it"s'),
        ('"ümläut ☃"', "ümläut ☃"),
        ("schlüssel☃", "schlüssel☃"),
    ],
)
def test_values(written: str, value: str) -> None:
    assert options_of(f"x.M required v={written};")["v"] == value


@pytest.mark.parametrize("equals", ["=", " = ", "=\n", "\t=\t"])
def test_blanks_around_the_equals_sign(equals: str) -> None:
    assert options_of(f'x.M required v{equals}"w" ;') == {"v": "w"}


def test_comments() -> None:
    text = """// first
    x.M /* the
    class */ required // flag
    / a lone slash begins a comment, too
    v="w" /* empty: */ /**/ w="x";
    // last"""
    assert options_of(text) == {"v": "w", "w": "x"}


def test_a_value_ends_where_a_comment_begins() -> None:
    with pytest.raises(JaasConfigError, match="expected an option or ';'"):
        parse_jaas_config("x.M required keyTab=dir/file;")


def test_a_line_end_closes_a_quote_as_in_java() -> None:
    assert options_of('x.M required v="open\nw="x";') == {"v": "open", "w": "x"}


def test_flags_in_any_case() -> None:
    assert [m.control_flag for m in parse_jaas_config("a Required; b SUFFICIENT; c optional; d requisite;")] == [
        "required",
        "sufficient",
        "optional",
        "requisite",
    ]


def test_the_last_of_two_equal_options_counts() -> None:
    assert options_of("x.M required v=a v=b;") == {"v": "b"}


def test_a_string_must_have_one_module() -> None:
    with pytest.raises(JaasConfigError, match="contains 2 login modules, should be 1 module"):
        single_module(parse_jaas_config("a required; b required;"), "listener.name.sasl.plain.sasl.jaas.config")


SECRET = "geheim"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "it names no login module"),
        ("  // nothing", "it names no login module"),
        ("x.M", "expected a control flag"),
        ("x.M;", "line 1, column 4: expected a control flag"),
        (f"x.M {SECRET};", "line 1, column 5: the control flag must be"),
        ("; required", "line 1, column 1: expected the class of a login module"),
        (f'x.M required\npassword="{SECRET}"', "expected an option or ';', but the text ends in line 2, column 18"),
        (f"x.M required\npassword {SECRET};", "line 2, column 10: expected '='"),
        (f"x.M required password=a {SECRET};", "column 31: expected '='"),
        ("x.M required password=;", "column 23: expected the value of an option"),
        ("x.M required v=3;", "column 16: expected the value of an option; what does not begin with a letter"),
        (f"x.M required v=-{SECRET};", "column 16: expected the value of an option; what does not begin with a letter"),
        (f"x.M required v={SECRET}@x;", "column 22: expected an option or ';'; what does not begin"),
        ("x.M { option1=3;", "column 5: expected a control flag"),
        ("x.M required =;", "column 14: expected an option or ';'"),
        (f'x.M required password="{SECRET};', "the quote that opens in line 1, column 23 is not closed"),
        (f'x.M required password="{SECRET}\\', "expected the value|the text ends|expected an option"),
        (f"x.M required /* password={SECRET};", "expected an option"),
    ],
)
def test_errors_name_place_and_cause_and_no_secret(text: str, cause: str) -> None:
    with pytest.raises(JaasConfigError, match=cause) as caught:
        parse_jaas_config(text)
    assert SECRET not in str(caught.value)
    assert str(caught.value).startswith("sasl.jaas.config")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("KafkaServer", r"expected '\{', but the text ends"),
        ("KafkaServer { x.M required; }", "expected ';', but the text ends"),
        ("KafkaServer { x.M required; ", "expected the class of a login module, but"),
        ("KafkaServer {\n x.M required; };\nKafkaServer { };", "line 3, column 1: a section of this name"),
        ("{ };", "column 1: expected the name of a section"),
        ('K { x.M required v="${home}/k"; };', "column 20: the value refers to a property that is not set"),
    ],
)
def test_errors_of_files(text: str, cause: str) -> None:
    with pytest.raises(JaasConfigError, match=cause) as caught:
        parse_jaas_file(text, "/etc/kafka/jaas.conf")
    assert str(caught.value).startswith("/etc/kafka/jaas.conf")


def test_files_have_sections_and_several_modules() -> None:
    text = f"""
    KafkaServer {{ {PLAIN} required user_a="1"; {SCRAM} required; }};
    "sasl.KafkaServer" {{ {SCRAM} required v="${{home}}${{/}}x"; }};
    Client {{ }};
    """
    sections = parse_jaas_file(text, properties={"home": "/h"})
    assert [m.name for m in sections["KafkaServer"]] == [PLAIN, SCRAM]
    assert server_section(sections, "SASL")[0].options == {"v": "/h/x"}
    assert server_section(sections, "OTHER") == sections["KafkaServer"]
    assert sections["Client"] == ()
    with pytest.raises(JaasConfigError, match=r"no section .KafkaServer. or .sasl\.KafkaServer. for listener SASL"):
        server_section({}, "SASL")


def test_strings_have_no_properties() -> None:
    assert options_of('x.M required v="${home}";') == {"v": "${home}"}


def test_options_may_be_quoted_too() -> None:
    assert options_of('x.M required "prop name"=propValue;') == {"prop name": "propValue"}


def test_modules_that_are_not_allowed() -> None:
    """CVE-2023-25194, CVE-2025-27818."""
    for name in DISALLOWED_LOGIN_MODULES:
        with pytest.raises(JaasConfigError, match=f"^here: {name} is not allowed"):
            check_allowed(parse_jaas_config(f"{name} required;"), "here")
    check_allowed(parse_jaas_config(f"{PLAIN} required;"), "here")


def test_repr_shows_no_value() -> None:
    assert SECRET not in repr(parse_jaas_config(f"x.M required password={SECRET};"))


@given(st.text(alphabet="ab\"'\\;={}/* \n\t\u2603$", max_size=60))
def test_garbage_is_read_or_refused(text: str) -> None:
    for parse in (parse_jaas_config, parse_jaas_file):
        try:
            parse(text)
        except JaasConfigError:
            pass


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    )
)
def test_what_is_quoted_is_read(options: dict[str, str]) -> None:
    def quoted(value: str) -> str:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
        return f'"{escaped}"'

    text = " ".join(f"{option}={quoted(value)}" for option, value in options.items())
    assert options_of(f"x.M required {text};") == options
