"""Owners of accounts: classic ones, and smart ones of crate stellar-accounts, and how they sign."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from stellar_sdk import Keypair, scval, xdr
from stellar_sdk.auth import authorization_payload_hash, authorize_entry

from testing.automation_chain import NET
from testing.contracts import Entry
from testing.entries import last_ledger


@dataclass(frozen=True, slots=True)
class Owner:
    """An account and its key; `generation` is empty for a classic account."""

    account: str
    key: Keypair = field(repr=False)
    generation: str = ""
    verifier: str = ""

    def sign(self, raw: str, *, until: int | None = None) -> str:
        """Sign an entry (base64), to its own last ledger unless another one is given."""
        entry = Entry.from_xdr(raw)
        return self.sign_entry(entry, until or last_ledger(entry)).to_xdr()

    def sign_entry(self, entry: Entry, until: int) -> Entry:
        """Sign an entry up to a ledger, for every call in it."""
        if not self.generation:
            return authorize_entry(entry, self.key, until, NET.passphrase)
        rules = [0] * tree_size(entry.root_invocation)
        return sign_by_external(entry, self.key, rules, until, self)


def sign_by_external(
    entry: Entry, key: Keypair, rule_ids: Sequence[int], until: int, account: Owner
) -> Entry:
    """Sign an entry for a smart account by one external key, under the rule of each call."""
    ids = scval.to_vec([scval.to_uint32(each) for each in rule_ids])

    def answer(preimage: xdr.HashIDPreimage) -> xdr.SCVal:
        payload = authorization_payload_hash(preimage)
        signature = scval.to_bytes(key.sign(_digest(account, payload, ids)))
        pair = xdr.SCMapEntry(external_signer(account.verifier, key), signature)
        signers = xdr.SCVal(xdr.SCValType.SCV_MAP, map=xdr.SCMap([pair]))
        return scval.to_struct({"context_rule_ids": ids, "signers": signers})

    return authorize_entry(entry, answer, until, NET.passphrase)


def external_signer(verifier: str, key: Keypair) -> xdr.SCVal:
    """A key of a smart account, as its rules name it."""
    public = scval.to_bytes(key.raw_public_key())
    return scval.to_vec([scval.to_symbol("External"), scval.to_address(verifier), public])


def tree_size(node: xdr.SorobanAuthorizedInvocation) -> int:
    """The number of calls in a tree."""
    return 1 + sum(tree_size(below) for below in node.sub_invocations)


def _digest(account: Owner, payload: bytes, ids: xdr.SCVal) -> bytes:
    if account.generation == "c":
        return hashlib.sha256(payload + ids.to_xdr_bytes()).digest()
    structure = scval.to_struct(
        {
            "account": scval.to_address(account.account),
            "context_rule_ids": ids,
            "signature_payload": scval.to_bytes(payload),
        }
    )
    return hashlib.sha256(structure.to_xdr_bytes()).digest()
