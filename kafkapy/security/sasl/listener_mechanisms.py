"""Creates the mechanisms of a listener from its configuration (Kafka's `SaslChannelBuilder`,
`JaasContext.loadServerContext`).

Kafka's configs of a mechanism have the listener's and the mechanism's prefix; the caller's look-up adds the former.
`sasl.jaas.config` and `sasl.server.callback.handler.class` need the mechanism's prefix (`plain.sasl.jaas.config`), for
`connections.max.reauth.ms` and `sasl.oauthbearer.*` it is optional.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkapy.common.config_def import ConfigException
from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.common.time import Time
from kafkapy.security.import_path import ImportPathError, make_callback_handler
from kafkapy.security.jaas import (
    JaasConfigError,
    LoginModule,
    check_allowed,
    parse_jaas_config,
    server_section,
    single_module,
)
from kafkapy.security.sasl.mechanism import SaslMechanism
from kafkapy.security.sasl.oauth_server import OAUTHBEARER, OAuthBearerServer
from kafkapy.security.sasl.oauth_token import TokenValidator
from kafkapy.security.sasl.plain_server import PLAIN, PlainAuthenticator, PlainServer, PlainUsers
from kafkapy.security.sasl.scram_server import DecoyCredentials, ScramServer, TokenLogin
from kafkapy.security.sasl.unsecured_jws import UnsecuredValidator, asks_for_unsecured_tokens
from kafkapy.security.scram import SCRAM_HASHES, ScramCredential

if TYPE_CHECKING:
    from kafkapy.security.sasl.jwks import RefreshingJwks

HANDLER_CLASS: Final = "sasl.server.callback.handler.class"

_PLAIN_HANDLER = "org.apache.kafka.common.security.plain.internals.PlainServerCallbackHandler"
_SCRAM_HANDLER = "org.apache.kafka.common.security.scram.internals.ScramServerCallbackHandler"
_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_UNSECURED_HANDLER = f"{_OAUTH}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_JWT_HANDLERS = (
    f"{_OAUTH}.OAuthBearerValidatorCallbackHandler",
    f"{_OAUTH}.secured.OAuthBearerValidatorCallbackHandler",
)

MechanismFactory = Callable[[], SaslMechanism]


class SaslServices(NamedTuple):
    """The broker's services, shared by all listeners.

    Attributes:
        time: The clock.
        make_nonce: `scram.random_text` of 17 random bytes.
        decoys: Credentials for SCRAM users that do not exist.
        scram_credential: Mechanism and user -> credential.
        token_login: `DelegationTokens.login`; None: delegation tokens are off.
        jaas_file: The sections of `java.security.auth.login.config`.
        others: Mechanisms that are not created here (GSSAPI, if its extra is installed).
    """

    time: Time
    make_nonce: Callable[[], str]
    decoys: DecoyCredentials
    scram_credential: Callable[[str, str], ScramCredential | None]
    token_login: Callable[[str, str], TokenLogin | None] | None = None
    jaas_file: Mapping[str, tuple[LoginModule, ...]] = {}
    others: Mapping[str, MechanismFactory] = {}


class ListenerMechanisms(NamedTuple):
    """The arguments of `SaslServerAuthenticator` for connections of the listener.

    Attributes:
        factories: Mechanism -> function that starts an authentication.
        max_reauth_ms: Mechanism -> `connections.max.reauth.ms`.
        jwks: Key sets to be fetched: URL -> schedule and consumer. The caller does the I/O.
    """

    factories: dict[str, MechanismFactory]
    max_reauth_ms: dict[str, int]
    jwks: list[tuple[str, RefreshingJwks]]


def make_listener_mechanisms(
    listener_name: str, text_of: Callable[[str], str | None], services: SaslServices
) -> ListenerMechanisms:
    """Create the mechanisms in `sasl.enabled.mechanisms`.

    Args:
        listener_name: The listener.
        text_of: Config -> its text for this listener: of `listener.name.<name>.<config>`, else of `<config>`; None: not
            set.
        services: The broker's services.

    Raises:
        ConfigException: The configuration is invalid, or names an unknown mechanism.
    """
    enabled = [name.strip() for name in (text_of("sasl.enabled.mechanisms") or "GSSAPI").split(",") if name.strip()]
    if not enabled:
        raise ConfigException(
            f"No SASL mechanisms are enabled for listener {listener_name}: set sasl.enabled.mechanisms"
        )
    made = ListenerMechanisms({}, {}, [])
    for name in hash_map_order(enabled):  # in which a Java broker lists them, too
        configs = _MechanismConfigs(listener_name, name, text_of, services.jaas_file)
        try:
            made.factories[name] = _factory(configs, services, made.jwks)
        except (JaasConfigError, ImportPathError) as error:
            raise ConfigException(str(error)) from error
        made.max_reauth_ms[name] = configs.number("connections.max.reauth.ms", 0)
    return made


class _MechanismConfigs:
    """The configs of one mechanism of one listener."""

    def __init__(
        self,
        listener_name: str,
        mechanism: str,
        text_of: Callable[[str], str | None],
        jaas_file: Mapping[str, tuple[LoginModule, ...]],
    ) -> None:
        self.listener_name = listener_name
        self.mechanism = mechanism
        self._prefix = f"{mechanism.lower()}."
        self._text_of = text_of
        self._jaas_file = jaas_file

    def full_name(self, name: str) -> str:
        return f"listener.name.{self.listener_name.lower()}.{self._prefix}{name}"

    def handler_class(self) -> str | None:
        return self._text_of(self._prefix + HANDLER_CLASS)

    def jaas(self) -> tuple[LoginModule, ...]:
        """Raise JaasConfigError if there is none."""
        text = self._text_of(f"{self._prefix}sasl.jaas.config")
        if text is not None:
            source = self.full_name("sasl.jaas.config")
            modules: tuple[LoginModule, ...] = (single_module(parse_jaas_config(text, source), source),)
        else:
            source = "the JAAS configuration"
            modules = server_section(self._jaas_file, self.listener_name, source)
        check_allowed(modules, source)
        return modules

    def optional_jaas(self) -> tuple[LoginModule, ...]:
        """Return an empty tuple if there is none."""
        if self._text_of(f"{self._prefix}sasl.jaas.config") is None and not self._jaas_file:
            return ()
        return self.jaas()

    def text(self, name: str) -> str | None:
        value = self._text_of(self._prefix + name)
        return self._text_of(name) if value is None else value

    def number(self, name: str, default: int) -> int:
        """Raise ConfigException."""
        text = self.text(name)
        try:
            value = default if text is None else int(text.strip())
        except ValueError:
            raise ConfigException(f"Invalid value {text} for configuration {name}: Not a number") from None
        if value < 0:
            raise ConfigException(f"Invalid value {value} for configuration {name}: Value must be at least 0")
        return value

    def handler(self, path: str, method: str) -> Any:
        """Return the user's own handler. Raises ImportPathError."""
        name = self.full_name(HANDLER_CLASS)
        return make_callback_handler(path, name, method, self.mechanism, _Lookup(self.text), self.optional_jaas())


