"""Converts the Java clients' TLS and SASL configs to arguments of the Python clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafkapy.common.config_def import ConfigException
from kafkapy.common.extras import MissingExtra
from kafkapy.errors import KafkaConfigurationError
from kafkapy.security.import_path import ImportPathError, make_callback_handler
from kafkapy.security.jaas import JaasConfigError, LoginModule, parse_jaas_config, single_module

if TYPE_CHECKING:
    import ssl

    from kafkapy.clients.oauth_login import RefreshTimes, TokenEndpoint

_LOGIN_MODULES = {
    "org.apache.kafka.common.security.plain.PlainLoginModule",
    "org.apache.kafka.common.security.scram.ScramLoginModule",
}


_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_OAUTH_LOGINS = (f"{_OAUTH}.OAuthBearerLoginCallbackHandler", f"{_OAUTH}.secured.OAuthBearerLoginCallbackHandler")
_UNSECURED_LOGIN = f"{_OAUTH}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
_LOGINS = (
    None,
    f"{_OAUTH}.internals.OAuthBearerRefreshingLogin",
    "org.apache.kafka.common.security.authenticator.DefaultLogin",
    "org.apache.kafka.common.security.kerberos.KerberosLogin",
)
_HANDLERS = ("sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class")
"""Configs that may name the user's own class."""

_OAUTH_EXAMPLE = f'{_OAUTH}.OAuthBearerLoginModule required clientId="alice" clientSecret="secret";'
_KERBEROS_EXAMPLE = (
    'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/etc/alice.keytab" '
    'principal="alice@EXAMPLE.COM";'
)


_OPTION_FOR_FILE = {"ssl.truststore.location": "ssl_cafile", "ssl.keystore.location": "ssl_certfile"}
_WITH_OPTIONS = {
    *_OPTION_FOR_FILE,
    "ssl.truststore.type",
    "ssl.keystore.type",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
}


def tls_arguments(configs: Mapping[str, Any]) -> dict[str, Any]:
    """Return `ssl_*` options if PEM files suffice, else an `ssl_context`.

    Raises `KafkaConfigurationError`.
    """
    given = {name: value for name, value in configs.items() if value is not None}
    in_pem = all(
        str(given.get(name.replace("location", "type"), "JKS")).upper() == "PEM"
        for name in _OPTION_FOR_FILE
        if name in given
    )
    if not in_pem or not given.keys() <= _WITH_OPTIONS:
        return {"ssl_context": _context(configs)}
    arguments: dict[str, Any] = {}
    if "ssl.endpoint.identification.algorithm" in configs:
        arguments["ssl_check_hostname"] = bool(configs["ssl.endpoint.identification.algorithm"])
    arguments |= {option: given[name] for name, option in _OPTION_FOR_FILE.items() if name in given}
    if "ssl.key.password" in given:
        arguments["ssl_password"] = given["ssl.key.password"]
    return arguments


def _context(configs: Mapping[str, Any]) -> ssl.SSLContext:
    from kafkapy.security.tls.contexts import client_context

    try:
        return client_context(configs)
    except (ConfigException, MissingExtra) as error:
        raise KafkaConfigurationError(str(error)) from None


def sasl_arguments(configs: Mapping[str, Any]) -> dict[str, Any]:
    """Convert `sasl.mechanism`, `sasl.jaas.config` and the other `sasl.*`. Raises `KafkaConfigurationError`."""
    mechanism = configs.get("sasl.mechanism", "GSSAPI")
    login_class, handler = configs.get("sasl.login.class"), configs.get("sasl.login.callback.handler.class")
    handler = handler or (None if login_class in _LOGINS else login_class)
    if mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": _token_provider(configs, handler)}
    if mechanism == "GSSAPI":
        return {"sasl_mechanism": mechanism, **_kerberos(configs)}
    if mechanism not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        raise KafkaConfigurationError(
            f"sasl.mechanism={mechanism} is not supported: "
            "use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI"
        )
    handler = configs.get("sasl.client.callback.handler.class") or handler
    token_auth = False
    if handler is not None:
        user, password = _own(handler, "credentials", configs).credentials()
    else:
        options = jaas_options(configs.get("sasl.jaas.config") or "")
        user, password = options["username"], options["password"]
        # Only Kafka's ScramLoginModule has this option.
        token_auth = mechanism != "PLAIN" and options.get("tokenauth", "").lower() == "true"
    arguments: dict[str, Any] = {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }
    if token_auth:
        arguments["sasl_token_auth"] = True
    return arguments


def _modules(configs: Mapping[str, Any], like: str) -> LoginModule:
    """Parse the login module of `sasl.jaas.config`. Raises `KafkaConfigurationError`."""
    try:
        return single_module(parse_jaas_config(configs.get("sasl.jaas.config") or ""))
    except JaasConfigError as error:
        raise KafkaConfigurationError(f"{error}. sasl.jaas.config must read like: {like}") from error


