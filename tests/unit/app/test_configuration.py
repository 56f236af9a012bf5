import hashlib
import os
from ipaddress import ip_address
from pathlib import Path

import pytest
from stellar_sdk import Keypair

from farebox.app.configuration import (
    Fault,
    SettingsRefused,
    faults_off_loopback,
    read_settings,
)
from farebox.app.setting_rules import LogLevel
from farebox.app.settings import Settings
from farebox.facilitator.verification.served_network import AssetRule
from farebox.kernel.networks import Network
from farebox.outbound.resolve import Pinned

RELAYER = Keypair.random().secret
PAYMASTER = Keypair.random().secret
TOKEN = "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
LEAST = {
    "FAREBOX_RPC_URL_TESTNET": "https://rpc.test/?key=hidden-in-the-url",
    "FAREBOX_RELAYER_SECRET_TESTNET": RELAYER,
}

PUBNET = {name.replace("TESTNET", "PUBNET"): value for name, value in LEAST.items()}
KEYS = {"FAREBOX_OPERATOR_KEYS": "sha256:" + "ab" * 32}


def _faults(environment: dict[str, str]) -> dict[str, str]:
    with pytest.raises(SettingsRefused) as caught:
        read_settings(environment)
    return {fault.name: fault.wanted for fault in caught.value.faults}


def _read(**changes: str) -> Settings:
    return read_settings(LEAST | changes)


def test_a_network_may_have_a_fallback_that_is_another_node() -> None:
    assert read_settings(LEAST).networks[Network.TESTNET].fallback_rpc_url is None
    read = _read(FAREBOX_FALLBACK_RPC_URL_TESTNET="https://other.test/?key=hidden")
    fallback = read.networks[Network.TESTNET].fallback_rpc_url
    assert fallback is not None
    assert fallback.reveal() == "https://other.test/?key=hidden"
    same = LEAST | {"FAREBOX_FALLBACK_RPC_URL_TESTNET": LEAST["FAREBOX_RPC_URL_TESTNET"]}
    assert _faults(same) == {
        "FAREBOX_FALLBACK_RPC_URL_TESTNET": "another node than FAREBOX_RPC_URL_TESTNET"
    }
    plain = LEAST | {"FAREBOX_FALLBACK_RPC_URL_TESTNET": "http://other.test"}
    assert "FAREBOX_FALLBACK_RPC_URL_TESTNET" in _faults(plain)


def test_a_web_auth_contract_is_the_address_of_a_contract() -> None:
    assert read_settings(LEAST).networks[Network.TESTNET].web_auth_contract is None
    signing = Keypair.random().secret
    read = _read(FAREBOX_WEB_AUTH_CONTRACT_TESTNET=TOKEN, FAREBOX_AUTH_SIGNING_SECRET=signing)
    assert read.networks[Network.TESTNET].web_auth_contract == TOKEN
    wrong = LEAST | {"FAREBOX_WEB_AUTH_CONTRACT_TESTNET": TOKEN[:-1]}
    assert _faults(wrong) == {"FAREBOX_WEB_AUTH_CONTRACT_TESTNET": "the C… address of a contract"}


def test_a_contract_by_which_nobody_could_sign_in_is_refused() -> None:
    named = LEAST | {"FAREBOX_WEB_AUTH_CONTRACT_TESTNET": TOKEN}
    for keys in ({}, KEYS):
        assert _faults(named | keys) == {
            "FAREBOX_WEB_AUTH_CONTRACT_TESTNET": (
                "set only with FAREBOX_AUTH_SIGNING_SECRET: without it nobody can sign in"
            )
        }
    wrong = named | {"FAREBOX_AUTH_SIGNING_SECRET": "S"}
    assert set(_faults(wrong)) == {"FAREBOX_AUTH_SIGNING_SECRET"}


