"""The examples of the API schema and of the pages are what the service takes.

Every request of them is sent to one running service, whole. What a page cuts (`…`), and what each
reader has of their own, is put in; nothing else of an example is changed.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

import asyncpg
import msgspec
import pytest
from stellar_sdk import Keypair
from stellar_sdk.scval import to_address, to_int128

from e2e.page_runner import PageRunner
from e2e.snippets import Kind, Snippet
from farebox.kernel.addresses import parse_party
from farebox.kernel.networks import Network
from farebox.local.certificates import Authority
from farebox.local.wrapped_api import NAME, WrappedApi
from farebox.web.endpoint import RouteDeclaration
from support.asgi import Answer, AsgiClient
from support.callers import send_request
from support.discovery import http_info, schema_of
from support.page_blocks import (
    COMMANDS,
    ROOT,
    ROUTES,
    SENT,
    STATEMENTS,
    checked_blocks,
    page_faults,
    read_pages,
    read_spans,
)
from support.paid_gateway import ORIGIN, PAYMENTS, WRAPPERS, PaidGateway
from support.payment_headers import receipt
from support.payments import Json, wrapper
from support.plan_service import AUTOMATIONS, PlanService, plan_service
from support.planted_secrets import plant_secret
from support.serving import serving
from support.stage import Stage, environment_for, key_of
from support.stage_fixtures import Networks
from support.upstream import answers, upstream
from support.wallet_payments import HashSigner, prepare, text_of
from support.wallet_sign_in import add_signatures
from testing.plan_specs import in_time

ADDRESS: Final = re.compile(r"\b[GC][A-Z2-7]{55}\b")
CUT: Final = "…"  # of a text that is made for each request: an envelope, an entry, a signature
# what each reader has: an account that can receive, a keeper, the transaction of a refund
OWN: Final = {"payTo", "contract", "transaction"}
HOST: Final = "api.weather.example"  # of the schema's upstream; that of the pages needs a token
DOCUMENTS: Final = ("/v1/openapi.json", "/openapi.json")
# a plan's life; the session of the others ends last
LATE: Final = [
    *(("POST", f"{AUTOMATIONS}/{{id}}/{verb}") for verb in ("payment", "activate", "pause")),
    *(("POST", f"{AUTOMATIONS}/{{id}}/{verb}") for verb in ("resume", "cancel", "topup")),
    ("POST", "/v1/auth/logout"),
]


@dataclass
class Examples:
    """The service, what is there for it, and the records that its examples made."""

    plans: PlanService
    shop: PaidGateway
    keeper: str
    key: str  # of the operator
    api: WrappedApi
    folder: Path
    records: Json = field(default_factory=dict)

    @property
    def client(self) -> AsgiClient:
        """The service."""
        return self.plans.client

    async def send(self, method: str, path: str, value: object, **headers: str) -> Answer:
        """Send JSON as the wallet; a record of its own in place of `{…}`."""
        folder = path.split("/{", maxsplit=1)[0]
        path = re.sub(r"{\w+}", self.records.get(folder, "none"), path)
        sent = {"content-type": "application/json", **self.shop.seller.headers, **headers}
        return await send_request(self.client, method, path, sent, value)

    async def send_example(self, route: RouteDeclaration) -> Answer:
        """Send the example of a route, whole."""
        key, example = (route.method, route.path), cast("Json", route.example.request)
        make = WHOLE.get(key)
        whole = example if make is None else await make(self, example)
        assert changed(example, whole) == [], key
        answer = await self.send(*key, whole)
        if answer.status == 201 and "{" not in route.path:
            made = answer.json()
            self.records[route.path] = made.get("proposal", made)["id"]
        return answer


def changed(example: Any, whole: Any, name: str = "") -> list[str]:
    """The members that differ, but for those that are cut or the reader's own; all are whole."""
    if isinstance(example, dict) and isinstance(whole, dict) and list(example) == list(whole):
        return [each for key in example for each in changed(example[key], whole[key], key)]
    is_free = name in OWN or (isinstance(example, str) and CUT in example)
    return [] if CUT not in str(whole) and (is_free or example == whole) else [name]