class _Lookup(dict[str, Any]):
    """The configs of a user's own handler: each is looked up on access, and repr shows none."""

    def __init__(self, text_of: Callable[[str], str | None]) -> None:
        super().__init__()
        self._text_of = text_of

    def __missing__(self, name: str) -> str:
        value = self._text_of(name)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        value = self._text_of(name)
        return default if value is None else value


def _factory(
    configs: _MechanismConfigs, services: SaslServices, jwks: list[tuple[str, RefreshingJwks]]
) -> MechanismFactory:
    name = configs.mechanism
    if name in services.others:
        return services.others[name]
    if name == PLAIN:
        return partial(PlainServer, _plain_authenticator(configs))
    if name in SCRAM_HASHES:
        return _scram_factory(configs, services)
    if name == OAUTHBEARER:
        return partial(OAuthBearerServer, _token_validator(configs, services.time, jwks), services.time)
    if name == "GSSAPI":
        return _gssapi_factory(configs)
    raise ConfigException(
        f"Invalid value {name} for configuration sasl.enabled.mechanisms: the mechanism is not available"
    )


def _plain_authenticator(configs: _MechanismConfigs) -> PlainAuthenticator:
    path = configs.handler_class()
    if path is None or path == _PLAIN_HANDLER:
        return PlainUsers.of(configs.jaas())
    authenticator: PlainAuthenticator = configs.handler(path, "authenticate")
    return authenticator


