"""Reading the settings from the environment and a file: faults, values and files."""

import hashlib
import inspect
import string
from pathlib import Path
from urllib.parse import unquote

import pytest
from asyncpg import connect_utils
from stellar_sdk import Keypair

from farebox.app.configuration import SettingFault, SettingsRefused, read_settings
from farebox.app.setting_rules import LogLevel
from farebox.kernel.networks import Network
from support.environments import RELAYER, TESTNET, TOKEN, read_changed, setting_faults


def test_all_faults_are_named_at_once_without_their_values() -> None:
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
    shown = str(caught.value) + repr(caught.value.faults)
    for value in environment.values():
        assert value not in shown
    assert "hidden" not in shown


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
        ("DATABASE_URL", "postgresql://u:hid/den@h/d"),
        ("DATABASE_URL", "postgresql://u:123/den@h/d"),
        ("DATABASE_URL", "postgresql://u:hid#den@h/d"),
        ("DATABASE_URL", "postgresql://u:hid?den@h/d"),
        ("DATABASE_URL", "postgresql://u:1?x=den@h/d"),
        ("DATABASE_URL", "postgresql://u:hid[den@h/d"),
        ("DATABASE_URL", "postgresql://u:hid]den@h/d"),
        ("DATABASE_URL", "postgresql://h:99999/d"),
        ("DATABASE_URL", "postgresql://h/d?port=x"),
        ("DATABASE_URL", "postgresql://h/d?port=99999"),
        ("DATABASE_URL", "postgresql://h/d?hidden"),
        ("CATALOG_PROBE", "yes"),
        ("DATA_DIR", "~nobody-of-that-name/farebox"),
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
def test_invalid_value_is_refused_by_its_name(name: str, value: str) -> None:
    assert set(setting_faults(TESTNET | {f"FAREBOX_{name}": value})) == {f"FAREBOX_{name}"}


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
        ("DATABASE_URL", "postgresql://u:p%2F%23%3F%40@[::1]:5432,h2:5433/d?sslmode=require"),
        ("DATABASE_URL", "postgresql://u@%2Frun%2Fpostgresql/d?port=5432,5433"),
        ("CLOCK_POLL_S", "0.5"),
    ],
)
def test_valid_value_is_accepted(name: str, value: str) -> None:
    read_changed(**{f"FAREBOX_{name}": value})


def _read_by_driver(url: str) -> str:
    """The password as the database driver reads it."""
    parse = vars(connect_utils)["_parse_connect_dsn_and_args"]
    names = inspect.signature(parse).parameters
    return str(parse(**dict.fromkeys(names) | {"dsn": url})[1].password)


@pytest.mark.parametrize("rest", ["den", "1", "a=b"])
@pytest.mark.parametrize("start", ["hid", "5"])
def test_password_with_bad_quoting_is_refused_or_read_whole_by_the_driver(
    start: str, rest: str
) -> None:
    for mark in string.punctuation:
        password = f"{start}{mark}{rest}"
        url = f"postgresql://u:{password}@h/d"
        shown = ""
        try:
            read_changed(FAREBOX_DATABASE_URL=url)
        except SettingsRefused as refused:
            shown = str(refused.faults)
        assert password not in shown
        assert shown or _read_by_driver(url) == unquote(password), password


def test_database_driver_shows_part_of_a_badly_quoted_password() -> None:
    with pytest.raises(ValueError, match="hid"):
        _read_by_driver("postgresql://u:hid/den@h/d")


def test_unknown_name_is_refused_with_the_nearest_setting() -> None:
    faults = setting_faults(TESTNET | {"FAREBOX_RPC_URL_TESNET": "x", "FAREBOX_QWERTZ": "y"})
    assert faults == {
        "FAREBOX_RPC_URL_TESNET": "is not a setting; did you mean FAREBOX_RPC_URL_TESTNET?",
        "FAREBOX_QWERTZ": "is not a setting; remove it",
    }


def test_build_folder_variable_is_accepted() -> None:
    read_changed(FAREBOX_CACHE="/somewhere")


def test_network_needs_both_its_rpc_url_and_its_relayer() -> None:
    faults = setting_faults(TESTNET | {"FAREBOX_RPC_URL_PUBNET": "https://rpc.test"})
    assert faults == {"FAREBOX_RELAYER_SECRET_PUBNET": "is needed to serve stellar:pubnet"}


