"""A contract account's challenge is read only as it was issued, apart from its signature."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import Address, Keypair, StrKey, scval, xdr

from farebox.accounts.contract_challenge import (
    LIFE_LEDGERS,
    MAX_DOCUMENT_BYTES,
    WebAuthContract,
    WebAuthDomain,
    build_contract_challenge,
    read_contract_challenge,
)
from farebox.accounts.web_auth_scheme import UnreadableChallenge
from farebox.kernel.addresses import Address as OurAddress
from farebox.kernel.addresses import parse_contract
from farebox.kernel.networks import Network
from farebox.stellar.web_auth import build_call, read_call
from farebox.stellar.xdr_reader import Malformed
from support.promises import case
from support.web_auth import (
    HOME,
    WEB_AUTH,
    Entries,
    document_of,
    entries_of,
    flips,
    relayer_of,
    sign_challenge,
)

NETWORK: Final = Network.TESTNET
LATEST: Final = 1_000
KEY: Final = Keypair.random()


def _contract(fill: int) -> OurAddress:
    address = parse_contract(StrKey.encode_contract(bytes([fill]) * 32))
    assert address is not None
    return address


ACCOUNT: Final = _contract(7)
DOMAIN: Final = WebAuthDomain(HOME, WEB_AUTH, relayer_of(Keypair.random()))
GROUND: Final = WebAuthContract(NETWORK, _contract(9))


def _draw(domain: WebAuthDomain = DOMAIN, ground: WebAuthContract = GROUND) -> str:
    return build_contract_challenge(ACCOUNT, domain, ground, latest_ledger=LATEST).document


def _is_read(document: str) -> bool:
    try:
        read_contract_challenge(document, DOMAIN, GROUND)
    except UnreadableChallenge:
        return False
    return True


def test_issued_challenge_is_read_the_same_signed_and_unsigned() -> None:
    drawn = build_contract_challenge(ACCOUNT, DOMAIN, GROUND, latest_ledger=LATEST)
    signed = sign_challenge(drawn.document, ACCOUNT, KEY, NETWORK, until=LATEST + 5)
    assert signed != drawn.document
    for document in (drawn.document, signed):
        read = read_contract_challenge(document, DOMAIN, GROUND)
        assert (read.account, read.digest) == (ACCOUNT, drawn.digest)
        assert read.expires_at_ledger == LATEST + LIFE_LEDGERS


def test_issued_challenges_differ_in_digest_and_nonces() -> None:
    drawn = [
        build_contract_challenge(ACCOUNT, DOMAIN, GROUND, latest_ledger=LATEST) for _ in range(20)
    ]
    assert len({each.digest for each in drawn}) == len(drawn)
    nonces = {
        entry.credentials.address.nonce.int64
        for each in drawn
        for entry in entries_of(each.document)
        if entry.credentials.address is not None
    }
    assert len(nonces) == 2 * len(drawn)


def test_build_call_matches_the_public_sdk() -> None:
    arguments = {"web_auth_domain": WEB_AUTH, "account": ACCOUNT, "nonce": "abc", "home_domain": ""}
    built = xdr.InvokeContractArgs(
        Address(GROUND.address).to_xdr_sc_address(),
        xdr.SCSymbol(b"web_auth_verify"),
        [scval.to_struct({name: scval.to_string(text) for name, text in arguments.items()})],
    )
    call = build_call(GROUND.address, arguments)
    assert call == built.to_xdr_bytes()
    assert read_call(call) == (GROUND.address, arguments)


@given(st.binary(max_size=200))
def test_read_call_raises_malformed_for_other_bytes(raw: bytes) -> None:
    with pytest.raises(Malformed):
        read_call(raw)


@case("AU-012")
def test_changed_signed_challenge_is_another_challenge_or_unreadable() -> None:
    """Only the wallet's own signature and how long it holds are left to it."""
    drawn = build_contract_challenge(ACCOUNT, DOMAIN, GROUND, latest_ledger=LATEST)
    signed = sign_challenge(drawn.document, ACCOUNT, KEY, NETWORK)
    was = read_contract_challenge(signed, DOMAIN, GROUND)
    read_again = 0
    for at, changed in flips(signed, every=1):
        try:
            now = read_contract_challenge(changed, DOMAIN, GROUND)
        except UnreadableChallenge:
            continue
        if now.digest != drawn.digest:
            continue
        read_again += 1
        theirs, ours = now.signed.entries
        assert (ours.raw, now.signed.call) == (was.signed.entries[1].raw, was.signed.call), at
        assert (theirs.nonce, theirs.address_xdr, theirs.root_call) == (
            was.signed.entries[0].nonce,
            was.signed.entries[0].address_xdr,
            was.signed.entries[0].root_call,
        )
    assert 64 < read_again < 100, "the bytes of the signature, its length, and the expiry"