def test_a_key_is_required_only_where_somebody_could_have_one() -> None:
    name = "FAREBOX_FACILITATOR_AUTH_"
    wanted = (
        "open, as nobody could have the key that is required here: "
        "or set FAREBOX_OPERATOR_KEYS or FAREBOX_AUTH_SIGNING_SECRET"
    )
    required = {name + "TESTNET": "required"}
    assert _faults(LEAST | required) == {name + "TESTNET": wanted}
    assert _faults(LEAST | PUBNET) == {name + "PUBNET": wanted}, "it is the default there"
    read_settings(LEAST | PUBNET | {name + "PUBNET": "open"})
    for callers in (KEYS, {"FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret}):
        read = read_settings(LEAST | PUBNET | required | callers)
        assert all(network.needs_key for network in read.networks.values())
    wrong = LEAST | required | {"FAREBOX_OPERATOR_KEYS": "sha256"}
    assert set(_faults(wrong)) == {"FAREBOX_OPERATOR_KEYS"}


def test_a_budget_for_each_asset_named_needs_their_names() -> None:
    budget = {"FAREBOX_BUDGET_ASSET_STROOPS_TESTNET": "1000"}
    for assets in ({}, {"FAREBOX_ASSETS_TESTNET": "asset-contracts"}):
        assert _faults(LEAST | budget | assets) == {
            "FAREBOX_BUDGET_ASSET_STROOPS_TESTNET": (
                "set only where FAREBOX_ASSETS_TESTNET is a list: "
                "it holds for the assets named there"
            )
        }
    _read(**budget, FAREBOX_ASSETS_TESTNET=TOKEN)
    _read(FAREBOX_BUDGET_ASSET_STROOPS_TESTNET="0")


def test_what_serves_nothing_may_be_told_of_half_the_settings() -> None:
    """To prepare a network by a command, its keys need not be decided yet."""
    half = LEAST | PUBNET | {"FAREBOX_WEB_AUTH_CONTRACT_TESTNET": TOKEN}
    assert read_settings(half, is_to_serve=False).networks[Network.PUBNET].needs_key
    read_settings(half, needs_network=False)


def test_a_test_resolver_names_servers_of_this_machine_and_addresses_of_others() -> None:
    text = "a.example=127.0.0.1:4443, b.example=[::1]:1, c.example=10.0.0.1, c.example=1.1.1.1"
    names = _read(FAREBOX_OUTBOUND_TEST_RESOLVER=text).outbound.test_resolver
    assert names is not None
    assert names.servers == {
        "a.example": Pinned(ip_address("127.0.0.1"), 4443),
        "b.example": Pinned(ip_address("::1"), 1),
    }
    assert names.addresses == {"c.example": (ip_address("10.0.0.1"), ip_address("1.1.1.1"))}


def test_what_is_for_tests_is_refused_wherever_others_can_reach_the_service(
    tmp_path: Path,
) -> None:
    authority = tmp_path / "authority.pem"
    authority.write_text("any")
    settings = _read(
        FAREBOX_OUTBOUND_TEST_AUTHORITY=str(authority),
        FAREBOX_OUTBOUND_TEST_RESOLVER="a.example=127.0.0.1:1",
    )
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"):
        assert faults_off_loopback(settings, host) == []
    for host in ("0.0.0.0", "::", "192.168.1.4", "203.0.113.9", "pay.example.com", ""):
        faults = faults_off_loopback(settings, host)
        assert {fault.name for fault in faults} == {
            "FAREBOX_OUTBOUND_TEST_AUTHORITY",
            "FAREBOX_OUTBOUND_TEST_RESOLVER",
            "FAREBOX_HOST",
        }


def test_a_service_to_which_nobody_could_show_a_key_stays_on_the_loopback() -> None:
    assert [fault.name for fault in faults_off_loopback(_read(), "0.0.0.0")] == ["FAREBOX_HOST"]
    with_keys = _read(FAREBOX_OPERATOR_KEYS="sha256:" + "ab" * 32)
    assert faults_off_loopback(with_keys, "0.0.0.0") == []


def test_a_fallback_alone_serves_no_network() -> None:
    alone = {"FAREBOX_FALLBACK_RPC_URL_PUBNET": "https://other.test/"}
    assert "FAREBOX_RPC_URL_PUBNET" in _faults(LEAST | alone)


def test_one_network_and_defaults_are_enough() -> None:
    settings = read_settings(LEAST)
    assert (settings.host, settings.port) == ("127.0.0.1", 8402)
    assert settings.database_url is None
    assert settings.log_level is LogLevel.INFO
    assert settings.log_file is None
    assert settings.catalog_probe is False
    assert settings.searches_meaning is True
    assert settings.outbound.test_authority is None
    assert settings.outbound.test_resolver is None
    assert settings.expiry_tolerance_ledgers == 2
    assert settings.min_life_ledgers == 3
    assert settings.transaction_life_s == 45
    assert settings.settle_deadline_s == 50
    assert settings.channel_wait_s == 10
    assert settings.rpc_timeout_s == 10
    assert settings.clock_poll_s == 2
    testnet = settings.networks[Network.TESTNET]
    assert testnet.rpc_url.reveal() == LEAST["FAREBOX_RPC_URL_TESTNET"]
    assert testnet.relayer_secret.reveal() == RELAYER
    assert testnet.paymaster_secret is None
    assert testnet.max_fee == 500_000
    assert testnet.assets is AssetRule.ANY
    assert list(settings.networks) == [Network.TESTNET]


def test_the_main_network_settles_asset_contracts_unless_told_otherwise() -> None:
    pubnet = PUBNET | KEYS
    settings = read_settings(LEAST | pubnet)
    assert settings.networks[Network.PUBNET].assets is AssetRule.ASSET_CONTRACTS
    listed = read_settings(LEAST | pubnet | {"FAREBOX_ASSETS_PUBNET": f"{TOKEN}"})
    assert listed.networks[Network.PUBNET].assets == frozenset({TOKEN})


def test_every_fault_is_named_at_once_and_no_value_is_shown() -> None:
    environment = {
        "FAREBOX_HOST": "0.0.0.0",
        "FAREBOX_PORT": "eighty",
        "FAREBOX_DATABASE_URL": "mysql://user:hidden-password@db/x",
        "FAREBOX_LOG_LEVEL": "loud",
        "FAREBOX_RPC_URL_TESTNET": "http://rpc.test/hidden-key",
        "FAREBOX_RELAYER_SECRET_TESTNET": RELAYER[:-1] + ("A" if RELAYER[-1] != "A" else "B"),
        "FAREBOX_MAX_FEE_STROOPS_TESTNET": "1e6",
        "FAREBOX_ASSETS_TESTNET": "USDC",
        "FAREBOX_RPC_AUTHORITY_TESTNET": "/no/such/hidden-file",
        "FAREBOX_EXPIRY_TOLERANCE_LEDGERS": "11",
        "FAREBOX_SETTLE_DEADLINE_S": "-1",
    }
    with pytest.raises(SettingsRefused) as caught:
        read_settings(environment)
    assert {fault.name for fault in caught.value.faults} == set(environment)
    said = str(caught.value) + repr(caught.value.faults)
    for value in environment.values():
        assert value not in said
    assert "hidden" not in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOST", "0.0.0.0"),
        ("HOST", "192.168.1.4"),
        ("HOST", "::"),
        ("HOST", "example.org"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("PORT", "٨٤٠٢"),
        ("RPC_URL_TESTNET", "https://"),
        ("RPC_URL_TESTNET", "ftp://rpc.test"),
        ("RPC_URL_TESTNET", "http://rpc.test"),
        ("RPC_URL_TESTNET", "https://rpc.test:99999"),
        ("RPC_URL_TESTNET", "https://rpc.test/#part"),
        ("RPC_URL_TESTNET", "https://rpc.test/a b"),
        ("RPC_URL_TESTNET", "https://[::1"),
        pytest.param("RELAYER_SECRET_TESTNET", Keypair.random().public_key, id="address"),
        ("RELAYER_SECRET_TESTNET", "S" + "A" * 55),
        ("ASSETS_TESTNET", f"{TOKEN},{TOKEN}"),
        ("ASSETS_TESTNET", f"{TOKEN},"),
        ("ASSETS_TESTNET", "ANY"),
        ("MAX_FEE_STROOPS_TESTNET", "99"),
        ("MAX_INCLUSION_FEE_STROOPS_TESTNET", "500001"),
        ("MIN_LIFE_LEDGERS", "0"),
        ("CLOCK_POLL_S", "0"),
        ("CLOCK_POLL_S", "nan"),
        ("DATABASE_URL", "postgresql:"),
        ("CATALOG_PROBE", "yes"),
        ("SEARCH_SEMANTIC", "on"),
        ("OPERATOR_KEYS", "0f" * 32),
        ("OPERATOR_KEYS", "sha256:" + "0f" * 31),
        ("OPERATOR_KEYS", "sha256:" + "0g" * 32),
        ("OPERATOR_KEYS", "md5:" + "0f" * 32),
        ("OPERATOR_KEYS", f"sha256:{'0f' * 32},"),
        ("OPERATOR_KEYS", f"sha256:{'0f' * 32},sha256:{'0F' * 32}"),
        ("OPERATOR_KEYS", f"sha256:{hashlib.sha256(b'').hexdigest()}"),
        ("OUTBOUND_TEST_AUTHORITY", "/no/such/file"),
        ("OUTBOUND_TEST_RESOLVER", "seller.example.com"),
        ("OUTBOUND_TEST_RESOLVER", "=127.0.0.1:1"),
        ("OUTBOUND_TEST_RESOLVER", "seller.example.com=10.0.0.1:443"),
        ("OUTBOUND_TEST_RESOLVER", "seller.example.com=1.2.3.4:443"),
        ("OUTBOUND_TEST_RESOLVER", "seller.example.com=localhost:443"),
        ("OUTBOUND_TEST_RESOLVER", "a.example=127.0.0.1:1,"),
    ],
)
def test_a_value_that_does_not_fit_is_named(name: str, value: str) -> None:
    assert set(_faults(LEAST | {f"FAREBOX_{name}": value})) == {f"FAREBOX_{name}"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOST", "localhost"),
        ("HOST", "::1"),
        ("HOST", "127.0.0.2"),
        ("PORT", "0"),
        ("RPC_URL_TESTNET", "http://127.0.0.1:8000"),
        ("RPC_URL_TESTNET", "http://localhost:8000/rpc"),
        ("LOG_LEVEL", "Debug"),
        ("OPERATOR_KEYS", f"sha256:{'0f' * 32}, sha256:{'1e' * 32}"),
        ("DATABASE_URL", "postgresql:///farebox?host=/run/postgresql"),
        ("CLOCK_POLL_S", "0.5"),
    ],
)
def test_a_value_that_fits_is_taken(name: str, value: str) -> None:
    _read(**{f"FAREBOX_{name}": value})


