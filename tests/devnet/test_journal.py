"""`--journal`: a killed network restarts with the same ledgers."""

import subprocess
from pathlib import Path

from support.running_devnet import TESTNET, RunningDevnet, binary


def start(journal: Path, *further: str) -> RunningDevnet:
    arguments = ("--passphrase", TESTNET, "--close-ms", "manual", "--journal", str(journal))
    return RunningDevnet.start(*arguments, *further)


def kill(running: RunningDevnet) -> None:
    running.process.kill()
    assert running.let_go() == -9


def ledgers(running: RunningDevnet) -> list[str]:
    """The hash of every ledger, from the first one."""
    answered = running.result("getLedgers", {"startLedger": 1, "pagination": {"limit": 200}})
    return [ledger["hash"] for ledger in answered["ledgers"]]


def scene(running: RunningDevnet) -> list[str]:
    """The addresses of two further payers."""
    status, answered = running.admin("/scene", {"payers": 2, "payees": 1})
    assert status == 200, answered
    return [payer["address"] for payer in answered["payers"]]


def test_killed_network_restarts_with_the_same_ledgers_and_accounts(tmp_path: Path) -> None:
    journal = tmp_path / "network.journal"
    first = start(journal)
    payers = scene(first)
    first.close(3)
    before = ledgers(first)
    kill(first)

    second = start(journal)
    assert ledgers(second) == before
    status, refused = second.friendbot(payers[0])
    assert (status, "already funded" in refused["detail"]) == (400, True)
    assert not set(scene(second)) & set(payers), "a scene adds accounts, also after a start"
    grown = ledgers(second)
    assert grown[: len(before)] == before
    kill(second)

    journal.write_bytes(journal.read_bytes() + b"0123456789abcdef {half a li")
    third = start(journal)
    assert ledgers(third) == grown
    assert third.stop() == 0


def test_unusable_journal_is_refused_in_one_sentence(tmp_path: Path) -> None:
    journal = tmp_path / "network.journal"
    assert start(journal).stop() == 0
    command = [str(binary()), "--port", "0", "--passphrase", "Another", "--journal", str(journal)]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is of another network" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
