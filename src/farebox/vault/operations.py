"""What the API schema says of the vault's routes."""

from typing import Final

from farebox.vault.http import SECRETS
from farebox.vault.wire import (
    CreateSecretRequest,
    RotateSecretRequest,
    SecretBody,
    SecretListBody,
)
from farebox.web.operation import PAGE, Operation, Reply, identifier

_TAG: Final = "vault"
_ID: Final = identifier("The secret's id.")

OPERATIONS: Final = (
    Operation(
        "POST",
        SECRETS,
        _TAG,
        "Keep a secret; its value is never shown again.",
        {201: Reply("The secret, without its value.", SecretBody)},
        request=CreateSecretRequest,
        refused=(409,),
    ),
    Operation(
        "GET",
        SECRETS,
        _TAG,
        "Your secrets, newest first, without their values.",
        {200: Reply("A page of secrets.", SecretListBody)},
        parameters=PAGE,
        refused=(400,),
    ),
    Operation(
        "DELETE",
        f"{SECRETS}/{{id}}",
        _TAG,
        "Forget a secret.",
        {204: Reply("It is gone.")},
        parameters=(_ID,),
        refused=(404, 409),
    ),
    Operation(
        "POST",
        f"{SECRETS}/{{id}}/rotate",
        _TAG,
        "Give a secret another value.",
        {200: Reply("The secret, without its value.", SecretBody)},
        request=RotateSecretRequest,
        parameters=(_ID,),
        refused=(404,),
    ),
)