def _gssapi_factory(configs: _MechanismConfigs) -> MechanismFactory:
    # needs the package gssapi
    from kafkapy.security.sasl.gssapi_server import MODULES, GssapiServer, KerberosService

    modules = [module for module in configs.jaas() if module.name in MODULES]
    source = configs.full_name("sasl.jaas.config")
    if not modules:
        raise ConfigException(f"{source}: GSSAPI needs the login module {MODULES[0]}")
    try:
        return partial(GssapiServer, KerberosService.of(modules[0].options))
    except ConfigException as problem:
        raise ConfigException(f"{source}: {problem}", problem.advice) from None


def _scram_factory(configs: _MechanismConfigs, services: SaslServices) -> MechanismFactory:
    name, path = configs.mechanism, configs.handler_class()
    credential_of: Callable[[str], ScramCredential | None] = partial(services.scram_credential, name)
    if path is not None and path != _SCRAM_HANDLER:
        credential_of = configs.handler(path, "credential").credential
    token_login_of = None if services.token_login is None else partial(services.token_login, name)
    return partial(
        ScramServer, name, credential_of, token_login_of, services.decoys, services.make_nonce, services.time
    )


def _token_validator(configs: _MechanismConfigs, time: Time, jwks: list[tuple[str, RefreshingJwks]]) -> TokenValidator:
    path = configs.handler_class()
    if path in _JWT_HANDLERS:
        return _jwt_validator(configs, time, jwks)
    if path is not None and path != _UNSECURED_HANDLER:
        validator: TokenValidator = configs.handler(path, "validate")
        return validator
    options = single_module(configs.jaas(), configs.full_name("sasl.jaas.config")).options
    if path is None and not asks_for_unsecured_tokens(options):
        raise ConfigException(
            f"{configs.full_name(HANDLER_CLASS)} is not set, so nothing checks the signatures of tokens",
            f"Set it to {_JWT_HANDLERS[0]}, or, for tests, to {_UNSECURED_HANDLER}.",
        )
    try:
        return UnsecuredValidator(options, time)
    except ValueError as error:
        raise ConfigException(f"{configs.full_name('sasl.jaas.config')}: {error}") from error


def _jwt_validator(configs: _MechanismConfigs, time: Time, jwks: list[tuple[str, RefreshingJwks]]) -> TokenValidator:
    # needs the package cryptography
    from kafkapy.security.sasl.jwks import RefreshingJwks, split_jwks_url
    from kafkapy.security.sasl.jwt_validator import JwtValidator

    url = (configs.text("sasl.oauthbearer.jwks.endpoint.url") or "").strip()
    keys = RefreshingJwks(
        time,
        refresh_ms=configs.number("sasl.oauthbearer.jwks.endpoint.refresh.ms", 3_600_000),
        retry_backoff_ms=configs.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 100),
        retry_backoff_max_ms=configs.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 10_000),
    )
    audience = configs.text("sasl.oauthbearer.expected.audience") or ""
    try:
        split_jwks_url(url)
        validator = JwtValidator(
            keys.select,
            time,
            expected_audience=[item.strip() for item in audience.split(",") if item.strip()],
            expected_issuer=(configs.text("sasl.oauthbearer.expected.issuer") or "").strip() or None,
            scope_claim_name=configs.text("sasl.oauthbearer.scope.claim.name") or "scope",
            sub_claim_name=configs.text("sasl.oauthbearer.sub.claim.name") or "sub",
            clock_skew_seconds=configs.number("sasl.oauthbearer.clock.skew.seconds", 30),
        )
    except ValueError as error:
        raise ConfigException(f"Listener {configs.listener_name}: {error}") from error
    jwks.append((url, keys))
    return validator
