"""A node and its fallback: sending envelopes and simulating what is sent."""

import pytest

from farebox.stellar.rpc import RpcUnavailable, SendStatus
from farebox.stellar.rpc_nodes import AGREEMENTS
from support.manual_clock import ManualClock
from support.rpc_nodes import ACCOUNT, Node, nodes, outage
from support.sdk_ledger_keys import resource_data

RESOURCES = resource_data(read_only=[], read_write=[]).to_xdr()
APPROVED = {"transactionData": RESOURCES, "events": []}
ERROR, LATER = SendStatus.ERROR, SendStatus.TRY_AGAIN_LATER
BAD_SEQUENCE, INTERNAL_ERROR = -5, -11  # TransactionResultCode
UNFUNDED = {"error": "HostError: Error(Contract, #10)"}


@pytest.mark.parametrize(
    ("first", "second", "is_unsent"),
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
async def test_send_is_certainly_not_sent_only_when_no_node_can_have_the_envelope(
    *, first: bool, second: bool, is_unsent: bool
) -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback) as rpc:
        primary.fault, fallback.fault = outage(unsent=first), outage(unsent=second)
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
    assert caught.value.certainly_not_sent is is_unsent
    assert primary.envelopes == fallback.envelopes == ["AAAA"]


@pytest.mark.parametrize("is_unsent", [True, False])
@pytest.mark.parametrize("status", list(SendStatus))
async def test_send_says_whether_another_node_may_have_the_envelope(
    status: SendStatus, *, is_unsent: bool
) -> None:
    primary, fallback = Node(), Node(sends=status)
    async with nodes(primary, fallback) as rpc:
        primary.fault = outage(unsent=is_unsent)
        answer = await rpc.send("AAAA")
    assert (answer.status, answer.may_be_sent) == (status, not is_unsent)


@pytest.mark.parametrize(
    ("second", "result"),
    [
        (SendStatus.PENDING, SendStatus.PENDING),
        (SendStatus.DUPLICATE, SendStatus.DUPLICATE),
        (SendStatus.ERROR, SendStatus.PENDING),
        (SendStatus.TRY_AGAIN_LATER, SendStatus.PENDING),
    ],
)
async def test_send_repeats_to_the_next_node_what_a_stale_node_accepted(
    second: SendStatus, result: SendStatus
) -> None:
    primary, fallback = Node(), Node(sends=second)
    async with nodes(primary, fallback) as rpc:
        await rpc.latest_ledger()
        primary.ledger -= 10
        assert (await rpc.send("AAAA")).status is result
    assert primary.envelopes == fallback.envelopes == ["AAAA"]


@pytest.mark.parametrize("both_are_stale", [False, True])
@pytest.mark.parametrize(
    ("first", "code", "may_be_sent"),
    [
        (LATER, None, True),
        (ERROR, None, True),
        (ERROR, INTERNAL_ERROR, True),
        (ERROR, BAD_SEQUENCE, False),
    ],
)
async def test_refusal_after_an_answer_that_proves_nothing_may_be_sent(
    first: SendStatus, code: int | None, *, may_be_sent: bool, both_are_stale: bool
) -> None:
    """The stale node may have kept the envelope; a refusal as invalid is the one that proves."""
    primary, fallback = Node(sends=first, refuses=code), Node(sends=ERROR, refuses=BAD_SEQUENCE)
    async with nodes(primary, fallback) as rpc:
        await rpc.latest_ledger()
        primary.ledger -= 10
        fallback.ledger -= 10 * both_are_stale
        answer = await rpc.send("AAAA")
    assert primary.envelopes == fallback.envelopes == ["AAAA"]
    assert (answer.result_code, answer.may_be_sent) == ("txBAD_SEQ", may_be_sent)


async def test_send_keeps_the_response_of_a_stale_node_when_the_other_is_unavailable() -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback) as rpc:
        await rpc.latest_ledger()
        primary.ledger -= 10
        fallback.fault = outage(unsent=False)
        answer = await rpc.send("AAAA")
    assert (answer.status, answer.may_be_sent) == (SendStatus.PENDING, True)


