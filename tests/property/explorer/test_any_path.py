"""Any network, address and asset gets an answer or a refusal."""

from typing import Final
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from farebox.kernel.networks import Network
from support.asgi import Answer
from support.examples import examples
from support.stage import Stage

_MANY: Final = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
segments: Final = st.text(min_size=1, max_size=80).filter(lambda text: not set(text) & set("/?"))
networks: Final = st.sampled_from([each.value for each in Network]) | segments


def assert_refused(answer: Answer) -> None:
    """A refusal with a code."""
    assert answer.status in (400, 404), (answer.status, answer.body)
    assert answer.json()["error"]["code"]


@_MANY
@given(st.sampled_from(["accounts", "contracts"]), networks, segments)
async def test_any_path_is_refused(stage: Stage, kind: str, network: str, address: str) -> None:
    assert_refused(await stage.client.get(f"/v1/{kind}/{network}/{address}"))


@_MANY
@given(st.text(max_size=80))
async def test_any_text_as_an_asset_is_refused(stage: Stage, asset: str) -> None:
    payer = stage.networks[Network.TESTNET].scene.payers[0].address
    query = quote(asset, safe="", errors="surrogatepass")
    path = f"/v1/accounts/{Network.TESTNET.value}/{payer}?asset={query}"
    assert_refused(await stage.client.get(path))


@_MANY
@given(st.text(st.characters(codec="ascii"), max_size=120))
async def test_any_query_string_gets_an_answer(stage: Stage, query: str) -> None:
    payer = stage.networks[Network.TESTNET].scene.payers[0].address
    answer = await stage.client.get(f"/v1/accounts/{Network.TESTNET.value}/{payer}?{query}")
    assert answer.status in (200, 400), answer.body
