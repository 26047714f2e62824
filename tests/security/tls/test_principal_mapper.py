"""Mapping rules: the cases of Kafka's SslPrincipalMapperTest, and what Java's replacements do."""

from __future__ import annotations

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.security.tls.principal_mapper import NoMatchingRuleError, SslPrincipalMapper


@pytest.mark.parametrize(
    "rules",
    [
        "DEFAULT",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, DEFAULT",
        "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/",
        "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L",
        "RULE:^cn=(.?),ou=(.?),dc=(.?),dc=(.?)$/$1@$2/U",
        "RULE:^CN=([^,ADEFLTU,]+)(,.*|$)/$1/",
        "RULE:^CN=([^,DEFAULT,]+)(,.*|$)/$1/",
    ],
)
def test_rules_that_are_taken(rules: str) -> None:
    SslPrincipalMapper(rules)


@pytest.mark.parametrize(
    "rules",
    [
        "default",
        "DEFAUL",
        "DEFAULT/L",
        "DEFAULT/U",
        "RULE:CN=(.*?),OU=ServiceUsers.*/$1",
        "rule:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/L",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/LU",
    ],
)
def test_rules_that_are_refused(rules: str) -> None:
    with pytest.raises(ConfigException, match="Invalid rule: "):
        SslPrincipalMapper(rules)


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("DEFAULT/L", "Invalid rule: `DEFAULT/L`, unmatched substring: `/L`"),
        ("RULE:CN=(/x/", "is not one of Java"),
        ("RULE:CN=.*/$1/", "names group 1, which the pattern lacks"),
        ("RULE:CN=(.*)/${name}/", "names a group name, which the pattern lacks"),
        ("RULE:CN=(.*)/a$b/", "a dollar must be followed by a group"),
    ],
)
def test_sentences(rules: str, sentence: str) -> None:
    with pytest.raises(ConfigException) as caught:
        SslPrincipalMapper(rules)
    assert sentence in str(caught.value)


def test_the_first_rule_that_matches() -> None:
    mapper = SslPrincipalMapper(
        ", ".join(
            (
                "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L",
                "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L",
                "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U",
                "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U",
                "DEFAULT",
            )
        )
    )
    assert mapper.name_of("CN=Duke,OU=ServiceUsers,O=Org,C=US") == "duke"
    assert mapper.name_of("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US") == "duke@sme"
    assert mapper.name_of("cn=duke,ou=sme,dc=mycp,dc=com") == "DUKE@SME"
    assert mapper.name_of("cN=duke,OU=JavaSoft,O=Sun Microsystems") == "DUKE"
    assert mapper.name_of("OU=JavaSoft,O=Sun Microsystems,C=US") == "OU=JavaSoft,O=Sun Microsystems,C=US"


@pytest.mark.parametrize(
    ("rules", "shown"),
    [
        ("", "[]"),
        ("DEFAULT", "[DEFAULT]"),
        ("RULE://", "[RULE:/]"),
        ("RULE:/.*/", "[RULE:/.*]"),
        ("RULE:/.*/L", "[RULE:/.*/L]"),
        ("RULE://,DEFAULT", "[RULE:/, DEFAULT]"),
        ("  RULE:// ,  DEFAULT  ", "[RULE:/, DEFAULT]"),
        ("  RULE:   /     / ,  DEFAULT  ", "[RULE:   /     , DEFAULT]"),
        ("  RULE:  /     /U   ,DEFAULT  ", "[RULE:  /     /U, DEFAULT]"),
        (
            "  RULE:([A-Z]*)/$1/U   ,RULE:([a-z]+)/$1/,   DEFAULT  ",
            "[RULE:([A-Z]*)/$1/U, RULE:([a-z]+)/$1, DEFAULT]",
        ),
        (",   , , ,      , , ,   ", "[]"),
        (",,RULE://,,,DEFAULT,,", "[RULE:/, DEFAULT]"),
        (",  , RULE: /   /    ,,,   DEFAULT, ,   ", "[RULE: /   , DEFAULT]"),
        ("     ,  , RULE:   /  /U    ,,  ,DEFAULT, ,", "[RULE:   /  /U, DEFAULT]"),
        (r"RULE:\/\\\(\)\n\t/\/\//", r"[RULE:\/\\\(\)\n\t/\/\/]"),
        (r"RULE:\**\/+/*/L,RULE:\/*\**/**/", r"[RULE:\**\/+/*/L, RULE:\/*\**/**]"),
        (
            r"RULE:,RULE:,/,RULE:,\//U,RULE:,/RULE:,/,RULE:,RULE:,/L,RULE:,/L,RULE:, DEFAULT, /DEFAULT/,DEFAULT",
            r"[RULE:,RULE:,/,RULE:,\//U, RULE:,/RULE:,, RULE:,RULE:,/L,RULE:,/L, RULE:, DEFAULT, /DEFAULT, DEFAULT]",
        ),
    ],
)
def test_splitting(rules: str, shown: str) -> None:
    assert str(SslPrincipalMapper(rules)) == f"SslPrincipalMapper(rules = {shown})"


def test_a_comma_with_white_space() -> None:
    mapper = SslPrincipalMapper(r"RULE:^CN=((\\, *|\w)+)(,.*|$)/$1/,DEFAULT")
    assert mapper.name_of(r"CN=Tkac\, Adam,OU=ITZ,DC=geodis,DC=cz") == r"Tkac\, Adam"


@pytest.mark.parametrize(
    ("rule", "name", "found"),
    [
        ("RULE:CN=(a)(b)/$12/", "CN=ab", "a2"),
        ("RULE:CN=(a)/$3/", "CN=a", "$3"),
        ("RULE:CN=(a)/$1$3/", "CN=a", "a$3"),
        (r"RULE:CN=(a)/\$1/", "CN=a", "$1"),
        (r"RULE:CN=(a)/x\/y/", "CN=a", "x/y"),
        ("RULE:CN=(?<who>.*)/${who}!/", "CN=ann", "ann!"),
        ("RULE:CN=(a)|CN=(b)/<$1$2>/", "CN=b", "<b>"),
        ("RULE:.*/x/", "CN=b", "xx"),
        ("RULE:CN=(.*)/$0/", "CN=b", "CN=b"),
        ("RULE:CN=(.*)/$1/U", "CN=straße", "STRASSE"),
        (r"RULE:CN=(\p{Lu}\p{L}*)/$1/", "CN=Ärger", "Ärger"),
        ("RULE:CN=x/$/,DEFAULT", "", ""),
    ],
)
def test_replacements_of_java(rule: str, name: str, found: str) -> None:
    if "/$/" in rule:
        with pytest.raises(ConfigException):
            SslPrincipalMapper(rule)
    else:
        assert SslPrincipalMapper(rule).name_of(name) == found


def test_no_rule_matches() -> None:
    mapper = SslPrincipalMapper("RULE:CN=(a)/$1/L")
    with pytest.raises(NoMatchingRuleError) as caught:
        mapper.name_of("CN=b")
    assert str(caught.value) == "No rules apply to CN=b, rules [RULE:CN=(a)/$1/L]"


def test_a_rule_that_takes_too_long() -> None:
    mapper = SslPrincipalMapper(r"RULE:CN=(?:(?:a|aa)+)+b\1?(c)?/$1/,DEFAULT".replace(r"\1?", ""))
    with pytest.raises(NoMatchingRuleError, match="takes too long"):
        mapper.name_of("CN=" + "a" * 5000 + "d")