def test_a_name_that_is_no_setting_is_refused_with_the_nearest_one() -> None:
    faults = _faults(LEAST | {"FAREBOX_RPC_URL_TESNET": "x", "FAREBOX_QWERTZ": "y"})
    assert faults == {
        "FAREBOX_RPC_URL_TESNET": "is not a setting; did you mean FAREBOX_RPC_URL_TESTNET?",
        "FAREBOX_QWERTZ": "is not a setting; remove it",
    }


@pytest.mark.parametrize(
    "name", ["FAREBOX_FEE_BPS", "FAREBOX_OPERATOR_FEE", "FAREBOX_FEE_PERCENT_PUBNET"]
)
def test_a_fee_of_the_operator_is_refused(name: str) -> None:
    assert "takes no fee" in _faults(LEAST | {name: "30"})[name]


def test_the_build_folder_may_be_named_in_the_same_environment() -> None:
    _read(FAREBOX_CACHE="/somewhere")


def test_the_same_secret_for_relayer_and_paymaster_is_refused_across_networks() -> None:
    same = LEAST | {"FAREBOX_PAYMASTER_SECRET_TESTNET": RELAYER}
    assert "FAREBOX_PAYMASTER_SECRET_TESTNET" in _faults(same)
    crossed = LEAST | {
        "FAREBOX_RPC_URL_PUBNET": "https://rpc.test",
        "FAREBOX_RELAYER_SECRET_PUBNET": PAYMASTER,
        "FAREBOX_PAYMASTER_SECRET_TESTNET": PAYMASTER,
    }
    assert "FAREBOX_PAYMASTER_SECRET_TESTNET" in _faults(crossed)
    _read(FAREBOX_PAYMASTER_SECRET_TESTNET=PAYMASTER)