async def pay(examples: Examples, example: Json) -> Json:
    """The payment of an example, signed by a payer who has the amount."""
    stage = examples.shop.stage
    asked = example["paymentRequirements"]
    scene = stage.networks[Network.TESTNET].scene
    draft = await stage.draft(amount=int(asked["amount"]), pay_to=scene.payees[0].address)
    assert draft.asset == asked["asset"], "the example is in the USDC of testnet"
    terms = asked | {"payTo": draft.pay_to}
    return wrapper(terms, terms, draft.envelope())


def sign_in(
    member: str, network: Network, path: str
) -> Callable[[Examples, Json], Awaitable[Json]]:
    """What makes the example of a route of sign-in whole: the challenge, signed."""

    async def make(examples: Examples, example: Json) -> Json:
        key = Keypair.random()
        if path:
            answer = await examples.client.get(f"{path}?account={key.public_key}")
        else:
            asked = {"network": network.value, "address": key.public_key}
            answer = await examples.client.post("/v1/auth/challenge", asked)
        signed = add_signatures(answer.json()[member], network, key)
        return example | {member: signed}

    return make


async def complete(examples: Examples, example: Json) -> Json:
    payer = examples.shop.stage.networks[Network.TESTNET].scene.payers[1]
    prepared = await prepare(examples.shop.stage, example["requirements"], payer.address)
    signature = text_of(HashSigner(key_of(payer)).sign(prepared))
    return example | {"entry": prepared["entry"], "signature": signature}


async def sell(examples: Examples, example: Json) -> Json:
    return example | {"payTo": examples.shop.body()["payTo"]}


async def keep(examples: Examples, example: Json) -> Json:
    return example | {"spec": example["spec"] | {"contract": examples.keeper}}


async def start_again(examples: Examples, example: Json) -> Json:
    """A plan that has one run of twelve: the one before was cancelled."""
    assert (await examples.send_example(ROUTES["POST", AUTOMATIONS])).status == 201
    paid = await examples.send("POST", f"{AUTOMATIONS}/{{id}}/payment", {"runs": 1})
    assert paid.status == 200, paid.body
    return example


async def refund(examples: Examples, example: Json) -> Json:
    """The refund of a payment whose response could not be delivered."""
    shop = examples.shop
    wrapper = await shop.serve(upstreamUrl=f"https://{HOST}")
    whole, shop.upstream.answer = shop.upstream.answer, answers(b"", length=5)  # it breaks off
    examples.records[PAYMENTS] = receipt(await shop.buy(wrapper, method="POST"))["transaction"]
    shop.upstream.answer = whole
    scene = shop.stage.networks[Network.TESTNET].scene
    parties = [to_address(each.address) for each in (scene.payees[0], scene.payers[0])]
    found = await shop.stage.ledger().submit(
        key_of(scene.payees[0]),
        lambda b: b.append_invoke_contract_function_op(
            scene.asset, "transfer", [*parties, to_int128(10_000)]
        ),
    )
    return example | {"transaction": str(found.transaction_hash)}


WHOLE: Final[dict[tuple[str, str], Callable[[Examples, Json], Awaitable[Json]]]] = {
    ("POST", "/verify"): pay,
    ("POST", "/settle"): pay,
    ("POST", "/v1/auth/verify"): sign_in("transactionXdr", Network.TESTNET, ""),
    **{
        ("POST", f"/v1/auth/{each.label}"): sign_in("transaction", each, f"/v1/auth/{each.label}")
        for each in Network
    },
    ("POST", "/v1/payments/complete"): complete,
    ("POST", WRAPPERS): sell,
    ("POST", f"{PAYMENTS}/{{transaction}}/refund"): refund,
    ("POST", AUTOMATIONS): keep,
    ("POST", f"{AUTOMATIONS}/preview"): keep,
    ("POST", f"{AUTOMATIONS}/{{id}}/topup"): start_again,
}


PLAN: Final = cast("Json", ROUTES["POST", AUTOMATIONS].example.request)
# what is cut from a body in a line, by its member
VALUES: Final[Json] = {
    "url": f"https://{NAME}/forecast",
    "method": "GET",
    "resource": {"url": f"https://{NAME}/forecast"},
    "bazaar": {"info": http_info(), "schema": schema_of(http_info())},
    "paymentPayload": {"resource": {"url": f"https://{NAME}/forecast"}, "extensions": {}},
}
# the console, the route that add-a-route.md adds, and the payload of the draft in upto.md
UNSENT: Final = {"GET /", "POST /v1/vault/secrets/{id}/rename", '{"transaction": "…"}'}


