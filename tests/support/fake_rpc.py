"""A Stellar RPC client of a test's making: it has the calls that the test overrides, no others."""

from typing import Any, TypeVar

from farebox.stellar.soroban_rpc import RpcCall, SorobanRpc

A = TypeVar("A")


class FakeRpc(SorobanRpc):
    """Fails the test at every call that is not overridden."""

    async def call(self, call: RpcCall[Any, A]) -> A:
        """Fail: the test expects no such call."""
        raise AssertionError(f"{call.method} is not expected")

    async def close(self) -> None:
        """Nothing is open."""
