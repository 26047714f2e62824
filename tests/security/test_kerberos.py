"""Names of Kerberos and rules for short ones; rules of Kafka's documentation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.patterns import PatternError
from kafkapy.security.java_substitution import JavaSubstitution
from kafkapy.security.kerberos import (
    KerberosName,
    KerberosRuleError,
    KerberosShortNamer,
    NoMatchingKerberosRuleError,
    parse_kerberos_name,
)


def short(name: str, *rules: str) -> str:
    return KerberosShortNamer(rules, "REALM.COM").short_name(parse_kerberos_name(name))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("App.service-name/example.com@REALM.COM", ("App.service-name", "example.com", "REALM.COM")),
        ("user@REALM.COM", ("user", None, "REALM.COM")),
        ("user", ("user", None, None)),
        ("user/host", ("user/host", None, None)),
    ],
)
def test_names(text: str, parts: tuple[str, str | None, str | None]) -> None:
    name = parse_kerberos_name(text)
    assert name == KerberosName(*parts)
    assert str(name) == text


@pytest.mark.parametrize("text", ["a@b@c", "a/b/c@R", "a@b/c"])
def test_malformed_names(text: str) -> None:
    with pytest.raises(ValueError, match="Malformed Kerberos name"):
        parse_kerberos_name(text)


APP = (r"RULE:[1:$1](App\..*)s/App\.(.*)/$1/g", r"RULE:[2:$1](App\..*)s/App\.(.*)/$1/g", "DEFAULT")


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        (APP, "App.service-name/example.com@REALM.COM", "service-name"),
        (APP, "App.service-name@REALM.COM", "service-name"),
        (APP, "user/host@REALM.COM", "user"),
        (("RULE:[1:$1@$0](.*@MYDOMAIN.COM)s/@.*//", "DEFAULT"), "user@MYDOMAIN.COM", "user"),
        (("RULE:[1:$1@$0](.*@MYDOMAIN.COM)s/@.*//", "DEFAULT"), "other@REALM.COM", "other"),
        (("RULE:[1:$1]/L",), "User@REALM.COM", "user"),
        (("RULE:[1:$1]/U",), "User@REALM.COM", "USER"),
        (("RULE:[1:$1]",), "User@REALM.COM", "User"),
        (("RULE:[2:$1](App.*)s/App/x/L", "RULE:[2:$1.$2]"), "Foo/bar@R", "Foo.bar"),
        (("RULE:[1:$1]s/a/b/",), "aaa@R", "baa"),
        (("RULE:[1:$1]s/a/b/g",), "aaa@R", "bbb"),
        (("RULE:[1:$1]s/A/b//L",), "AAX@R", "bax"),
        (("RULE:[1:$1]s/A/b/g/U",), "AAx@R", "BBX"),
        (("DEFAULT",), "plain", "plain"),
        ((), "plain", "plain"),
    ],
)
def test_rules(rules: tuple[str, ...], name: str, expected: str) -> None:
    assert short(name, *rules) == expected


@pytest.mark.parametrize(
    ("rules", "name", "cause"),
    [
        (("DEFAULT",), "user@OTHER", "No rules apply to user@OTHER, rules \\[DEFAULT\\]"),
        ((), "user@REALM.COM", "No rules apply"),
        (("RULE:[2:$1]",), "user@REALM.COM", "No rules apply"),
        (("RULE:[1:$1@$0]",), "user@REALM.COM", "Non-simple name user@REALM.COM after auth_to_local rule"),
    ],
)
def test_names_without_a_rule(rules: tuple[str, ...], name: str, cause: str) -> None:
    with pytest.raises(NoMatchingKerberosRuleError, match=cause):
        short(name, *rules)


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "default",
        "DEFAULT/L",
        "RULE:[1:$1",
        "RULE:[:$1]",
        "RULE:[1:$]",
        "RULE:[1:$2]",
        "RULE:[1:$1](a",
        "RULE:[1:$1](*)",
        "RULE:[1:$1]s/a/b",
        "RULE:[1:$1]s/a/$1/",
        "RULE:[1:$1]s/a/b/gg",
        "RULE:[1:$1]s/a/b/L/g",
        "RULE:[1:$1]/LU",
    ],
)
def test_malformed_rules(rule: str) -> None:
    with pytest.raises(KerberosRuleError, match="Invalid rule"):
        KerberosShortNamer([rule])


@pytest.mark.parametrize(
    ("pattern", "replacement", "text", "expected"),
    [
        (r"(a)(b)?", "[$1$2]", "aab", "[a][ab]"),
        ("a", r"\$1\\", "a", "$1\\"),
        (r"(?<x>a)", "${x}${x}", "a", "aa"),
        ("(a)", "$10", "a", "a0"),
        ("b", "c", "a", "a"),
        ("", "-", "ab", "-a-b-"),
    ],
)
def test_substitutions(pattern: str, replacement: str, text: str, expected: str) -> None:
    assert JavaSubstitution(pattern, replacement).replace_all(text) == expected


@pytest.mark.parametrize(
    ("pattern", "replacement"), [("(", ""), ("a", "$"), ("a", "$1"), ("a", "\\"), ("a", "${x}"), ("a", "${")]
)
def test_malformed_substitutions(pattern: str, replacement: str) -> None:
    with pytest.raises(PatternError):
        JavaSubstitution(pattern, replacement)


@given(st.text(alphabet="RULE:[]12$()s/agLUDEFAULT.*", max_size=30))
def test_garbage_is_read_or_refused(rule: str) -> None:
    try:
        namer = KerberosShortNamer([rule], "R")
    except KerberosRuleError:
        return
    for name in ("a@R", "a/b@R", "a"):
        try:
            namer.short_name(parse_kerberos_name(name))
        except NoMatchingKerberosRuleError:
            pass
