"""Authenticate a request: from its headers to the caller."""

import hmac
from typing import Protocol, assert_never

from farebox.accounts import credential_store
from farebox.accounts.credential import (
    Credential,
    CredentialFault,
    CredentialType,
    Headers,
    OperatorKeys,
    read_credential,
)
from farebox.kernel.caller import Caller, CallerKind, Unauthenticated
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Refusal
from farebox.storage.pool import Database


class CrossSiteRequest(Refusal):
    """The session cookie came with a request from a page that is not ours."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.CROSS_SITE_REQUEST)


class AccountMismatch(Refusal):
    """The browser's session is another account's than the page that sent the request shows."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.ACCOUNT_MISMATCH)


class UsageRecorder(Protocol):
    """Records the use of API keys."""

    def record(self, key_id: str) -> None:
        """Record that the key was used now, without waiting."""
        ...


class Authenticator:
    """Authenticates each request against the database, so that a revocation is immediate.

    `origin` is that of our own pages; None means the host that a request names.
    """

    def __init__(
        self,
        database: Database,
        operators: OperatorKeys,
        usage: UsageRecorder,
        *,
        origin: str | None,
    ) -> None:
        self._database, self._operators, self._usage = database, operators, usage
        self._origin = origin

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        """Return the caller of a request with these headers; None without a credential.

        Raises:
            Unauthenticated: the credential is not valid.
            CrossSiteRequest: the session cookie came without proof that our page sent it.
            AccountMismatch: the page made the request for another account than the cookie's.
        """
        credential = read_credential(method, headers, origin=self._origin)
        if credential is None:
            return None
        if credential is CredentialFault.CROSS_SITE:
            raise CrossSiteRequest
        if isinstance(credential, CredentialFault):
            raise Unauthenticated
        caller = await self._find_caller(credential)
        if caller is None:
            raise Unauthenticated
        if not credential.is_for(caller.owner):
            raise AccountMismatch
        if caller.key_id is not None:
            self._usage.record(caller.key_id)
        return caller

    async def _find_caller(self, credential: Credential) -> Caller | None:
        match credential.type:
            case CredentialType.OPERATOR:
                owner = self._operators.owner_of(credential.digest)
                if owner is None:
                    return None
                return Caller(owner, CallerKind.OPERATOR, is_established=True)
            case CredentialType.SESSION:
                find = credential_store.find_session
            case CredentialType.KEY:
                find = credential_store.find_key
            case _:
                assert_never(credential.type)
        async with self._database.connection() as db:
            stored = await find(db, credential.digest)
        if stored is None or not hmac.compare_digest(stored.digest, credential.digest):
            return None
        # keys of an operator whose key was removed from the settings could not be revoked
        return None if self._operators.is_removed(stored.caller.owner) else stored.caller
