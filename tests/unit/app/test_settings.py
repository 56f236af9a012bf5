"""The settings of networks, budgets, sign-in and hosts: defaults, and what each depends on."""

import os
from ipaddress import ip_address
from pathlib import Path

import pytest
from stellar_sdk import Asset, Keypair

from farebox.app.configuration import read_settings
from farebox.app.setting_rules import LogLevel
from farebox.facilitator.budgets.budget import BudgetScope
from farebox.facilitator.verification.operator_rules import AssetRule
from farebox.kernel.networks import Network
from farebox.outbound.faults import CallRefused
from farebox.outbound.resolve import PinnedAddress
from farebox.outbound.target import Target
from farebox.stellar.asset_contract import USDC_ISSUERS, native_contract
from support.environments import (
    KEYS,
    PAYMASTER,
    PUBNET,
    RELAYER,
    TESTNET,
    TOKEN,
    read_changed,
    setting_faults,
)


def test_network_may_have_a_fallback_that_is_another_node() -> None:
    assert read_settings(TESTNET).networks[Network.TESTNET].fallback_rpc_url is None
    read = read_changed(FAREBOX_FALLBACK_RPC_URL_TESTNET="https://other.test/?key=hidden")
    fallback = read.networks[Network.TESTNET].fallback_rpc_url
    assert fallback is not None
    assert fallback.reveal() == "https://other.test/?key=hidden"
    same = TESTNET | {"FAREBOX_FALLBACK_RPC_URL_TESTNET": TESTNET["FAREBOX_RPC_URL_TESTNET"]}
    assert setting_faults(same) == {
        "FAREBOX_FALLBACK_RPC_URL_TESTNET": "another value than FAREBOX_RPC_URL_TESTNET"
    }
    plain = TESTNET | {"FAREBOX_FALLBACK_RPC_URL_TESTNET": "http://other.test"}
    assert "FAREBOX_FALLBACK_RPC_URL_TESTNET" in setting_faults(plain)


def test_prices_of_runs_are_zero_on_testnet_and_in_usdc() -> None:
    both = read_settings(TESTNET | PUBNET | KEYS).networks
    found = {
        network: (own.revenue_account, own.run_price, own.run_setup_price, own.run_units_per_xlm)
        for network, own in both.items()
    }
    assert found == {Network.TESTNET: (None, 0, 0, 0), Network.PUBNET: (None, 10_000, 0, 4_000_000)}
    assert both[Network.TESTNET].run_asset is None, "USDC"
    own = Keypair.random().public_key
    read = read_changed(FAREBOX_REVENUE_ACCOUNT_TESTNET=own, FAREBOX_RUN_ASSET_TESTNET=TOKEN)
    testnet = read.networks[Network.TESTNET]
    assert (testnet.revenue_account, testnet.run_asset) == (own, TOKEN)


def test_revenue_account_is_none_that_pays_or_signs_for_the_operator() -> None:
    signing = Keypair.random().secret
    secrets = {
        "FAREBOX_PAYMASTER_SECRET_TESTNET": PAYMASTER,
        "FAREBOX_AUTH_SIGNING_SECRET": signing,
    }
    for secret in (RELAYER, PAYMASTER, signing):
        address = Keypair.from_secret(secret).public_key
        named = {"FAREBOX_REVENUE_ACCOUNT_TESTNET": address}
        assert setting_faults(TESTNET | secrets | named) == {
            "FAREBOX_REVENUE_ACCOUNT_TESTNET": (
                "an account of its own: it pays or signs for the operator"
            )
        }
    wrong = TESTNET | {"FAREBOX_REVENUE_ACCOUNT_TESTNET": TOKEN[:-1]}
    assert setting_faults(wrong) == {
        "FAREBOX_REVENUE_ACCOUNT_TESTNET": "the G… or C… address of an account"
    }


def test_web_auth_contract_must_be_a_contract_address() -> None:
    assert read_settings(TESTNET).networks[Network.TESTNET].web_auth_contract is None
    signing = Keypair.random().secret
    read = read_changed(
        FAREBOX_WEB_AUTH_CONTRACT_TESTNET=TOKEN, FAREBOX_AUTH_SIGNING_SECRET=signing
    )
    assert read.networks[Network.TESTNET].web_auth_contract == TOKEN
    wrong = TESTNET | {"FAREBOX_WEB_AUTH_CONTRACT_TESTNET": TOKEN[:-1]}
    assert setting_faults(wrong) == {
        "FAREBOX_WEB_AUTH_CONTRACT_TESTNET": "the C… address of a contract"
    }


def test_web_auth_contract_is_refused_when_sign_in_is_not_configured() -> None:
    named = TESTNET | {"FAREBOX_WEB_AUTH_CONTRACT_TESTNET": TOKEN}
    for keys in ({}, KEYS):
        assert setting_faults(named | keys) == {
            "FAREBOX_WEB_AUTH_CONTRACT_TESTNET": (
                "left out, because sign-in is not configured: or set FAREBOX_AUTH_SIGNING_SECRET"
            )
        }
    wrong = named | {"FAREBOX_AUTH_SIGNING_SECRET": "S"}
    assert set(setting_faults(wrong)) == {"FAREBOX_AUTH_SIGNING_SECRET"}