def is_taken(route: RouteDeclaration, answer: Answer) -> bool:
    """Whether the answer is that of the example, with the verdict of the example."""
    if answer.status != route.example.status:
        return False
    said, expected = answer.json(), route.example.response
    assert isinstance(expected, dict)
    verdicts = ("isValid", "success", "error")
    return [said.get(each) for each in verdicts] == [expected.get(each) for each in verdicts]


def operator_key() -> tuple[dict[str, str], str]:
    """The setting that the commands of docs/accounts.md print, and the key that they make."""
    pairs = checked_blocks(read_pages())
    (text,) = (b.text for b, check in pairs if (b.page, check) == ("accounts.md", COMMANDS))
    script = f'{text}\necho "$key"'
    ran = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True)
    setting, key = ran.stdout.split()
    name, _, value = setting.partition("=")
    return {name: value}, plant_secret(key)


@pytest.fixture(scope="module")
async def served(
    stage_networks: Networks, module_database: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Examples]:
    """A service with a gateway, an upstream under the names of the examples, and automation."""
    folder = tmp_path_factory.mktemp("examples")
    authority = Authority(folder)
    stage = Stage(None, stage_networks, environment_for(stage_networks, module_database))  # type: ignore[arg-type]  # the service follows
    setting, key = operator_key()
    api = WrappedApi()
    async with (
        upstream(authority.server(HOST), answers(b"sunny")) as seller,
        api.serving(authority.server(NAME)),
    ):
        settings = setting | {
            "FAREBOX_PUBLIC_URL": ORIGIN,
            "FAREBOX_OUTBOUND_TEST_AUTHORITY": str(authority.file),
            "FAREBOX_OUTBOUND_TEST_RESOLVER": (
                f"{HOST}=127.0.0.1:{seller.port},{NAME}=127.0.0.1:{api.port}"
            ),
        }
        async with plan_service(stage, **settings) as plans:
            scene = stage_networks[Network.TESTNET].scene
            wallet = await plans.wallet(
                scene.payers[2].address
            )  # a plan is of an account with coin
            own = Stage(plans.client, stage_networks, plans.environment)
            shop = PaidGateway(own, seller, wallet)
            await shop.serve(slug="city-weather", upstreamUrl=f"https://{HOST}")
            yield Examples(plans, shop, await plans.keeper(), key, api, folder)


@pytest.fixture
async def examples(served: Examples) -> Examples:
    """The same, with a session: an example ends it."""
    served.shop.seller = await served.plans.wallet(served.shop.seller.caller.address)
    return served


async def test_every_request_of_the_schema_is_taken(examples: Examples) -> None:
    refused = {}
    bodies = {key: each for key, each in ROUTES.items() if each.request is not None}
    for key in sorted(bodies, key=lambda key: (LATE.index(key) if key in LATE else -1, key[1])):
        answer = await examples.send_example(bodies[key])
        if not is_taken(bodies[key], answer):
            refused[" ".join(key)] = (answer.status, answer.body[:400])
    assert refused == {}


def example_places(value: Any, place: str = "") -> Iterator[str]:
    """The member around every example of an OpenAPI document."""
    pairs = value.items() if isinstance(value, dict) else []
    items = value if isinstance(value, list) else []
    for name, each in [*pairs, *((place, each) for each in items)]:
        if name in {"example", "examples"} and place != "properties":
            yield place
        yield from example_places(each, name)


async def test_no_document_has_an_example_that_no_route_declares(examples: Examples) -> None:
    own, paid = [(await examples.client.get(path)).json() for path in DOCUMENTS]
    bodies = [media for each in ROUTES.values() if each.request for media in each.request_media]
    answers_of = [each for each in ROUTES.values() if each.responses[each.example.status].body]
    places = list(example_places(own))
    assert len(places) == len(bodies) + len(answers_of)
    assert all("/" in each for each in places), "an example is of a whole body"
    assert paid["paths"]
    assert list(example_places(paid)) == [], "an API's examples are its seller's"


