"""What the API schema says of the audit trail."""

from typing import Final

from farebox.audit.audit_http import AUDIT
from farebox.audit.trail import Action
from farebox.audit.wire import AuditBody
from farebox.web.operation import PAGE, Operation, Parameter, Reply, one_of

OPERATIONS: Final = (
    Operation(
        "GET",
        AUDIT,
        "accounts",
        "What was done to your records, newest first.",
        {200: Reply("A page of the trail.", AuditBody)},
        parameters=(
            *PAGE,
            Parameter("action", "Only these.", one_of(*(action.value for action in Action))),
        ),
        refused=(400,),
    ),
)
