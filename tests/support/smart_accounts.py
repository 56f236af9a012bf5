"""Smart accounts of crate stellar-accounts on a devnet, and how each generation is signed for."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from stellar_sdk import Keypair, scval, xdr
from stellar_sdk.auth import authorization_payload_hash, authorize_entry

from support.automation_ledger import AutomationLedger, Entry, Sign
from support.running_devnet import TESTNET

GENERATIONS: Final = ("c", "d")
_LIFE: Final = 24  # ledgers


@dataclass(frozen=True, slots=True)
class SmartAccount:
    """An account, its owner's key and the verifier of its keys."""

    ledger: AutomationLedger
    generation: str
    address: str
    verifier: str
    owner: Keypair = field(repr=False)

    @classmethod
    def deploy(cls, ledger: AutomationLedger, generation: str, verifier: str) -> "SmartAccount":
        """Create an account that its owner's key may do everything with, as rule 0."""
        owner = Keypair.random()
        signers = scval.to_vec([signer(verifier, owner)])
        address = ledger.deploy(f"smart_account_{generation}", signers)
        return cls(ledger, generation, address, verifier, owner)

    def by_owner(self, entry: Entry) -> Entry:
        """Sign an entry with the owner's key, for every call in it."""
        return self.sign(entry, self.owner, [0] * tree_size(entry.root_invocation))

    def by_delegate(self, key: Keypair, rule_ids: Sequence[int]) -> Sign:
        """How a delegate signs: with the rule of each call, in the order of the tree."""
        return lambda entry: self.sign(entry, key, rule_ids)

    def sign(self, entry: Entry, key: Keypair, rule_ids: Sequence[int]) -> Entry:
        """Sign an entry by one external key."""
        until = self.ledger.sequence + _LIFE
        account = (self.generation, self.address, self.verifier)
        return sign_by_external(entry, key, rule_ids, until, account)


def sign_by_external(
    entry: Entry, key: Keypair, rule_ids: Sequence[int], until: int, account: tuple[str, str, str]
) -> Entry:
    """Sign an entry up to a ledger by one external key; `account`: generation, address, verifier.

    The rules are those of each call, in the order of the tree.
    """
    generation, address, verifier = account
    ids = scval.to_vec([scval.to_uint32(each) for each in rule_ids])

    def answer(preimage: xdr.HashIDPreimage) -> xdr.SCVal:
        payload = authorization_payload_hash(preimage)
        signature = scval.to_bytes(key.sign(_digest(generation, address, payload, ids)))
        signers = one_pair(signer(verifier, key), signature)
        return scval.to_struct({"context_rule_ids": ids, "signers": signers})

    return authorize_entry(entry, answer, until, TESTNET)


def _digest(generation: str, address: str, payload: bytes, ids: xdr.SCVal) -> bytes:
    if generation == "c":
        return hashlib.sha256(payload + ids.to_xdr_bytes()).digest()
    structure = scval.to_struct(
        {
            "account": scval.to_address(address),
            "context_rule_ids": ids,
            "signature_payload": scval.to_bytes(payload),
        }
    )
    return hashlib.sha256(structure.to_xdr_bytes()).digest()


def signer(verifier: str, key: Keypair) -> xdr.SCVal:
    """An external signer, as rules name it."""
    return scval.to_vec(
        [
            scval.to_symbol("External"),
            scval.to_address(verifier),
            scval.to_bytes(key.raw_public_key()),
        ]
    )


def one_pair(key: xdr.SCVal, value: xdr.SCVal) -> xdr.SCVal:
    """A map of one key, which may be of any type."""
    pairs = [xdr.SCMapEntry(key, value)]
    return xdr.SCVal(xdr.SCValType.SCV_MAP, map=xdr.SCMap(pairs))


def tree_size(node: xdr.SorobanAuthorizedInvocation) -> int:
    """The number of calls in a tree."""
    return 1 + sum(tree_size(below) for below in node.sub_invocations)
