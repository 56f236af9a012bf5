"""Smart accounts of crate stellar-accounts on a devnet, whose ledgers are closed by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stellar_sdk import Keypair, scval, xdr

from support.automation_ledger import AutomationLedger, Entry, Sign
from testing.smart_accounts import Owner, external_signer, sign_by_external

GENERATIONS: Final = ("c", "d")
_LIFE: Final = 24  # ledgers


@dataclass(frozen=True, slots=True)
class SmartAccount:
    """An account on a ledger, and its owner."""

    ledger: AutomationLedger
    owner: Owner

    @classmethod
    def deploy(cls, ledger: AutomationLedger, generation: str, verifier: str) -> "SmartAccount":
        """Create an account that its owner's key may do everything with, as rule 0."""
        key = Keypair.random()
        signers = scval.to_vec([external_signer(verifier, key)])
        address = ledger.deploy(f"smart_account_{generation}", signers)
        return cls(ledger, Owner(address, key, generation, verifier))

    @property
    def address(self) -> str:
        """Where the account is."""
        return self.owner.account

    def by_owner(self, entry: Entry) -> Entry:
        """Sign an entry with the owner's key, for every call in it."""
        return self.owner.sign_entry(entry, self.ledger.sequence + _LIFE)

    def by_delegate(self, key: Keypair, rule_ids: Sequence[int]) -> Sign:
        """How a delegate signs: with the rule of each call, in the order of the tree."""
        return lambda entry: sign_by_external(
            entry, key, rule_ids, self.ledger.sequence + _LIFE, self.owner
        )


def one_pair(key: xdr.SCVal, value: xdr.SCVal) -> xdr.SCVal:
    """A map of one key, which may be of any type."""
    pairs = [xdr.SCMapEntry(key, value)]
    return xdr.SCVal(xdr.SCValType.SCV_MAP, map=xdr.SCMap(pairs))