async def test_send_calls_one_node_while_it_responds() -> None:
    primary, fallback = Node(sends=SendStatus.ERROR), Node()
    async with nodes(primary, fallback) as rpc:
        assert (await rpc.send("AAAA")).status is SendStatus.ERROR
    assert fallback.envelopes == []


async def test_simulation_does_not_raise_the_high_water_mark() -> None:
    node = Node()
    async with nodes(node) as rpc:
        node.ledger = 10**9
        await rpc.simulate("AAAA")
        node.ledger = 100
        assert await rpc.account(ACCOUNT) is not None


async def test_send_repeats_to_the_fallback_what_a_stale_node_refused() -> None:
    primary, fallback = Node(sends=ERROR, refuses=BAD_SEQUENCE), Node()
    async with nodes(primary, fallback) as rpc:
        await rpc.latest_ledger()
        primary.ledger = 90
        answer = await rpc.send("AAAA")
        assert (answer.status, answer.may_be_sent) == (SendStatus.PENDING, False)
        fallback.fault = outage()
        answer = await rpc.send("AAAA")
        assert (answer.status, answer.may_be_sent) == (SendStatus.ERROR, True)


async def test_send_is_refused_with_each_fault_when_no_node_passes_its_check() -> None:
    primary, fallback = Node(passphrase="another"), Node(fault=outage())
    async with nodes(primary, fallback) as rpc:
        assert rpc.faults == ("wrong_network", "rpc_unavailable")
        with pytest.raises(RpcUnavailable) as caught:
            await rpc.send("AAAA")
        assert caught.value.certainly_not_sent
    assert primary.envelopes == fallback.envelopes == []


async def test_simulate_to_send_uses_both_nodes_while_one_is_distrusted() -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback) as rpc:
        primary.simulates, fallback.simulates = APPROVED, UNFUNDED
        assert (await rpc.simulate_to_send("AAAA")).nodes == ("primary",)
        assert fallback.calls == []
        rpc.trust.distrust("primary")
        result = await rpc.simulate_to_send("AAAA")
        assert (result.nodes, result.result["error"]) == (("fallback",), UNFUNDED["error"])
        assert primary.calls == ["simulateTransaction"] * 2
        assert fallback.calls == ["simulateTransaction"]
        await rpc.simulate("AAAA")  # a verification costs one call, whatever is distrusted
        assert (len(primary.calls), len(fallback.calls)) == (3, 1)
        fallback.simulates = APPROVED
        for _ in range(AGREEMENTS):
            assert set((await rpc.simulate_to_send("AAAA")).nodes) == {"primary", "fallback"}
        fallback.calls.clear()
        assert (await rpc.simulate_to_send("AAAA")).nodes == ("primary",)
        assert fallback.calls == []


async def test_distrusted_node_simulates_while_the_other_is_unavailable_or_stale(
    clock: ManualClock,
) -> None:
    primary, fallback = Node(), Node()
    async with nodes(primary, fallback, clock=clock) as rpc:
        await rpc.latest_ledger()
        primary.simulates = APPROVED
        rpc.trust.distrust("primary")
        fallback.ledger = 90
        assert (await rpc.simulate_to_send("AAAA")).nodes == ("primary",)
        for _ in range(10):
            assert (await rpc.simulate_to_send("AAAA")).nodes == ("primary",)
        assert fallback.calls == ["simulateTransaction"], (
            "a node with an open breaker is not called"
        )
        clock.turn(60)
        fallback.fault = outage()
        assert (await rpc.simulate_to_send("AAAA")).nodes == ("primary",)
        assert fallback.calls == ["simulateTransaction"] * 2
        assert rpc.trust.distrusted == "primary"
        primary.fault = outage()
        with pytest.raises(RpcUnavailable):
            await rpc.simulate_to_send("AAAA")


async def test_single_distrusted_node_simulates_once() -> None:
    node = Node()
    async with nodes(node) as rpc:
        rpc.trust.distrust("primary")
        await rpc.simulate_to_send("AAAA")
        assert node.calls == ["simulateTransaction"]
