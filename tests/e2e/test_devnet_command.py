"""`farebox devnet` as a process."""

import json
import signal
import socket
from pathlib import Path

from farebox.kernel.networks import Network
from farebox.local.devnet import ask_scene
from farebox.stellar.known_tokens import USDC
from support.command import run_farebox, start_farebox


async def test_devnet_prints_url_and_stops_on_interrupt(tmp_path: Path) -> None:
    network, errors = Network.PUBNET, tmp_path / "err"
    options = ("--network", network.label, "--port", "0", "--close-ms", "200")
    with start_farebox("devnet", *options, settings={}, errors=errors) as process:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        scene = await ask_scene(event["admin"], payers=1, payees=0, payer_units=1)
        assert event["passphrase"] == network.passphrase
        assert scene.asset == USDC[network].contract
        assert event["rpc"] in errors.read_text()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_devnet_prints_one_sentence_when_port_is_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = run_farebox("devnet", "--port", port, settings={})
    assert (ran.code, ran.out) == (2, "")
    assert port in ran.err
    assert ran.err.count("\n") == 1
