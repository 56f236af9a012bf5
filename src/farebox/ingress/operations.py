"""What the API schema says of metering."""

from typing import Final

from farebox.ingress.usage_http import USAGE
from farebox.ingress.wire import UsageResponse
from farebox.web.operation import Operation, Parameter, Reply, Schema

_DAY: Final[Schema] = {"type": "string", "format": "date"}

OPERATIONS: Final = (
    Operation(
        "GET",
        USAGE,
        "accounts",
        "What you have used, by UTC day and network.",
        {200: Reply("The days on which anything was used.", UsageResponse)},
        parameters=(
            Parameter("from", "The first day.", _DAY),
            Parameter("to", "The last day.", _DAY),
        ),
        refused=(400,),
    ),
)