def _own(path: str, method: str, configs: Mapping[str, Any]) -> Any:
    """Import and create the user's own handler. Raises `KafkaConfigurationError`."""
    text = configs.get("sasl.jaas.config")
    try:
        modules = parse_jaas_config(text) if text else ()
        name = next(name for name in _HANDLERS if configs.get(name) == path)
        return make_callback_handler(path, name, method, configs.get("sasl.mechanism", "GSSAPI"), configs, modules)
    except (ImportPathError, JaasConfigError) as error:
        raise KafkaConfigurationError(f"{error}. Java classes cannot be used, an import path can") from None


def _kerberos(configs: Mapping[str, Any]) -> dict[str, Any]:
    options: Mapping[str, str] = {}
    if configs.get("sasl.jaas.config"):
        options = _modules(configs, _KERBEROS_EXAMPLE).options
    service = configs.get("sasl.kerberos.service.name") or options.get("serviceName") or "kafka"
    uses_keytab = options.get("useKeyTab", "").lower() == "true"
    return {
        "sasl_kerberos_service_name": service,
        "sasl_kerberos_keytab": options.get("keyTab") if uses_keytab else None,
        "sasl_kerberos_principal": options.get("principal"),
    }


def _token_provider(configs: Mapping[str, Any], handler: str | None) -> Any:
    """Return the provider of tokens. Raises `KafkaConfigurationError`."""
    from kafkapy.clients.oauth_login import RefreshingTokens, extensions_of, token_file, unsecured_tokens

    if handler is not None and handler not in (_UNSECURED_LOGIN, *_OAUTH_LOGINS):
        return _own(handler, "token", configs)
    options = _modules(configs, _OAUTH_EXAMPLE).options
    if handler not in _OAUTH_LOGINS:
        return unsecured_tokens(options)
    url = (configs.get("sasl.oauthbearer.token.endpoint.url") or "").strip()
    if url.startswith("file:"):
        return RefreshingTokens(token_file(url), extensions_of(options), _refresh_times(configs))
    if not url.startswith(("https:", "http:")):
        raise KafkaConfigurationError(
            f"sasl.oauthbearer.token.endpoint.url={url}: a URL of https, http or file is needed, for {handler}"
        )
    return RefreshingTokens(_endpoint(url, configs, options).fetch, extensions_of(options), _refresh_times(configs))


def _endpoint(url: str, configs: Mapping[str, Any], options: Mapping[str, str]) -> TokenEndpoint:
    from kafkapy.clients.oauth_login import TokenEndpoint

    missing = [name for name in ("clientId", "clientSecret") if not options.get(name)]
    if missing:
        raise KafkaConfigurationError(f"sasl.jaas.config has no {' and no '.join(missing)}, for {url}")
    ssl_options = {name: value for name, value in options.items() if name.startswith("ssl.")}
    return TokenEndpoint(
        url,
        options["clientId"],
        options["clientSecret"],
        options.get("scope", ""),
        url_encodes_header=bool(configs.get("sasl.oauthbearer.header.urlencode")),
        connect_timeout=(configs.get("sasl.login.connect.timeout.ms") or 10_000) / 1000,
        read_timeout=(configs.get("sasl.login.read.timeout.ms") or 10_000) / 1000,
        retry_backoff=configs.get("sasl.login.retry.backoff.ms", 100) / 1000,
        retry_backoff_max=configs.get("sasl.login.retry.backoff.max.ms", 10_000) / 1000,
        context=_context(ssl_options) if ssl_options else None,
    )


def _refresh_times(configs: Mapping[str, Any]) -> RefreshTimes:
    from kafkapy.clients.oauth_login import RefreshTimes

    defaults = RefreshTimes()
    return RefreshTimes(
        configs.get("sasl.login.refresh.window.factor", defaults.window_factor),
        configs.get("sasl.login.refresh.window.jitter", defaults.window_jitter),
        configs.get("sasl.login.refresh.min.period.seconds", defaults.min_period_seconds),
        configs.get("sasl.login.refresh.buffer.seconds", defaults.buffer_seconds),
    )


def jaas_options(text: str) -> dict[str, str]:
    """Parse the options of `LoginModule required name="value" ...;`, which must have username and password.

    Raises `KafkaConfigurationError`.
    """
    try:
        module = single_module(parse_jaas_config(text))
    except JaasConfigError as error:
        raise KafkaConfigurationError(
            f"{error}. sasl.jaas.config must read like: org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="alice" password="secret";'
        ) from error
    if module.name not in _LOGIN_MODULES:
        raise KafkaConfigurationError(f"sasl.jaas.config: the login module {module.name} is not supported")
    for name in ("username", "password"):
        if name not in module.options:
            raise KafkaConfigurationError(f"sasl.jaas.config has no {name}")
    return module.options
