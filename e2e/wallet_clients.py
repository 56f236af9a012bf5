"""Wallets made of public SDKs sign in: PyPI stellar-sdk here, npm @stellar/stellar-sdk in Node."""

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from stellar_sdk import Address, Keypair, TransactionEnvelope, scval, xdr
from stellar_sdk.auth import authorization_payload_hash, authorize_entry
from stellar_sdk.sep.stellar_soroban_web_authentication import read_challenge_authorization_entries
from stellar_sdk.sep.stellar_toml import fetch_stellar_toml
from stellar_sdk.sep.stellar_web_authentication import read_challenge_transaction

from e2e.machine import ROOT, RunFailed, environment, node_command
from e2e.wallet_accounts import Kind, Login
from farebox.kernel.networks import Network

HTTP_S: Final = 30
NODE_S: Final = 300
CONTRACT_LIFE: Final = 30  # ledgers that a wallet lets its signature hold


@dataclass(frozen=True, slots=True)
class Place:
    """Where one network is signed in to, as `stellar.toml` says it, and its newest ledger."""

    network: Network
    service: str  # URL without a slash at its end
    endpoint: str
    signing_key: str
    contract: str
    latest_ledger: Callable[[], int]

    @property
    def domain(self) -> str:
        """The home domain, which is the web-auth domain too."""
        return urlsplit(self.service).hostname or ""


@dataclass(frozen=True, slots=True)
class Answer:
    """How an attempt ended: a token that `me` knows, or the status and code of the refusal.

    `replayed` is the status of the same signed challenge sent once more.
    """

    name: str
    status: int
    code: str
    address: str = ""  # as /v1/auth/me tells whose the token is
    replayed: int = 0
    fault: str = ""  # what the SDK itself objected to


def toml_of(service: str) -> dict[str, Any]:
    """The file by which wallets find the endpoints, as PyPI stellar-sdk reads it."""
    domain = urlsplit(service).netloc
    return dict(fetch_stellar_toml(domain, use_http=True))


def sign_in_with_pypi(place: Place, logins: Sequence[Login]) -> list[Answer]:
    """What PyPI stellar-sdk gets for each."""
    with requests.Session() as http:
        http.trust_env = False
        return [_sign_in(http, place, login) for login in logins]


def _sign_in(http: requests.Session, place: Place, login: Login) -> Answer:
    try:
        name, document = _signed(http, place, login)
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises is the finding
        return Answer(login.name, 0, "", fault=f"{type(error).__name__}: {error}")
    told = http.post(place.endpoint, json={name: document}, timeout=HTTP_S)
    if told.status_code != 200:
        return Answer(login.name, told.status_code, _code(told))
    again = http.post(place.endpoint, json={name: document}, timeout=HTTP_S)
    shown = {"Authorization": f"Bearer {told.json()['token']}"}
    me = http.get(f"{place.service}/v1/auth/me", headers=shown, timeout=HTTP_S)
    address = me.json()["user"]["address"] if me.status_code == 200 else ""
    return Answer(login.name, 200, "", address, again.status_code)


def _signed(http: requests.Session, place: Place, login: Login) -> tuple[str, str]:
    asked = {"account": login.account, "home_domain": place.domain}
    told = http.get(place.endpoint, params=asked, timeout=HTTP_S)
    if told.status_code != 200:
        raise RunFailed(f"no challenge for {login.name}: {told.status_code} {told.text[:200]}")
    challenge = told.json()
    if challenge["network_passphrase"] != place.network.passphrase:
        raise RunFailed("the challenge is for another network")
    if login.kind is Kind.CONTRACT:
        entries = challenge["authorization_entries"]
        return "authorization_entries", _entries(place, login, entries)
    return "transaction", _transaction(place, login, challenge["transaction"])


def _transaction(place: Place, login: Login, document: str) -> str:
    passphrase, domain = place.network.passphrase, place.domain
    read = read_challenge_transaction(document, place.signing_key, domain, domain, passphrase)
    if read.client_account_id != login.account:
        raise RunFailed("the challenge is for another account")
    envelope = TransactionEnvelope.from_xdr(document, passphrase)
    for key in login.keys:
        envelope.sign(key)
    return envelope.to_xdr()


def _entries(place: Place, login: Login, document: str) -> str:
    read = read_challenge_authorization_entries(
        document, place.signing_key, place.domain, place.domain, place.contract
    )
    until = place.latest_ledger() + CONTRACT_LIFE
    entries = read.authorization_entries.soroban_authorization_entries
    signed = [
        authorize_entry(entry, _plain(login.keys[0]), until, place.network.passphrase)
        if _address(entry) == login.account
        else entry
        for entry in entries
    ]
    return xdr.SorobanAuthorizationEntries(signed).to_xdr()


def _plain(key: Keypair) -> Callable[[xdr.HashIDPreimage], xdr.SCVal]:
    """Signs as the smart wallet wants it: 64 plain bytes."""

    def sign(preimage: xdr.HashIDPreimage) -> xdr.SCVal:
        return scval.to_bytes(key.sign(authorization_payload_hash(preimage)))

    return sign


def _address(entry: xdr.SorobanAuthorizationEntry) -> str:
    credentials = entry.credentials.address
    if credentials is None:
        raise RunFailed("an entry of the challenge names no address")
    return Address.from_xdr_sc_address(credentials.address).address


def _code(answer: requests.Response) -> str:
    try:
        return str(answer.json()["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:100]


def sign_in_with_npm(place: Place, logins: Sequence[Login]) -> list[Answer]:
    """What npm @stellar/stellar-sdk gets for each; it reads `stellar.toml` itself too."""
    asked = {
        "service": place.service,
        "domain": place.domain,
        "endpoint": place.endpoint,
        "signingKey": place.signing_key,
        "contract": place.contract,
        "passphrase": place.network.passphrase,
        "latestLedger": place.latest_ledger(),
        "life": CONTRACT_LIFE,
        "logins": [
            {
                "name": login.name,
                "isContract": login.kind is Kind.CONTRACT,
                "account": login.account,
                "secrets": [key.secret for key in login.keys],
            }
            for login in logins
        ],
    }
    done = subprocess.run(
        node_command(ROOT / "e2e" / "wallet.mjs"),
        env=environment({}),
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=NODE_S,
        check=False,
    )
    if done.returncode:
        raise RunFailed(f"wallet.mjs failed:\n{done.stderr.strip()[-800:]}")
    return [Answer(**each) for each in json.loads(done.stdout.splitlines()[-1])]