def test_a_network_needs_both_its_address_and_its_relayer() -> None:
    faults = _faults(LEAST | {"FAREBOX_RPC_URL_PUBNET": "https://rpc.test"})
    assert faults == {"FAREBOX_RELAYER_SECRET_PUBNET": "is needed to serve stellar:pubnet"}


def test_no_network_at_all_is_a_fault_unless_only_the_database_is_wanted() -> None:
    assert "no network is configured" in _faults({})["FAREBOX_RPC_URL_TESTNET"]
    assert read_settings({}, needs_network=False).networks == {}


def test_an_empty_value_is_as_if_it_were_not_there() -> None:
    assert _read(FAREBOX_DATABASE_URL="", FAREBOX_PORT=" ").port == 8402


def _file(tmp_path: Path, text: str, mode: int = 0o600) -> str:
    path = tmp_path / "farebox.toml"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_file_gives_what_the_environment_does_not(tmp_path: Path) -> None:
    text = f'port = 9000\nlog_level = "debug"\nrelayer_secret_testnet = "{RELAYER}"\n'
    settings = read_settings(
        {
            "FAREBOX_CONFIG": _file(tmp_path, text),
            "FAREBOX_RPC_URL_TESTNET": "https://rpc.test",
            "FAREBOX_PORT": "9001",
        }
    )
    assert settings.port == 9001
    assert settings.log_level is LogLevel.DEBUG
    assert settings.networks[Network.TESTNET].relayer_secret.reveal() == RELAYER


