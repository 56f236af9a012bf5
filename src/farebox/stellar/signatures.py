"""Ed25519 over digests: whether what an entry lists verifies against its own keys.

Whether a key is a signer of the account, and whether the signers weigh enough, is the network's
to say.
"""

from itertools import pairwise

from nacl.bindings import crypto_sign_open
from nacl.exceptions import BadSignatureError

from farebox.stellar.auth_entries import AuthEntry, CredentialKind, KeySignatures
from farebox.stellar.auth_entries import authorization_digest as digest_of


def every_signature_verifies(entry: AuthEntry, network_id: bytes) -> bool:
    """Whether the entry lists key signatures, at least one, and each verifies for `network_id`.

    False for an unsigned entry and for a signature only the payer's contract can judge.
    """
    signature = entry.signature
    if not isinstance(signature, KeySignatures) or not signature.pairs:
        return False
    if entry.kind is CredentialKind.SOURCE_ACCOUNT:
        return False
    digest = digest_of(entry, network_id)
    return all(signature_verifies(key, signed, digest) for key, signed in signature.pairs)


def keys_are_sorted(entry: AuthEntry) -> bool:
    """Whether the listed keys rise strictly, as the network demands; true without any."""
    signature = entry.signature
    if not isinstance(signature, KeySignatures):
        return True
    return all(key < following for (key, _), (following, _) in pairwise(signature.pairs))


def signature_verifies(key: bytes, signed: bytes, digest: bytes) -> bool:
    """Whether `signed` (64 bytes) is the signature of `key` (32 bytes) over `digest`."""
    try:
        crypto_sign_open(signed + digest, key)
    except BadSignatureError:
        return False
    return True