@case("AU-012")
@pytest.mark.parametrize(
    ("domain", "ground"),
    [
        (replace(DOMAIN, home="other.example"), GROUND),
        (replace(DOMAIN, web_auth="other.example"), GROUND),
        (replace(DOMAIN, signer=relayer_of(Keypair.random())), GROUND),
        (DOMAIN, replace(GROUND, network=Network.PUBNET)),
        (DOMAIN, replace(GROUND, address=_contract(8))),
    ],
)
def test_challenge_of_another_domain_signer_network_or_contract_is_unreadable(
    domain: WebAuthDomain, ground: WebAuthContract
) -> None:
    assert _is_read(_draw())
    assert not _is_read(_draw(domain, ground))


def _third(entries: Entries) -> Entries:
    return [*entries, entries[0]]


def _alone(entries: Entries) -> Entries:
    return entries[:1]


def _swapped(entries: Entries) -> Entries:
    return entries[::-1]


def _sub_invoked(entries: Entries) -> Entries:
    root = entries[0].root_invocation
    root.sub_invocations = [xdr.SorobanAuthorizedInvocation(root.function, [])]
    return entries


def _of_source(entries: Entries) -> Entries:
    kind = xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT
    entries[0].credentials = xdr.SorobanCredentials(kind)
    return entries


def _of_version_2(entries: Entries) -> Entries:
    kind = xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS_V2
    entries[0].credentials = xdr.SorobanCredentials(kind, address_v2=entries[0].credentials.address)
    return entries


def _of_another(entries: Entries) -> Entries:
    assert entries[0].credentials.address is not None
    entries[0].credentials.address.address = Address(_contract(6)).to_xdr_sc_address()
    return entries


def _none(entries: Entries) -> Entries:
    return []


@case("AU-012")
@pytest.mark.parametrize(
    "change",
    [_third, _alone, _swapped, _sub_invoked, _of_source, _of_version_2, _of_another, _none],
)
def test_challenge_with_changed_entries_is_unreadable(change: Callable[[Entries], Entries]) -> None:
    assert not _is_read(document_of(change(entries_of(_draw()))))


def _nested(depth: int) -> xdr.SCVal:
    value = scval.to_void()
    for _ in range(depth):
        value = scval.to_vec([value])
    return value


@case("AU-018")
@pytest.mark.parametrize(
    "signature",
    [
        _nested(200),
        scval.to_vec([scval.to_void()] * 2_000),
        scval.to_bytes(bytes(MAX_DOCUMENT_BYTES)),
    ],
    ids=["deep", "wide", "long"],
)
def test_oversized_signature_is_unreadable(signature: xdr.SCVal) -> None:
    entries = entries_of(_draw())
    assert entries[0].credentials.address is not None
    entries[0].credentials.address.signature = signature
    assert not _is_read(document_of(entries))


def test_signature_of_4096_bytes_is_read() -> None:
    entries = entries_of(_draw())
    assert entries[0].credentials.address is not None
    entries[0].credentials.address.signature = scval.to_bytes(bytes(4_096))
    assert _is_read(document_of(entries))


@case("AU-018")
@pytest.mark.parametrize(
    "document",
    [
        "",
        "AAAA",
        "{}",
        "%%%%",
        base64.b64encode(b"\xff" * 64).decode(),
        base64.b64encode(bytes([0, 0, 0, 2])).decode(),
        base64.b64encode(b"\xff\xff\xff\xff" + bytes(60)).decode(),
        "A" * (2 * MAX_DOCUMENT_BYTES),
    ],
)
def test_document_that_is_no_list_of_entries_is_unreadable(document: str) -> None:
    assert not _is_read(document)


def test_bytes_after_the_entries_are_unreadable() -> None:
    raw = base64.b64decode(_draw())
    assert not _is_read(base64.b64encode(raw + bytes(4)).decode())
