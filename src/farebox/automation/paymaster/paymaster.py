"""The paymaster of one network: its keys, and the envelopes that it signs for runs.

The channel account is the source of a run's transaction and gives its number; the paymaster pays
in a fee bump. Neither authorizes anything in the call.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from farebox.automation.paymaster.channel_store import RunChannel
from farebox.facilitator.channels.channel import channel_signer
from farebox.kernel.addresses import Address
from farebox.kernel.amounts import NO_STROOPS, Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.fees import FeePlan
from farebox.stellar.rpc import TransactionFound
from farebox.stellar.signers import SigningAccount, derive_signing_account
from farebox.stellar.transactions import AuthorizedCall, build_settlement, fee_bump, sign
from farebox.submission.fate import SentEnvelope

_EXECUTOR: Final = "farebox automation executor v1"
_NONCES: Final = b"farebox automation nonce v1"


@dataclass(frozen=True, slots=True)
class RunEnvelope:
    """What one envelope of a run has: call and entries, fees, resources, number and bounds."""

    call: AuthorizedCall
    fee: FeePlan
    soroban_data: bytes
    sequence: int
    max_time: datetime
    sent_after_ledger: int


class Paymaster:
    """Signs the envelopes of runs on one network; derived keys are kept, since deriving is slow."""

    def __init__(self, network: Network, account: SigningAccount) -> None:
        self._network, self._account = network, account
        self._channels: dict[int, SigningAccount] = {}
        executor = derive_signing_account(account, f"{_EXECUTOR}|{network.value}")
        self.executor: Address = executor.address  # of open targets: owns nothing and pays nothing
        seed = bytes(account.key.reveal())
        label = _NONCES + b"|" + network.value.encode()
        self.nonce_key = Secret(hmac.digest(seed, label, hashlib.sha256))

    @property
    def address(self) -> Address:
        """The account that pays the fees."""
        return self._account.address

    def sign(self, channel: RunChannel, envelope: RunEnvelope) -> SentEnvelope:
        """Build and sign an envelope of the channel, inside a fee bump of the paymaster."""
        unsigned = build_settlement(
            envelope.call,
            source=channel.address,
            sequence=envelope.sequence,
            fee=envelope.fee.envelope_fee,
            max_time=int(envelope.max_time.timestamp()),
            soroban_data=envelope.soroban_data,
        )
        inner = sign(unsigned, self._signer(channel).key, self._network.id)
        signed = fee_bump(
            inner,
            fee_source=self._account.address,
            fee=envelope.fee.highest_charge,
            key=self._account.key,
            network_id=self._network.id,
        )
        return SentEnvelope(
            tx_hash=bytes.fromhex(signed.hash),
            inner_hash=bytes.fromhex(inner.hash),
            envelope=Secret(base64.b64decode(signed.envelope_base64.reveal())),
            source=channel.address,
            source_sequence=envelope.sequence,
            max_time=envelope.max_time,
            fee_limit=envelope.fee.highest_charge,
            sent_after_ledger=envelope.sent_after_ledger,
        )

    def _signer(self, channel: RunChannel) -> SigningAccount:
        index = channel.derivation_index
        if index not in self._channels:
            self._channels[index] = channel_signer(self._account, self._network, index)
        return self._channels[index]


def fee_paid(sent: SentEnvelope, found: TransactionFound) -> Stroops:
    """What the paymaster paid: nothing where a stranger's fee bump carried the transaction."""
    return found.fee_charged if found.hash == sent.tx_hash.hex() else NO_STROOPS