def test_a_file_with_secrets_that_others_can_read_is_refused(tmp_path: Path) -> None:
    text = f'relayer_secret_testnet = "{RELAYER}"\nrpc_url_testnet = "https://rpc.test"\n'
    config = _file(tmp_path, text, 0o644)
    assert _faults({"FAREBOX_CONFIG": config}) == {
        "FAREBOX_CONFIG": "a file only its owner can read (chmod 600)"
    }


@pytest.mark.parametrize("text", ["port = ", "[port\n", "port = 1\nport = 2\n", "\x00"])
def test_a_file_that_is_not_toml_is_named_without_its_text(tmp_path: Path, text: str) -> None:
    faults = _faults(LEAST | {"FAREBOX_CONFIG": _file(tmp_path, text)})
    assert faults == {"FAREBOX_CONFIG": "a file in TOML: one `name = value` a line"}


def test_a_file_that_is_not_there_and_a_table_in_a_file_are_named(tmp_path: Path) -> None:
    assert set(_faults(LEAST | {"FAREBOX_CONFIG": "/no/such.toml"})) == {"FAREBOX_CONFIG"}
    config = _file(tmp_path, "[port]\nnumber = 1\n")
    assert set(_faults(LEAST | {"FAREBOX_CONFIG": config})) == {"FAREBOX_PORT"}


def test_settings_do_not_show_their_secrets() -> None:
    shown = repr(_read(FAREBOX_DATABASE_URL="postgresql://u:hidden@h/d"))
    assert RELAYER not in shown
    assert "hidden" not in shown


def test_a_fault_reads_as_one_line() -> None:
    assert str(Fault("FAREBOX_PORT", "a number")) == "FAREBOX_PORT: a number"


def test_the_default_data_folder_is_one_the_database_user_can_enter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert read_settings(LEAST).data_dir == Path("/var/lib/farebox")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert read_settings(LEAST | {"XDG_DATA_HOME": "/x"}).data_dir == Path("/x/farebox")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("https://api.example.com", "https://api.example.com"),
        ("https://API.Example.com/", "https://api.example.com"),
        ("https://api.example.com:443", "https://api.example.com"),
        ("https://api.example.com:8443", "https://api.example.com:8443"),
        ("http://127.0.0.1:8402", "http://127.0.0.1:8402"),
        ("http://[::1]:80/", "http://[::1]"),
        ("http://localhost", "http://localhost"),
        ("https://" + "a" * 59, "https://" + "a" * 59),
    ],
)
def test_the_public_address_is_kept_as_an_origin(text: str, read: str) -> None:
    assert _read(FAREBOX_PUBLIC_URL=text).sign_in.public_url == read


@pytest.mark.parametrize(
    "text",
    [
        "api.example.com",
        "http://api.example.com",
        "ftp://api.example.com",
        "https://",
        "https://api.example.com/v1",
        "https://api.example.com?x=1",
        "https://api.example.com#x",
        "https://api.example.com?",
        "https://user:word@api.example.com",
        "https://api.example.com:99999",
        "https://exämple.com",
        "https://" + "a" * 60,
        'https://a"b.example',
    ],
)
def test_a_public_address_that_cannot_stand_in_a_challenge_is_refused(text: str) -> None:
    assert set(_faults(LEAST | {"FAREBOX_PUBLIC_URL": text})) == {"FAREBOX_PUBLIC_URL"}


def test_who_signs_challenges_is_no_relayer_and_no_paymaster() -> None:
    name = "FAREBOX_AUTH_SIGNING_SECRET"
    own = Keypair.random().secret
    secret = _read(FAREBOX_AUTH_SIGNING_SECRET=own).sign_in.signing_secret
    assert secret is not None
    assert secret.reveal() == own
    assert own not in repr(_read(FAREBOX_AUTH_SIGNING_SECRET=own))
    assert set(_faults(LEAST | {name: RELAYER})) == {name}
    paid = LEAST | {"FAREBOX_PAYMASTER_SECRET_TESTNET": PAYMASTER}
    assert set(_faults(paid | {name: PAYMASTER})) == {name}
    assert set(_faults(LEAST | {name: Keypair.random().public_key})) == {name}


def test_off_loopback_a_challenge_needs_a_name_for_the_service() -> None:
    secret = {"FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret}
    reachable = LEAST | secret | {"FAREBOX_HOST": "0.0.0.0"}
    assert "FAREBOX_PUBLIC_URL" in _faults(reachable | {"FAREBOX_PORT": "none"})
    named = reachable | {"FAREBOX_PUBLIC_URL": "https://api.example.com", "FAREBOX_PORT": "none"}
    assert "FAREBOX_PUBLIC_URL" not in _faults(named)
