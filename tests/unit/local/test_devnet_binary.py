import threading
from pathlib import Path

import pytest

from farebox.local.devnet_binary import cache_folder, devnet_binary, hash_of_sources
from farebox.local.faults import LocalFault

PRINTS_A_WORD = 'fn main() { println!("{}", "built"); }\n'


def write_crate(folder: Path, *, main: str = PRINTS_A_WORD) -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "src/main.rs").write_text(main)
    package = '[package]\nname = "farebox-devnet"\nversion = "0.0.0"\nedition = "2021"\n'
    (folder / "Cargo.toml").write_text(package)
    lock = 'version = 3\n\n[[package]]\nname = "farebox-devnet"\nversion = "0.0.0"\n'
    (folder / "Cargo.lock").write_text(lock)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("FAREBOX_CACHE", str(folder))
    return folder


def test_hash_of_sources_changes_with_a_source_and_not_with_a_test(tmp_path: Path) -> None:
    crate = write_crate(tmp_path / "devnet")
    before = hash_of_sources(crate)
    (crate / "tests").mkdir()
    (crate / "tests/extra.rs").write_text("// a test is no part of the binary")
    (crate / "target").mkdir()
    (crate / "target/left-over").write_text("nor is a left-over")
    assert hash_of_sources(crate) == before
    (crate / "src/deep").mkdir()
    (crate / "src/deep/new.rs").write_text("// a source is")
    assert hash_of_sources(crate) != before


def test_binary_is_reused_by_a_second_checkout_without_a_compiler(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    built = devnet_binary(messages.append, sources=write_crate(tmp_path / "one"))
    assert built.is_relative_to(cache)
    assert messages[-1] == "devnet: compiled"
    monkeypatch.setenv("PATH", str(tmp_path))
    again: list[str] = []
    assert devnet_binary(again.append, sources=write_crate(tmp_path / "two")) == built
    assert again == []


def test_concurrent_builds_both_get_the_binary(tmp_path: Path) -> None:
    crate = write_crate(tmp_path / "devnet")
    found: list[Path] = []

    def build() -> None:
        found.append(devnet_binary(lambda _: None, sources=crate))

    builders = [threading.Thread(target=build) for _ in range(2)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert len(found) == 2
    assert found[0] == found[1]


def test_missing_compiler_is_one_sentence_that_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalFault, match=r"install cargo .* and run this again\.$"):
        devnet_binary(lambda _: None, sources=write_crate(tmp_path / "devnet"))


def test_failed_compilation_shows_the_first_error_of_the_compiler(tmp_path: Path) -> None:
    crate = write_crate(tmp_path / "devnet", main="fn main() { nothing_like_it(); }\n")
    with pytest.raises(LocalFault, match=r"did not compile \(error.*nothing_like_it"):
        devnet_binary(lambda _: None, sources=crate)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("error: failed to download from `https://crates.example/x`", "connect this machine"),
        ("error: failed to write: No space left on device (os error 28)", "free about 1 GB"),
        ("error: process did not exit successfully (signal: 9, SIGKILL: kill)", "lack of memory"),
    ],
)
def test_failed_compilation_explains_a_lack_of_network_disk_or_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, advice: str
) -> None:
    cargo = tmp_path / "bin/cargo"
    cargo.parent.mkdir()
    cargo.write_text(f"#!/bin/sh\necho '{message}' >&2\nexit 101\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{cargo.parent}:/bin:/usr/bin")
    with pytest.raises(LocalFault, match=advice):
        devnet_binary(lambda _: None, sources=write_crate(tmp_path / "devnet"))


def test_missing_sources_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LocalFault, match="run this from a checkout"):
        devnet_binary(lambda _: None, sources=tmp_path)


def test_cache_that_is_a_file_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("FAREBOX_CACHE", str(blocked))
    with pytest.raises(LocalFault, match="set FAREBOX_CACHE to one that is"):
        devnet_binary(lambda _: None, sources=write_crate(tmp_path / "devnet"))


def test_cache_folder_is_under_the_home_folder_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAREBOX_CACHE")
    assert cache_folder() == Path.home() / ".cache" / "farebox"