def page_runner(examples: Examples, url: str) -> PageRunner:
    """What runs commands of pages: with what a reader sets, and has done on earlier pages."""
    stage = examples.shop.stage.networks[Network.TESTNET]
    folder = Path(tempfile.mkdtemp(dir=examples.folder))
    buyer, seller = stage.scene.payers[3], stage.scene.payees[0]
    wallet = {"address": buyer.address, "secret": buyer.secret.reveal()}
    (folder / "buyer.json").write_text(json.dumps(wallet, indent=1))
    (folder / "buyer.json").chmod(0o600)
    given = {
        "FAREBOX_URL": url,
        "FACILITATOR_URL": url,
        "FAREBOX_KEY": examples.key,
        "UPSTREAM_URL": f"https://{NAME}/forecast",
        "UPSTREAM_TOKEN": plant_secret(examples.api.token.reveal()),
        "ASSET": stage.scene.asset,
        "KEEPER": examples.keeper,
        "PAY_TO": seller.address,
        "FAREBOX_RPC_URL_TESTNET": stage.devnet.rpc_url,
    }
    local = {"http://127.0.0.1:8402": url, "sleep 2": "sleep 0.2"}
    return PageRunner(folder, given={}, surroundings=given, by_hand={}, replaced=local)


async def run_commands(examples: Examples, pages: Mapping[str, str]) -> list[str]:
    """Run the commands of pages that the service here can take; return those that failed."""
    pairs, bought = [pair for pair in checked_blocks(pages) if pair[1] is COMMANDS], ""
    async with serving(examples.client) as (host, port):
        runner = page_runner(examples, f"http://{host}:{port}")
        for block in sorted((block for block, _ in pairs), key=lambda each: SENT.index(each.page)):
            text = block.text
            if "$TRANSACTION" in text and not bought and not runner.failed:
                answer = await examples.shop.buy({"slug": "city-forecast"}, "?city=Lisbon")
                bought = f"export TRANSACTION={receipt(answer)['transaction']}\n"
                text = bought + text
            await runner.run(block.page, [Snippet(Kind.RUN, block.line, text)])
        await runner.aclose()
    return runner.failed


async def test_every_command_of_the_pages_is_run_and_taken(examples: Examples) -> None:
    assert await run_commands(examples, read_pages()) == []


async def test_every_body_of_the_pages_is_taken(examples: Examples) -> None:
    bodies = [(block, key) for block, key in checked_blocks(read_pages()) if type(key) is tuple]
    assert bodies
    for block, (method, path) in bodies:
        answer = await examples.send(method, path, json.loads(block.text))
        said = answer.json()
        assert (answer.status, "error" in said) == (200, False), (block, said)
        assert said["result"]["structuredContent"]["accepts"], "the price: nothing was signed"


async def test_every_statement_of_the_pages_is_one(examples: Examples) -> None:
    db = await asyncpg.connect(examples.plans.environment["FAREBOX_DATABASE_URL"])
    statements = [
        block.text for block, check in checked_blocks(read_pages()) if check is STATEMENTS
    ]
    for each in statements:  # nothing stays: they are for other rows than these
        await db.execute(each if each.startswith("BEGIN;") else f"BEGIN;\n{each}\nROLLBACK;")
    await db.close()
    assert statements


async def is_header_taken(examples: Examples, span: str) -> bool:
    """Whether a credential's header is taken, or another header is one of ours."""
    name, value = span.split(": ")
    is_credential = name in {"Authorization", "X-API-Key"}
    whole = f"{value.rstrip(' …')} {examples.key}".strip() if is_credential else ""
    answer = await examples.client.request("GET", "/v1/auth/me", headers={name: whole})
    return answer.status == 200 if is_credential else answer.headers.get(name.lower()) == value


async def is_body_taken(examples: Examples, span: str) -> bool:
    """Whether a plan with this schedule is taken, or this metadata is judged."""
    values = VALUES | dict.fromkeys(("at", "startAt"), in_time(minutes=5))
    whole = re.sub(r'"(\w+)": …', lambda m: f'"{m[1]}": {json.dumps(values[m[1]])}', span)
    body, path = json.loads(whole), "/v1/discovery/validate"
    if "type" in body:
        path = f"{AUTOMATIONS}/preview"
        body = await keep(examples, PLAN) | {"schedule": body, "runLimit": 1}
    return (await examples.send("POST", path, body)).status == 200


async def is_request_taken(examples: Examples, span: str) -> bool:
    """Whether there is the route and, where the line has all of the request, it is taken."""
    method, target, text = (*span.split(" ", 2), "")[:3]
    target = target.replace("payTo=G…", f"payTo={examples.shop.body()['payTo']}")
    route = ROUTES.get((method, target.partition("?")[0]))
    if route is None:
        return False
    needs = method != "GET" or any(each.is_required for each in route.parameters)
    if needs and not text and "?" not in target:
        return True
    body = json.loads(text) if text else None
    return (await examples.send(method, target.replace(CUT, "weather"), body)).status == 200