def test_faults_of_a_network_are_all_named_when_its_relayer_is_missing() -> None:
    faults = setting_faults(
        TESTNET
        | {
            "FAREBOX_FALLBACK_RPC_URL_PUBNET": "http://rpc.test",
            "FAREBOX_MAX_INCLUSION_FEE_STROOPS_PUBNET": "500001",
            "FAREBOX_BALANCE_FLOOR_STROOPS_PUBNET": "-1",
            "FAREBOX_PAYMASTER_SECRET_PUBNET": RELAYER,
        }
    )
    assert faults.keys() == {
        f"FAREBOX_{name}_PUBNET"
        for name in (
            "RPC_URL",
            "RELAYER_SECRET",
            "FALLBACK_RPC_URL",
            "MAX_INCLUSION_FEE_STROOPS",
            "BALANCE_FLOOR_STROOPS",
            "PAYMASTER_SECRET",
        )
    }
    assert faults["FAREBOX_PAYMASTER_SECRET_PUBNET"] == (
        "another value than FAREBOX_RELAYER_SECRET_TESTNET"
    )


def test_rate_of_all_classes_is_refused_once_where_every_class_has_its_own() -> None:
    classes = ("DISCOVERY", "VERIFY", "SETTLE", "MANAGEMENT", "GATEWAY")
    own = {f"FAREBOX_RATE_{each}_PER_KEY": "5" for each in classes}
    wrong = {"FAREBOX_RATE_PER_KEY": "many"}
    assert (
        setting_faults(TESTNET | wrong).keys()
        == setting_faults(TESTNET | own | wrong).keys()
        == wrong.keys()
    )


def test_missing_network_is_a_fault_unless_only_the_database_is_needed() -> None:
    assert "no network is configured" in setting_faults({})["FAREBOX_RPC_URL_TESTNET"]
    assert read_settings({}, needs_network=False).networks == {}


def test_empty_value_gives_the_default() -> None:
    assert read_changed(FAREBOX_DATABASE_URL="", FAREBOX_PORT=" ").port == 8402


def _file(tmp_path: Path, text: str, mode: int = 0o600) -> str:
    path = tmp_path / "farebox.toml"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_file_gives_settings_that_the_environment_does_not(tmp_path: Path) -> None:
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


def test_file_with_secrets_is_refused_when_others_can_read_it(tmp_path: Path) -> None:
    text = f'relayer_secret_testnet = "{RELAYER}"\nrpc_url_testnet = "https://rpc.test"\n'
    config = _file(tmp_path, text, 0o644)
    assert setting_faults({"FAREBOX_CONFIG": config}) == {
        "FAREBOX_CONFIG": "a file only its owner can read (chmod 600)"
    }


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ('relayr_secret_testnet = "x"\n', True),  # misspelled, a secret all the same
        ('master_keys = "x"\n', True),
        ('public_url = "https://api.example.com"\n', False),
        ("prt = 1\n", False),
    ],
)
def test_file_that_others_can_read_is_refused_only_when_it_means_a_secret(
    tmp_path: Path, text: str, is_refused: bool
) -> None:
    config = {"FAREBOX_CONFIG": _file(tmp_path, text, 0o644), "FAREBOX_PORT": "none"}
    assert ("FAREBOX_CONFIG" in setting_faults(TESTNET | config)) is is_refused


@pytest.mark.parametrize("text", ["port = ", "[port\n", "port = 1\nport = 2\n", "\x00"])
def test_file_that_is_not_toml_is_refused_without_its_text(tmp_path: Path, text: str) -> None:
    faults = setting_faults(TESTNET | {"FAREBOX_CONFIG": _file(tmp_path, text)})
    assert faults == {"FAREBOX_CONFIG": "a file in TOML: one `name = value` a line"}


def test_missing_file_and_table_in_a_file_are_refused(tmp_path: Path) -> None:
    assert set(setting_faults(TESTNET | {"FAREBOX_CONFIG": "/no/such.toml"})) == {"FAREBOX_CONFIG"}
    config = _file(tmp_path, "[port]\nnumber = 1\n")
    assert set(setting_faults(TESTNET | {"FAREBOX_CONFIG": config})) == {"FAREBOX_PORT"}


def test_repr_of_settings_hides_secrets() -> None:
    shown = repr(read_changed(FAREBOX_DATABASE_URL="postgresql://u:hidden@h/d"))
    assert RELAYER not in shown
    assert "hidden" not in shown


def test_setting_fault_renders_as_one_line() -> None:
    assert str(SettingFault("FAREBOX_PORT", "a number")) == "FAREBOX_PORT: a number"
