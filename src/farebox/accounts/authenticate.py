"""From the headers of a request to who sends it."""

import hmac
from typing import Protocol, assert_never

from farebox.accounts import credential_store
from farebox.accounts.credential import Credential, Form, Headers, Misuse, read_credential
from farebox.accounts.operator_key import OperatorKeys
from farebox.kernel.caller import Caller, CallerKind, Unauthenticated
from farebox.kernel.errors import Refusal
from farebox.storage.pool import Database


class CrossSiteRequest(Refusal):
    """The browser's session came along with a request that no page of ours has sent."""

    def __init__(self) -> None:
        words = "With the session cookie send our own Origin and the header X-Farebox-CSRF."
        super().__init__("cross_site_request", words)


class Uses(Protocol):
    """Is told which keys are used."""

    def note(self, key_id: str) -> None:
        """The key was used just now; returns at once."""
        ...


class Authenticator:
    """Asks the database anew for each request, so that what is revoked is refused by the next.

    `origin` is that of our own pages; None: the host that a request names.
    """

    def __init__(
        self, database: Database, operators: OperatorKeys, uses: Uses, *, origin: str | None
    ) -> None:
        self._database, self._operators, self._uses = database, operators, uses
        self._origin = origin

    async def caller(self, method: str, headers: Headers) -> Caller | None:
        """Who sends these headers; None when they show nothing.

        Raises:
            Unauthenticated: what is shown is not valid, for whatever reason.
            CrossSiteRequest: the session's cookie alone does not say that our page asks.
            DatabaseUnavailable: nobody knows.
        """
        shown = read_credential(method, headers, origin=self._origin)
        if shown is None:
            return None
        if shown is Misuse.CROSS_SITE:
            raise CrossSiteRequest
        if isinstance(shown, Misuse):
            raise Unauthenticated
        caller = await self._holder(shown)
        if caller is None:
            raise Unauthenticated
        if caller.key_id is not None:
            self._uses.note(caller.key_id)
        return caller

    async def _holder(self, shown: Credential) -> Caller | None:
        match shown.form:
            case Form.OPERATOR:
                owner = self._operators.owner_of(shown.digest)
                return None if owner is None else Caller(owner, CallerKind.OPERATOR)
            case Form.SESSION:
                find = credential_store.find_session
            case Form.KEY:
                find = credential_store.find_key
            case _:
                assert_never(shown.form)
        async with self._database.connection() as db:
            found = await find(db, shown.digest)
        if found is None or not hmac.compare_digest(found.digest, shown.digest):
            return None
        # nobody could revoke what was made with an operator's key that is configured no more
        return None if self._operators.has_ended(found.caller.owner) else found.caller