def test_required_key_is_refused_when_no_key_can_exist() -> None:
    name = "FAREBOX_FACILITATOR_AUTH_"
    wanted = (
        "open, because no key exists without them: "
        "or set FAREBOX_OPERATOR_KEYS or FAREBOX_AUTH_SIGNING_SECRET"
    )
    required = {name + "TESTNET": "required"}
    assert setting_faults(TESTNET | required) == {name + "TESTNET": wanted}
    assert setting_faults(TESTNET | PUBNET) == {name + "PUBNET": wanted}, "it is the default there"
    read_settings(TESTNET | PUBNET | {name + "PUBNET": "open"})
    for callers in (KEYS, {"FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret}):
        read = read_settings(TESTNET | PUBNET | required | callers)
        assert all(network.needs_key for network in read.networks.values())
    wrong = TESTNET | required | {"FAREBOX_OPERATOR_KEYS": "sha256"}
    assert set(setting_faults(wrong)) == {"FAREBOX_OPERATOR_KEYS"}


@pytest.mark.parametrize("network", list(Network))
def test_usdc_is_the_named_asset_unless_a_list_names_others(network: Network) -> None:
    issuer = USDC_ISSUERS[network]
    usdc = Asset("USDC", issuer).contract_id(network.passphrase)
    assets, access = f"FAREBOX_ASSETS_{network.label.upper()}", "FAREBOX_FACILITATOR_AUTH_PUBNET"
    settings = TESTNET | PUBNET | {access: "open"}
    for policy in ({}, {assets: "asset-contracts"}, {assets: "any"}):
        read = read_settings(settings | policy).networks[network].budgets
        assert read.named_assets == {usdc}
    other = native_contract(network)
    read = read_settings(settings | {assets: other}).networks[network].budgets
    assert read.named_assets == {other}


def test_default_budgets_are_the_documented_ones() -> None:
    read = read_settings(TESTNET).networks[Network.TESTNET].budgets
    limits = {scope.value: read.limit(scope) / 10**7 for scope in BudgetScope}
    assert limits == {
        "total": 200,
        "payer": 2,
        "pay_to": 50,
        "key": 50,
        "asset": 0,
        "other_assets": 20,
        "payer_loss": 0.1,
    }


def test_commands_that_serve_nothing_accept_incomplete_settings() -> None:
    """A command that prepares a network does not need its keys."""
    half = TESTNET | PUBNET | {"FAREBOX_WEB_AUTH_CONTRACT_TESTNET": TOKEN}
    assert read_settings(half, is_to_serve=False).networks[Network.PUBNET].needs_key
    read_settings(half, needs_network=False)


async def test_resolver_allows_loopback_ports_and_public_addresses() -> None:
    text = (
        "a.example=127.0.0.1:4443, b.example=[::1]:1, c.example=10.0.0.1, c.example=1.1.1.1,"
        "d.example=1.1.1.1"
    )
    resolver = read_changed(FAREBOX_OUTBOUND_TEST_RESOLVER=text).outbound.test_resolver
    assert resolver is not None
    a, b, c, d = (Target(f"{each}.example", 443, "/", "", False) for each in "abcd")
    assert await resolver.pin(a) == PinnedAddress(ip_address("127.0.0.1"), 4443)
    assert await resolver.pin(b) == PinnedAddress(ip_address("::1"), 1)
    with pytest.raises(CallRefused):  # one of its addresses is not public
        await resolver.pin(c)
    assert await resolver.pin(d) == PinnedAddress(ip_address("1.1.1.1"), 443)


def test_settings_for_tests_are_refused_off_the_loopback(tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    authority.write_text("any")
    for_tests = {
        "FAREBOX_OUTBOUND_TEST_AUTHORITY": str(authority),
        "FAREBOX_OUTBOUND_TEST_RESOLVER": "a.example=127.0.0.1:1",
        "FAREBOX_CATALOG_LOCAL": "1",
    }
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", ""):
        read_settings(TESTNET | for_tests | {"FAREBOX_HOST": host})
    for host in ("0.0.0.0", "::", "192.168.1.4", "203.0.113.9", "pay.example.com"):
        faults = setting_faults(TESTNET | for_tests | {"FAREBOX_HOST": host})
        assert faults.keys() == {*for_tests, "FAREBOX_HOST"}
        with_keys = setting_faults(TESTNET | for_tests | KEYS | {"FAREBOX_HOST": host})
        assert with_keys.keys() - {"FAREBOX_HOST"} == set(for_tests)


def test_host_off_the_loopback_is_refused_when_no_key_can_exist() -> None:
    reachable = {"FAREBOX_HOST": "0.0.0.0"}
    assert setting_faults(TESTNET | reachable).keys() == {"FAREBOX_HOST"}
    assert read_settings(TESTNET | reachable | KEYS).host == "0.0.0.0"


def test_network_with_only_a_fallback_is_refused() -> None:
    alone = {"FAREBOX_FALLBACK_RPC_URL_PUBNET": "https://other.test/"}
    assert "FAREBOX_RPC_URL_PUBNET" in setting_faults(TESTNET | alone)


def test_defaults_complete_one_network() -> None:
    settings = read_settings(TESTNET)
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
    assert testnet.rpc_url.reveal() == TESTNET["FAREBOX_RPC_URL_TESTNET"]
    assert testnet.relayer_secret.reveal() == RELAYER
    assert testnet.paymaster_secret is None
    assert testnet.max_fee == 500_000
    assert testnet.assets is AssetRule.ANY
    assert list(settings.networks) == [Network.TESTNET]


def test_pubnet_settles_asset_contracts_by_default() -> None:
    pubnet = PUBNET | KEYS
    settings = read_settings(TESTNET | pubnet)
    assert settings.networks[Network.PUBNET].assets is AssetRule.ASSET_CONTRACTS
    listed = read_settings(TESTNET | pubnet | {"FAREBOX_ASSETS_PUBNET": f"{TOKEN}"})
    assert listed.networks[Network.PUBNET].assets == frozenset({TOKEN})


@pytest.mark.parametrize(
    "name", ["FAREBOX_FEE_BPS", "FAREBOX_OPERATOR_FEE", "FAREBOX_FEE_PERCENT_PUBNET"]
)
def test_operator_fee_is_refused(name: str) -> None:
    assert "takes no fee" in setting_faults(TESTNET | {name: "30"})[name]


def test_one_secret_for_relayer_and_paymaster_is_refused_across_networks() -> None:
    same = TESTNET | {"FAREBOX_PAYMASTER_SECRET_TESTNET": RELAYER}
    assert "FAREBOX_PAYMASTER_SECRET_TESTNET" in setting_faults(same)
    crossed = TESTNET | {
        "FAREBOX_RPC_URL_PUBNET": "https://rpc.test",
        "FAREBOX_RELAYER_SECRET_PUBNET": PAYMASTER,
        "FAREBOX_PAYMASTER_SECRET_TESTNET": PAYMASTER,
    }
    assert "FAREBOX_PAYMASTER_SECRET_TESTNET" in setting_faults(crossed)
    read_changed(FAREBOX_PAYMASTER_SECRET_TESTNET=PAYMASTER)


def test_default_data_folder_is_readable_by_the_database_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert read_settings(TESTNET).data_dir == Path("/var/lib/farebox")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert read_settings(TESTNET | {"XDG_DATA_HOME": "/x"}).data_dir == Path("/x/farebox")


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
def test_public_url_is_kept_as_an_origin(text: str, read: str) -> None:
    assert read_changed(FAREBOX_PUBLIC_URL=text).sign_in.public_url == read


@pytest.mark.parametrize(
    "text",
    [
        "api.example.com", "http://api.example.com", "ftp://api.example.com", "https://",
        "https://api.example.com/v1", "https://api.example.com?x=1", "https://api.example.com#x",
        "https://api.example.com?", "https://user:word@api.example.com",
        "https://api.example.com:99999", "https://exämple.com", "https://" + "a" * 60,
        'https://a"b.example',
    ],
)  # fmt: skip
def test_public_url_is_refused_when_a_challenge_cannot_hold_it(text: str) -> None:
    assert set(setting_faults(TESTNET | {"FAREBOX_PUBLIC_URL": text})) == {"FAREBOX_PUBLIC_URL"}


def test_signing_secret_is_refused_when_a_relayer_or_paymaster_has_it() -> None:
    name = "FAREBOX_AUTH_SIGNING_SECRET"
    own = Keypair.random().secret
    secret = read_changed(FAREBOX_AUTH_SIGNING_SECRET=own).sign_in.signing_secret
    assert secret is not None
    assert secret.reveal() == own
    assert own not in repr(read_changed(FAREBOX_AUTH_SIGNING_SECRET=own))
    assert set(setting_faults(TESTNET | {name: RELAYER})) == {name}
    paid = TESTNET | {"FAREBOX_PAYMASTER_SECRET_TESTNET": PAYMASTER}
    assert set(setting_faults(paid | {name: PAYMASTER})) == {name}
    assert set(setting_faults(TESTNET | {name: Keypair.random().public_key})) == {name}


def test_public_url_is_needed_for_sign_in_off_the_loopback() -> None:
    secret = {"FAREBOX_AUTH_SIGNING_SECRET": Keypair.random().secret}
    reachable = TESTNET | secret | {"FAREBOX_HOST": "0.0.0.0"}
    assert "FAREBOX_PUBLIC_URL" in setting_faults(reachable | {"FAREBOX_PORT": "none"})
    named = reachable | {"FAREBOX_PUBLIC_URL": "https://api.example.com", "FAREBOX_PORT": "none"}
    assert "FAREBOX_PUBLIC_URL" not in setting_faults(named)
