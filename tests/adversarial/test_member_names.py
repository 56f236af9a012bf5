"""A repeated member name in one JSON object, which readers resolve differently."""

import json
from collections.abc import Callable
from typing import Final

import pytest

from farebox.x402.reasons import Reason
from support.payments import Draft, encoded
from support.stage import Stage

Twice = Callable[[str, Draft], str]


def _repeated(name: str, first: object) -> Twice:
    """The body with another value of the member before the one every lenient reader takes."""

    def change(body: str, draft: Draft) -> str:
        del draft
        return body.replace(f'"{name}": ', f'"{name}": {json.dumps(first)}, "{name}": ')

    return change


def _escaped(body: str, draft: Draft) -> str:
    del draft
    return body.replace('"amount": ', '"\\u0061mount": "1", "amount": ')


def _two_transactions(body: str, draft: Draft) -> str:
    other = json.dumps(encoded(draft.but().envelope()))
    return body.replace('"transaction": ', f'"transaction": {other}, "transaction": ')


def _two_requirements(body: str, draft: Draft) -> str:
    other = json.dumps(draft.terms(amount="1"))
    return body.replace('"paymentRequirements": ', f'"paymentRequirements": {other}, ' + _REQUIRED)


def _in_extensions(body: str, draft: Draft) -> str:
    del draft
    return body.replace('"payload": ', '"extensions": {"x": [{"y": 1, "y": 1}]}, "payload": ')


_REQUIRED: Final = '"paymentRequirements": '
_SELLER: Final = "GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"
_TERMS: Final = Reason.INVALID_PAYMENT_REQUIREMENTS
REPEATED: Final = [
    pytest.param(_repeated("amount", "1"), _TERMS, id="two-amounts"),
    pytest.param(_escaped, _TERMS, id="two-amounts-one-escaped"),
    pytest.param(_repeated("payTo", _SELLER), _TERMS, id="two-payTo"),
    pytest.param(_repeated("areFeesSponsored", first=False), _TERMS, id="two-flags-in-extra"),
    pytest.param(_two_transactions, Reason.INVALID_PAYLOAD, id="two-transactions"),
    pytest.param(_two_requirements, Reason.INVALID_PAYLOAD, id="two-requirements"),
    pytest.param(_in_extensions, Reason.INVALID_PAYLOAD, id="two-in-an-unread-extension"),
]


@pytest.mark.parametrize(("twice", "reason"), REPEATED)
async def test_repeated_member_name_is_refused_by_both_routes(
    stage: Stage, twice: Twice, reason: Reason
) -> None:
    draft = await stage.draft()
    honest = json.dumps(draft.request())
    changed = twice(honest, draft)
    assert json.loads(changed)["paymentRequirements"] == draft.terms(), "the last one is honest"
    await stage.assert_refused(changed.encode(), reason, by_rule=True)
    control = await stage.verify(json.loads(honest))
    assert control["isValid"] is True, "the same names, once each"


async def test_same_name_in_several_objects_and_texts_is_accepted(stage: Stage) -> None:
    draft = await stage.draft()
    body = draft.request()
    body["paymentPayload"]["resource"] = {"url": 'https://seller.test/{"amount":1,"amount":2}'}
    body["paymentPayload"]["extensions"] = {"a": {"amount": "1"}, "b": [{"amount": "1"}] * 2}
    await stage.assert_settles(body)
