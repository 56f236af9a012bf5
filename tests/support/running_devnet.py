"""A devnet as a plain child process, for tests of the devnet itself."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from farebox.local.devnet_binary import devnet_binary

TESTNET: Final = "Test SDF Network ; September 2015"
_ANSWER_S: Final = 30


def binary() -> Path:
    """The program under test: `FAREBOX_DEVNET_BIN`, or one built from this checkout."""
    named = os.environ.get("FAREBOX_DEVNET_BIN")
    return Path(named) if named else devnet_binary(lambda line: print(line, flush=True))


@dataclass(frozen=True, slots=True)
class RunningDevnet:
    """A devnet that listens; `stop` ends it and returns its exit code."""

    process: subprocess.Popen[str]
    rpc_url: str
    admin_url: str
    passphrase: str
    authority: Path | None

    @classmethod
    def start(cls, *arguments: str) -> "RunningDevnet":
        """Start one with the arguments, on free ports, gone when this process is."""
        command = [str(binary()), "--port", "0", "--stop-with-stdin", *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, text=True
        )
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        assert event["event"] == "listening"
        authority = Path(event["authority"]) if event["authority"] else None
        return cls(process, event["rpc"], event["admin"], event["passphrase"], authority)

    def stop(self) -> int:
        """The exit code after a termination signal."""
        self.process.terminate()
        return self._wait()

    def let_go(self) -> int:
        """The exit code after its standard input closes."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self._wait()

    def _wait(self) -> int:
        code = self.process.wait(10)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        return code

    def post(
        self, body: bytes, *, content_type: str = "application/json", path: str = "/"
    ) -> tuple[int, bytes]:
        """The status and the body that the RPC port answers with."""
        return _send(self.rpc_url + path, body, content_type)

    def call(self, method: str, params: object = None) -> Any:
        """The whole JSON-RPC response to one call."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, body = self.post(json.dumps(message).encode())
        assert status == 200, body
        return json.loads(body)

    def result(self, method: str, params: object = None) -> Any:
        """The result of one call that has one."""
        return self.call(method, params)["result"]

    def friendbot(self, address: str) -> tuple[int, Any]:
        """The status and the answer of friendbot."""
        status, body = _send(f"{self.rpc_url}/friendbot?addr={address}", None, None)
        return status, json.loads(body)

    def admin(self, path: str, body: object = None) -> tuple[int, Any]:
        """The status and the answer of an admin call; without a body it is a GET."""
        raw = None if body is None else json.dumps(body).encode()
        status, answered = _send(self.admin_url + path, raw, "application/json")
        return status, json.loads(answered)

    def fault(self, effect: dict[str, object], **rule: object) -> int:
        """Set a fault; its number."""
        status, answered = self.admin("/faults", {"effect": effect, **rule})
        assert status == 200, answered
        return int(answered["id"])

    def clear_faults(self, number: int | None = None) -> int:
        """Take one fault back, or all of them; how many there were."""
        query = "" if number is None else f"?id={number}"
        status, body = _send(f"{self.admin_url}/faults{query}", None, None, method="DELETE")
        assert status == 200, body
        return int(json.loads(body)["cleared"])

    def close(self, count: int = 1) -> int:
        """Close ledgers now; the latest sequence."""
        status, answered = self.admin("/close", {"count": count})
        assert status == 200, answered
        return int(answered["ledger"])


def _send(
    url: str, body: bytes | None, content_type: str | None, *, method: str | None = None
) -> tuple[int, bytes]:
    request = urllib.request.Request(url, data=body, method=method)
    if content_type is not None:
        request.add_header("Content-Type", content_type)
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()
