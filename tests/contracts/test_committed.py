"""The committed contracts are those that were built, for a protocol that every network runs."""

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Final

import pytest
from stellar_sdk import xdr
from xdrlib3 import Unpacker

from farebox.automation.sessions.contract_codes import ServiceContract, pinned_hash, read_code
from support.contracts import FOLDER, sha256_of, sums, wasm_of

NAMES: Final = sorted(name.removesuffix(".wasm") for name in sums())
# of a crate that wants an SDK of its own; tests alone use them
FOREIGN: Final = {"smart_account_c": 26, "smart_account_d": 28}
PROTOCOL: Final = 27
INTERFACE: Final = {
    *("allowance", "approve", "balance", "transfer", "transfer_from"),
    *("burn", "burn_from", "decimals", "name", "symbol"),
}
_CUSTOM: Final = 0


def _unsigned(raw: bytes, at: int) -> tuple[int, int]:
    """A LEB128 number and where it ends."""
    value = shift = 0
    while True:
        low = raw[at]
        value, shift, at = value | (low & 0x7F) << shift, shift + 7, at + 1
        if not low & 0x80:
            return value, at


def _custom_sections(raw: bytes) -> Iterator[tuple[str, bytes]]:
    at = 8
    while at < len(raw):
        kind = raw[at]
        size, at = _unsigned(raw, at + 1)
        if kind == _CUSTOM:
            length, start = _unsigned(raw, at)
            yield raw[start : start + length].decode(), raw[start + length : at + size]
        at += size


def _section(contract: str, name: str) -> Unpacker:
    return Unpacker(dict(_custom_sections(wasm_of(contract)))[name])


def _functions(contract: str) -> set[str]:
    section, found = _section(contract, "contractspecv0"), set()
    while section.get_position() < len(section.get_buffer()):
        entry = xdr.SCSpecEntry.unpack(section)
        if entry.function_v0 is not None:
            found.add(entry.function_v0.name.sc_symbol.decode())
    return found


def _meta(contract: str) -> dict[str, str]:
    section, found = _section(contract, "contractmetav0"), {}
    while section.get_position() < len(section.get_buffer()):
        entry = xdr.SCMetaEntry.unpack(section).v0
        assert entry is not None
        found[entry.key.decode()] = entry.val.decode()
    return found


def test_exactly_the_named_contracts_are_committed() -> None:
    there = sorted(path.name for path in (FOLDER / "wasm").iterdir())
    assert there == [f"{name}.wasm" for name in NAMES]


def test_every_contract_matches_its_committed_hash() -> None:
    assert {f"{name}.wasm": sha256_of(name) for name in NAMES} == sums()


def test_every_contract_names_its_compiler_and_sdk() -> None:
    compiler = re.match(r"# rustc (\S+) ", (FOLDER / "SHA256SUMS").read_text())
    assert compiler is not None
    for name in NAMES:
        workspace = FOLDER / name.replace("_", "-") if name in FOREIGN else FOLDER
        sdk = re.search(r'soroban-sdk = "=(\S+)"', (workspace / "Cargo.toml").read_text())
        assert sdk is not None, name
        meta = _meta(name)
        assert meta["rsver"] == compiler[1], name
        assert meta["rssdkver"].split("#")[0] == sdk[1], name


def test_every_contract_targets_a_protocol_that_every_network_runs() -> None:
    for name in NAMES:
        version = xdr.SCEnvMetaEntry.unpack(_section(name, "contractenvmetav0")).interface_version
        assert version is not None, name
        named = (version.protocol.uint32, version.pre_release.uint32)
        assert named == (FOREIGN.get(name, PROTOCOL), 0), name


def test_no_contract_contains_a_path_of_the_build_machine() -> None:
    for name in NAMES:
        described = dict(_custom_sections(wasm_of(name)))["contractspecv0"]  # may name any file
        code = wasm_of(name).replace(described, b"")
        assert re.search(rb"\.rs\b|\.cargo|/home|/root|/usr|/tmp", code) is None, name


def test_page_describes_every_contract() -> None:
    page = (FOLDER / "README.md").read_text().splitlines()
    for name in NAMES:
        rows = [line for line in page if line.startswith(f"| `{name}` |")]
        assert len(rows) == 1, name
        assert {each for each in _functions(name) if each not in rows[0]} <= INTERFACE, name


def test_the_token_has_the_whole_token_interface() -> None:
    assert _functions("mannered_token") == INTERFACE | {"mint", "behave", "upgrade"}


def test_the_service_deploys_the_contract_that_is_committed() -> None:
    assert (files("farebox.accounts") / "web_auth.wasm").read_bytes() == wasm_of("web_auth")


@pytest.mark.parametrize("name", ["keeper", "pool", "router"])
def test_the_demo_deploys_the_contracts_that_are_committed(name: str) -> None:
    assert (files("farebox.local") / "wasm" / f"{name}.wasm").read_bytes() == wasm_of(name)


@pytest.mark.parametrize("contract", ServiceContract)
def test_the_service_accepts_the_code_that_is_committed_and_no_other(
    contract: ServiceContract,
) -> None:
    assert read_code(contract) == wasm_of(contract)
    assert pinned_hash(contract).hex() == sums()[f"{contract}.wasm"]
