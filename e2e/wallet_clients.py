"""Wallets made of public SDKs sign in: PyPI stellar-sdk here, npm @stellar/stellar-sdk in Node."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from stellar_sdk import TransactionEnvelope, xdr
from stellar_sdk.auth import authorize_entry
from stellar_sdk.sep.stellar_soroban_web_authentication import read_challenge_authorization_entries
from stellar_sdk.sep.stellar_toml import fetch_stellar_toml
from stellar_sdk.sep.stellar_web_authentication import read_challenge_transaction

from e2e.wallet_accounts import Kind, Login
from farebox.kernel.networks import Network
from testing.commands import node_lines
from testing.entries import address_of, in_bytes
from testing.machine import RunFailed

HTTP_S: Final = 30
NODE_S: Final = 300
CONTRACT_LIFE: Final = 30  # ledgers for which a wallet's signature is valid


@dataclass(frozen=True, slots=True)
class SignInTarget:
    """The sign-in endpoint and keys of one network, as in `stellar.toml`."""

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
    """The result of an attempt: a token that `me` accepts, or status and code of the refusal.

    `replayed` is the status of the same signed challenge sent once more.
    """

    name: str
    status: int
    code: str
    address: str = ""  # of the token's owner, from /v1/auth/me
    replayed: int = 0
    fault: str = ""  # an error of the SDK itself


def fetch_toml(service: str) -> dict[str, Any]:
    """Fetch `stellar.toml` with PyPI stellar-sdk."""
    domain = urlsplit(service).netloc
    return dict(fetch_stellar_toml(domain, use_http=True))


def sign_in_with_pypi(target: SignInTarget, logins: Sequence[Login]) -> list[Answer]:
    """Attempt every login with PyPI stellar-sdk."""
    with requests.Session() as http:
        http.trust_env = False
        return [_sign_in(http, target, login) for login in logins]


def _sign_in(http: requests.Session, target: SignInTarget, login: Login) -> Answer:
    try:
        name, document = _signed(http, target, login)
    except Exception as error:  # noqa: BLE001 - whatever the SDK raises is the finding
        return Answer(login.name, 0, "", fault=f"{type(error).__name__}: {error}")
    response = http.post(target.endpoint, json={name: document}, timeout=HTTP_S)
    if response.status_code != 200:
        return Answer(login.name, response.status_code, _code(response))
    again = http.post(target.endpoint, json={name: document}, timeout=HTTP_S)
    headers = {"Authorization": f"Bearer {response.json()['token']}"}
    me = http.get(f"{target.service}/v1/auth/me", headers=headers, timeout=HTTP_S)
    address = me.json()["user"]["address"] if me.status_code == 200 else ""
    return Answer(login.name, 200, "", address, again.status_code)


def _signed(http: requests.Session, target: SignInTarget, login: Login) -> tuple[str, str]:
    request = {"account": login.account, "home_domain": target.domain}
    response = http.get(target.endpoint, params=request, timeout=HTTP_S)
    if response.status_code != 200:
        raise RunFailed(
            f"no challenge for {login.name}: {response.status_code} {response.text[:200]}"
        )
    challenge = response.json()
    if challenge["network_passphrase"] != target.network.passphrase:
        raise RunFailed("the challenge is for another network")
    if login.kind is Kind.CONTRACT:
        entries = challenge["authorization_entries"]
        return "authorization_entries", _entries(target, login, entries)
    return "transaction", _transaction(target, login, challenge["transaction"])


def _transaction(target: SignInTarget, login: Login, document: str) -> str:
    passphrase, domain = target.network.passphrase, target.domain
    read = read_challenge_transaction(document, target.signing_key, domain, domain, passphrase)
    if read.client_account_id != login.account:
        raise RunFailed("the challenge is for another account")
    envelope = TransactionEnvelope.from_xdr(document, passphrase)
    for key in login.keys:
        envelope.sign(key)
    return envelope.to_xdr()


def _entries(target: SignInTarget, login: Login, document: str) -> str:
    read = read_challenge_authorization_entries(
        document, target.signing_key, target.domain, target.domain, target.contract
    )
    until = target.latest_ledger() + CONTRACT_LIFE
    entries = read.authorization_entries.soroban_authorization_entries
    signed = [
        authorize_entry(entry, in_bytes(login.keys[0]), until, target.network.passphrase)
        if address_of(entry) == login.account
        else entry
        for entry in entries
    ]
    return xdr.SorobanAuthorizationEntries(signed).to_xdr()


def _code(answer: requests.Response) -> str:
    try:
        return str(answer.json()["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:100]


def sign_in_with_npm(target: SignInTarget, logins: Sequence[Login]) -> list[Answer]:
    """Attempt every login with npm @stellar/stellar-sdk, which reads `stellar.toml` itself."""
    request = {
        "service": target.service,
        "domain": target.domain,
        "endpoint": target.endpoint,
        "signingKey": target.signing_key,
        "contract": target.contract,
        "passphrase": target.network.passphrase,
        "latestLedger": target.latest_ledger(),
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
    lines = node_lines("wallet.mjs", within_s=NODE_S, given=json.dumps(request))
    return [Answer(**each) for each in json.loads(lines[-1])]
