"""The errors of `/mcp`: JSON-RPC 2.0 codes, and the reason that every error carries in `data`."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final, Self

from farebox.kernel.error_codes import ErrorCode

_CLIENT_ERROR_STATUS: Final = 400


class RpcCode(IntEnum):
    """The `code` of an error."""

    PARSE_ERROR = -32700  # JSON-RPC 2.0, section 5.1
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    SERVER_ERROR = -32000  # the request was not handled; its HTTP status says why
    CALL_ERROR = -32002  # a paid call that was refused or failed


class RpcReason(StrEnum):
    """A machine-readable reason; a code never changes its meaning."""

    rpc_code: RpcCode
    sentence: str

    def __new__(cls, reason: str, rpc_code: RpcCode, sentence: str) -> Self:
        """Make a member from its reason, its JSON-RPC code and its default sentence."""
        member = str.__new__(cls, reason)
        member._value_ = reason
        member.rpc_code, member.sentence = rpc_code, sentence
        return member

    PARSE_ERROR = "PARSE_ERROR", RpcCode.PARSE_ERROR, "The body is not JSON."
    INVALID_REQUEST = (
        "INVALID_REQUEST",
        RpcCode.INVALID_REQUEST,
        "The body is no JSON-RPC request.",
    )
    BATCH_REFUSED = "BATCH_REFUSED", RpcCode.INVALID_REQUEST, "Send one message in each request."
    REPEATED_MEMBER = (
        "REPEATED_MEMBER",
        RpcCode.INVALID_REQUEST,
        "An object repeats a member.",
    )
    UNSUPPORTED_PROTOCOL_VERSION = (
        "UNSUPPORTED_PROTOCOL_VERSION",
        RpcCode.INVALID_REQUEST,
        "The header MCP-Protocol-Version names a version that is not served: use 2025-06-18.",
    )
    UNSUPPORTED_METHOD = "UNSUPPORTED_METHOD", RpcCode.METHOD_NOT_FOUND, "There is no such method."
    UNKNOWN_TOOL = "UNKNOWN_TOOL", RpcCode.INVALID_PARAMS, "There is no tool of this name."
    INVALID_PARAMS = (
        "INVALID_PARAMS",
        RpcCode.INVALID_PARAMS,
        "The params do not fit the method.",
    )
    INVALID_ARGUMENTS = (
        "INVALID_ARGUMENTS",
        RpcCode.INVALID_PARAMS,
        "The tool takes other arguments.",
    )
    QUERY_REQUIRED = "QUERY_REQUIRED", RpcCode.INVALID_PARAMS, "Say what to search for with query."
    INVALID_PAYMENT_SIGNATURE = (
        "INVALID_PAYMENT_SIGNATURE",
        RpcCode.INVALID_PARAMS,
        "The payment is no value of the header PAYMENT-SIGNATURE; nothing was sent.",
    )
    RESOURCE_IS_MCP_TOOL = (
        "RESOURCE_IS_MCP_TOOL",
        RpcCode.INVALID_PARAMS,
        "The resource is a tool of another MCP server: call it there.",
    )
    HTTPS_REQUIRED = "HTTPS_REQUIRED", RpcCode.CALL_ERROR, "The URL must begin with https://."
    RESOURCE_NOT_CATALOGED = (
        "RESOURCE_NOT_CATALOGED",
        RpcCode.CALL_ERROR,
        "The URL is not that of a listing: use the resource of a search result as it stands.",
    )
    PAID_CALL_FAILED = (
        "PAID_CALL_FAILED",
        RpcCode.CALL_ERROR,
        "The resource did not respond.",
    )


class RpcError(Exception):
    """A failure as JSON-RPC answers it."""

    def __init__(
        self,
        reason: RpcReason | ErrorCode,
        message: str = "",
        data: Mapping[str, object] | None = None,
    ) -> None:
        """`data` is added to the reason; without `message` the sentence is the reason's own."""
        super().__init__(reason.value)
        self.reason, self.message = reason, message
        self.data: Mapping[str, object] = {} if data is None else data

    def to_json(self) -> dict[str, object]:
        """Return the `error` member of the response."""
        return {
            "code": rpc_code_of(self.reason).value,
            "message": self.message or self.reason.sentence,
            "data": {"reason": self.reason.value, **self.data},
        }


def named_by_seller(detail: str) -> dict[str, object]:
    """Return data whose `detail` may hold a seller's words; they stand in no message."""
    return {"detail": detail, "untrusted": ["detail"]}


def rpc_code_of(reason: RpcReason | ErrorCode) -> RpcCode:
    """Return the JSON-RPC code of a reason."""
    if isinstance(reason, RpcReason):
        return reason.rpc_code
    if reason is ErrorCode.INTERNAL_ERROR:
        return RpcCode.INTERNAL_ERROR
    return RpcCode.INVALID_PARAMS if reason.status == _CLIENT_ERROR_STATUS else RpcCode.SERVER_ERROR


def rpc_sentences() -> dict[str, str]:
    """Return every reason of `/mcp` with its sentence, those of the whole service included."""
    return {str(each): each.sentence for each in (*RpcReason, *ErrorCode)}
