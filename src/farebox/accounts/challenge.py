"""Make SEP-10 challenges with the public SDK: the only place where it is asked about signing in."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from stellar_sdk import TimeBounds, TransactionEnvelope
from stellar_sdk.sep.stellar_web_authentication import (
    build_challenge_transaction,
    read_challenge_transaction,
)

from farebox.accounts.signed_challenge import ChallengeTerms
from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret

LIFE: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge signed by the service alone."""

    transaction: str = field(repr=False)  # base64 XDR
    digest: bytes  # its hash on its network
    expires_at: datetime  # the last whole second at which it is valid


def make_challenge(
    terms: ChallengeTerms, secret: Secret[str], address: Address, *, now: datetime
) -> Challenge:
    """A challenge for the account, from `now` on for five minutes.

    The SDK builds it and reads it back. Both go by the machine's clock, which decides nothing
    here: the time bounds are then set by `now`, and the transaction is signed anew.
    """
    passphrase = terms.network.passphrase
    built = build_challenge_transaction(
        server_secret=secret.reveal(),
        client_account_id=address,
        home_domain=terms.domain,
        web_auth_domain=terms.domain,
        network_passphrase=passphrase,
        timeout=int(LIFE.total_seconds()),
    )
    read_challenge_transaction(built, terms.server, terms.domain, terms.domain, passphrase)
    envelope = TransactionEnvelope.from_xdr(built, passphrase)
    starts_at = now.replace(microsecond=0)
    ends_at = starts_at + LIFE
    preconditions = envelope.transaction.preconditions
    if preconditions is None:
        raise ValueError("a challenge has time bounds")
    preconditions.time_bounds = TimeBounds(int(starts_at.timestamp()), int(ends_at.timestamp()))
    envelope.signatures.clear()
    envelope.sign(secret.reveal())
    return Challenge(envelope.to_xdr(), envelope.hash(), ends_at)
