"""Send one signed envelope and learn its fate; never sends another in its place."""

import base64
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from farebox.kernel.addresses import Address
from farebox.kernel.clock import Clock
from farebox.stellar.rpc import (
    AccountState,
    RpcUnavailable,
    SendAnswer,
    SendStatus,
    TransactionFound,
    TransactionNotFound,
)
from farebox.submission.fate import (
    Dead,
    Fate,
    Indeterminate,
    NotSent,
    Refused,
    SentEnvelope,
    Unproven,
    judge_absence,
)

BAD_SEQUENCE: Final = "txBAD_SEQ"


class Rpc(Protocol):
    """The calls a submission needs."""

    async def send(self, envelope: str) -> SendAnswer: ...

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound: ...

    async def account(self, address: Address) -> AccountState | None: ...


class Watch(Protocol):
    """Sees what lands from now on."""

    async def fate(
        self, sent: SentEnvelope, *, until: float
    ) -> TransactionFound | Dead | Indeterminate: ...


class _Taken:
    """A node has it in its queue."""


class Submitter:
    """Brings one envelope to the network and watches for it there."""

    def __init__(
        self, rpc: Rpc, watch: Watch, clock: Clock, *, poll_s: float, deliver_s: float
    ) -> None:
        self._rpc, self._watch, self._clock = rpc, watch, clock
        self._poll_s, self._deliver_s = poll_s, deliver_s

    async def submit(
        self,
        sent: SentEnvelope,
        *,
        until: float,
        on_taken: Callable[[], Awaitable[object]],
        may_be_out: bool = False,
    ) -> Fate:
        """Deliver `sent`, which is stored already, and wait for its fate until `until` (monotonic).

        The same bytes may go out several times; never others. `may_be_out` says that they may
        have gone out before, so that no refusal proves anything. `on_taken` is awaited once a node
        has taken it. `Indeterminate` is an answer, never a reason to make another envelope.
        """
        give_up = min(until, self._clock.monotonic() + self._deliver_s)
        delivery = await self._deliver(sent, give_up, may_be_out=may_be_out)
        if not isinstance(delivery, _Taken):
            if not isinstance(delivery, Indeterminate):
                return delivery
        else:
            await on_taken()
        if may_be_out:
            return await self.wait(sent, until=until)
        return await self._watch.fate(sent, until=until)

    async def wait(self, sent: SentEnvelope, *, until: float) -> Fate:
        """Ask for the fate of an envelope sent long ago until `until` (monotonic)."""
        while True:
            fate = await self.observe(sent)
            if not isinstance(fate, Indeterminate):
                return fate
            if self._clock.monotonic() + self._poll_s > until:
                return Indeterminate()
            await self._clock.sleep(self._poll_s)

    async def observe(
        self, sent: SentEnvelope
    ) -> TransactionFound | Dead | Unproven | Indeterminate:
        """Look once; an outage shows nothing and proves nothing."""
        try:
            answer = await self._rpc.get_transaction(sent.tx_hash.hex())
            if isinstance(answer, TransactionFound):
                return answer
            absence = judge_absence(sent, answer, None)
            if isinstance(absence, Dead) or answer.latest_close_at <= sent.max_time:
                return absence
            return judge_absence(sent, answer, await self._rpc.account(sent.source))
        except RpcUnavailable:
            return Indeterminate()

    async def _deliver(
        self, sent: SentEnvelope, until: float, *, may_be_out: bool
    ) -> _Taken | NotSent | Refused | Indeterminate | TransactionFound:
        envelope = base64.b64encode(sent.envelope.reveal()).decode()
        while True:
            try:
                answer = await self._rpc.send(envelope)
            except RpcUnavailable as outage:
                may_be_out = may_be_out or not outage.certainly_not_sent
            else:
                if answer.status in (SendStatus.PENDING, SendStatus.DUPLICATE):
                    return _Taken()
                if answer.status is SendStatus.ERROR:
                    return await self._after_refusal(sent, answer, may_be_out=may_be_out)
            if self._clock.monotonic() + self._poll_s > until:
                return Indeterminate() if may_be_out else NotSent()
            await self._clock.sleep(self._poll_s)

    async def _after_refusal(
        self, sent: SentEnvelope, answer: SendAnswer, *, may_be_out: bool
    ) -> Refused | Indeterminate | TransactionFound:
        """An envelope that may be out already is looked up before its refusal is believed."""
        code = answer.result_code
        may_be_out = may_be_out or code is None
        if code is not None and code != BAD_SEQUENCE and not may_be_out:
            return Refused(code, answer.fee_wanted)
        fate = await self.observe(sent)
        if isinstance(fate, TransactionFound):
            return fate
        return Indeterminate() if may_be_out or code is None else Refused(code)
