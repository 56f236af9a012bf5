"""The operator's keys: known by their digests alone."""

import hmac
from collections.abc import Sequence

from farebox.accounts.token import digest_of
from farebox.kernel.caller import OwnerId, is_operators, operator_id

_EMPTY = digest_of(b"")


class OperatorKeys:
    """Tells whether a digest is one of those configured; without any nothing matches."""

    def __init__(self, digests: Sequence[bytes]) -> None:
        self._owners = [(digest, operator_id(digest)) for digest in digests if digest != _EMPTY]

    def owner_of(self, digest: bytes) -> OwnerId | None:
        """Under which id the holder of the key acts; as long for the last key as for none."""
        found: OwnerId | None = None
        for known, owner in self._owners:
            if hmac.compare_digest(known, digest):
                found = owner
        return found

    def has_ended(self, owner: OwnerId) -> bool:
        """Whether this was an operator whose key is configured no more."""
        return is_operators(owner) and all(owner != known for _, known in self._owners)
