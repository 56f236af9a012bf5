"""Reading the specs: what does not fit the schema, or another spec, refuses the start."""

from typing import Any, Final

import msgspec
import pytest

from farebox.kernel.errors import Refusal
from farebox.skills.read_skills import InvalidSkills, packaged_files, read_skills
from support.skills import FILES, SKILLS, Json, changed, file_of, small_spec, spec_json, without

SPEC: Final = spec_json()
NAME: Final = "token-transfer/1.0.0.json"


def refusal(files: dict[str, bytes]) -> str:
    with pytest.raises(InvalidSkills) as refused:
        read_skills(files)
    assert isinstance(refused.value, Refusal)
    return refused.value.message


def test_packaged_skills_are_those_of_the_first_version() -> None:
    assert list(SKILLS) == [
        "account-status",
        "automation-contract-call",
        "automation-dca",
        "automation-disbursement",
        "automation-rebalance",
        "contract-inspect",
        "network-status",
        "receipt-verify",
        "token-transfer",
        "transaction-track",
        "wallet-auth",
        "x402-discover",
        "x402-facilitate",
        "x402-pay",
        "x402-sell",
    ]
    assert packaged_files() == FILES


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        (without(SPEC, "schemaVersion"), 'the document: "schemaVersion" is a required property'),
        (changed(SPEC, "schemaVersion", "2.0"), "schemaVersion: "),
        (changed(SPEC, "status", "ready"), "status: "),
        (changed(SPEC, "networks/0/id", "stellar:futurenet"), "networks/0/id: "),
        (changed(SPEC, "actions/1/kind", "guess"), "actions/1/kind: "),
        (without(SPEC, "actions/1/errors/0/retryable"), "actions/1/errors/0: "),
        (changed(SPEC, "actions/1/examples", []), "actions/1/examples: "),
        (changed(SPEC, "safety/custody", "shared"), "safety/custody: "),
        (without(SPEC, "safety/custody"), 'safety: "custody" is a required property'),
        (changed(SPEC, "endpoints/0/path", "../etc"), "endpoints/0/path: "),
        (SPEC | {"integrity": {}}, "integrity"),
        (changed(SPEC, "authMode", ["none"]), "authMode: not that of all actions together"),
    ],
)
def test_spec_that_does_not_fit_refuses_the_start_with_its_place(spec: Json, place: str) -> None:
    message = refusal({NAME: msgspec.json.encode(spec)})
    assert message.startswith("The skills cannot be served; ")
    assert f"{NAME}: " in message
    assert place in message


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_file_that_is_no_json_refuses_the_start(body: bytes) -> None:
    assert f"{NAME}: not a JSON document" in refusal({NAME: body})


def test_file_under_another_name_refuses_the_start() -> None:
    message = refusal({"token-transfer/1.0.1.json": msgspec.json.encode(SPEC)})
    assert "slug and version are not those of the file's name" in message


def test_related_skill_that_does_not_exist_refuses_the_start() -> None:
    assert "token-transfer: there is no related skill" in refusal({NAME: FILES[NAME]})


def test_message_names_ten_faults_and_counts_all() -> None:
    files = {f"skill-{index}/1.0.0.json": b"{" for index in range(12)}
    message = refusal(files)
    assert "12 faults" in message
    assert len(message.splitlines()) == 11


def test_versions_are_ordered_as_numbers() -> None:
    files: dict[str, bytes] = {}
    for version in ("1.9.0", "1.10.0", "1.2.0"):
        files |= file_of(small_spec("receipts", version))
    (skill,) = read_skills(files).values()
    assert [each.spec.version for each in skill.versions] == ["1.10.0", "1.9.0", "1.2.0"]


def _renamed(**action: Any) -> Json:
    spec = small_spec("receipts", "1.1.0")
    return changed(spec, "actions/0", spec["actions"][0] | action)


def test_minor_version_that_breaks_a_promise_refuses_the_start() -> None:
    first = file_of(small_spec("receipts"))
    message = refusal(first | file_of(_renamed(name="check")))
    assert "receipts/1.1.0.json: the action verify is gone, which needs a major version" in message
    major = _renamed(name="check") | {"version": "2.0.0"}
    major = changed(major, "changelog/0/version", "2.0.0")
    assert list(read_skills(first | file_of(major))) == ["receipts"]
