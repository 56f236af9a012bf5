"""The rules of a spec: the packaged ones keep them, and each broken rule is named."""

from typing import Final

import pytest

from farebox.skills.spec_rules import judge_spec
from support.skills import NAMES, VERSIONS, Json, changed, spec_json, version_of, without

SPEC: Final = spec_json()
ACTION: Final = "actions/2"  # settle
ADDRESS: Final = {"type": "string", "pattern": "^[GC][A-Z2-7]{55}$"}
CLOSED: Final = {"type": "object", "additionalProperties": False}


def faults_of(spec: Json) -> list[str]:
    return list(judge_spec(version_of(spec).spec))


def test_packaged_specs_keep_the_rules() -> None:
    specs = [(name, each.spec) for name, each in zip(NAMES, VERSIONS, strict=True)]
    assert [(name, fault) for name, spec in specs for fault in judge_spec(spec)] == []


def _input(**properties: object) -> Json:
    own = SPEC["actions"][2]["input"]
    return {**own, "properties": own["properties"] | properties}


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("changelog/0/version", "2.0.0", "changelog: the first entry is not that of this version"),
        ("authMode", ["none"], "authMode: not that of all actions together"),
        ("status", "deprecated", "deprecation: given for a deprecated skill, and for no other"),
        ("safety/maxExposure", "0", "safety/maxExposure: 0 exactly where no funds move"),
        ("safety/maxExposure", "settle.input.price", "there is no settle.input.price"),
        ("safety/maxExposure", "buy.input.amount", "there is no buy.input.amount"),
        ("links/openapi", "/v1/skills/x402-pay/openapi.json", "links: not those of this skill"),
        ("endpoints/0/ref", "ready", "endpoints: no action uses ready"),
        ("endpoints/1/ref", "prepare", "endpoints: prepare twice"),
        ("networks/1/id", "stellar:testnet", "networks: stellar:testnet twice"),
        (f"{ACTION}/name", "prepare", "actions: prepare twice"),
        (f"{ACTION}/endpoint", "nowhere", "there is no endpoint nowhere"),
        (f"{ACTION}/effects/debits", ["input.price"], "there is no input.price"),
        (f"{ACTION}/procedure", ["Look at output.receipts[].id."], "there is no output.receipts[]"),
        (f"{ACTION}/input/additionalProperties", True, "not an object without further members"),
        (f"{ACTION}/input", CLOSED | {"type": "array"}, "not an object without further members"),
        (f"{ACTION}/input", CLOSED | {"type": "objekt"}, "no JSON Schema of draft 2020-12"),
        (f"{ACTION}/input", _input(x={"$ref": "#/x"}), "a reference: write the schema out"),
        (f"{ACTION}/input", _input(x={"type": "integer"}), "an integer without a maximum"),
        (f"{ACTION}/input", _input(amount={"type": "string"}), "amount is an amount: a string"),
        (f"{ACTION}/input", _input(feeAmount={"type": "number"}), "feeAmount is an amount"),
        (f"{ACTION}/examples/0/input", {}, '"paymentPayload" is a required property'),
        (f"{ACTION}/examples/0/output/success", "yes", 'success: "yes" is not of type "boolean"'),
        (f"{ACTION}/examples/0/output/payer", "G" + "A" * 55, f"{'G' + 'A' * 55} is no address"),
        ("endpoints/2/path", "/settle/{id}", "input: id stands in the path, so it is required"),
        ("endpoints/2/auth", "required", "authMode: the endpoint needs a credential"),
    ],
)
def test_broken_rule_is_named(path: str, value: object, fault: str) -> None:
    spec = changed(SPEC, path, value)
    if path == "endpoints/2/auth":
        spec = changed(spec, f"{ACTION}/authMode", ["none"])
    assert any(fault in each for each in faults_of(spec)), faults_of(spec)


def test_error_given_twice_is_named() -> None:
    errors = SPEC["actions"][2]["errors"]
    spec = changed(SPEC, f"{ACTION}/errors", [*errors, errors[0]])
    assert faults_of(spec) == [f"actions/settle: errors: {errors[0]['code']} twice"]


def test_address_without_a_network_is_named() -> None:
    spec = changed(spec_json("contract-inspect/1.0.0.json"), "endpoints/0/path", "/v1/contracts")
    for side in ("input", "output"):
        spec = changed(spec, f"actions/0/{side}", CLOSED | {"properties": {"contract": ADDRESS}})
    spec = changed(spec, "actions/0/examples/0/input", {})
    spec = without(spec, "actions/0/examples/0/output/network")
    assert "actions/spec: an address without a network" in faults_of(spec)


def test_example_with_an_address_and_no_network_is_named() -> None:
    spec = changed(spec_json("contract-inspect/1.0.0.json"), "endpoints/0/path", "/v1/contracts")
    for side in ("input", "output"):
        required = spec["actions"][0][side]["required"]
        spec = changed(spec, f"actions/0/{side}/required", [n for n in required if n != "network"])
        spec = without(spec, f"actions/0/examples/0/{side}/network")
    assert "actions/spec: examples/0: an address without a network" in faults_of(spec)