LINES: Final = {
    "[A-Z][A-Za-z-]+: ": is_header_taken,
    r'\{"': is_body_taken,
    "(?:GET|POST|PUT|PATCH|DELETE) /": is_request_taken,
}


async def line_faults(examples: Examples, pages: Mapping[str, str]) -> list[str]:
    """Send the headers, the bodies and the requests in the lines of pages; return the refused."""
    spans = [(each, s) for begin, each in LINES.items() for s in sorted(read_spans(pages, begin))]
    return [s for each, s in spans if s not in UNSENT and not await each(examples, s)]


async def test_every_request_in_a_line_of_the_pages_is_taken(examples: Examples) -> None:
    assert await line_faults(examples, read_pages()) == []


def test_every_block_of_the_pages_has_its_check() -> None:
    assert page_faults(read_pages()) == []


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [
        ("discovery.md", "", '```json\n{"isValid": true}\n```\n'),
        ("discovery.md", "", "```sh\ncurl -s https://pay.example.com/supported\n```\n"),
        ("style.md", "", "```\nGET /v1/nothing\n```\n"),
        ("new.md", "", "    ```http\nGET /v1/audit\n    ```\n"),
        ("style.md", "", "```python\ndef (\n```\n"),
        ("wallets.md", "", "```js\nconst = 1;\n```\n"),
        ("accounts.md", "overlapSeconds", "overlap"),
        ("discovery.md", '"partialResults": false', '"partialResults": 0'),
        ("automation.md", "fn autolayer_run", "fn autolayer_start"),
        ("console.md", "scripts/console lint", "scripts/lint-console"),
        ("vault.md", "```json", "```json\n```\n```"),
    ],
)
def test_control_a_block_that_is_new_or_wrong_is_found(page: str, old: str, new: str) -> None:
    text = read_pages().get(page, "")
    assert [each for each in page_faults({page: text}) if each.startswith(page)] == []
    text = text.replace(old, new) if old else text + new
    assert [each for each in page_faults({page: text}) if each.startswith(page)] != []


async def test_control_a_command_a_body_and_a_header_that_are_refused_are_found(
    examples: Examples,
) -> None:
    command = '```sh\ncurl -sS --fail-with-body "$FAREBOX_URL/v1/skills?nothing=1"\n```\n'
    assert len(await run_commands(examples, {"skills.md": command})) == 1
    for line in ("`X-Farebox: …`", '`{"type": "never"}`', "`GET /v1/skills?nothing=1`"):
        assert len(await line_faults(examples, {"api.md": line})) == 1, line


async def test_control_an_example_with_a_wrong_checksum_is_not_taken(examples: Examples) -> None:
    route = ROUTES["POST", "/v1/auth/challenge"]
    request = route.example.request
    assert isinstance(request, dict)
    wrong = request | {"address": request["address"][:-4] + "KMK3"}
    route = replace(route, example=replace(route.example, request=wrong))
    assert not is_taken(route, await examples.send_example(route))


def test_control_a_whole_form_changes_only_what_is_cut_or_the_readers_own() -> None:
    example = {"entry": "AAAA…", "payTo": "G", "amount": "1", "deep": {"contract": "C"}}
    whole = {"entry": "AAAAB", "payTo": "GA", "amount": "1", "deep": {"contract": "CA"}}
    assert changed(example, whole) == []
    for wrong in ({"amount": "2"}, {"entry": "AAAA…"}, {"deep": {"contract": "C", "n": 1}}):
        assert changed(example, whole | wrong) != []
    assert changed(example, whole | {"more": 1}) != []


def test_every_address_of_the_schema_and_of_the_pages_is_one() -> None:
    texts = {path.name: path.read_text() for path in (ROOT / "docs").rglob("*.md")}
    for route in ROUTES.values():
        example = (route.example.request, route.example.response)
        texts[f"{route.method} {route.path}"] = msgspec.json.encode(example).decode()
    found = {(name, each) for name, text in texts.items() for each in ADDRESS.findall(text)}
    assert len(found) > 20
    assert {(name, each) for name, each in found if parse_party(each) is None} == set()
