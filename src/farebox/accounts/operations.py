"""What the API schema says of signing in and of personal keys."""

from collections.abc import Iterable
from typing import Final

from farebox.accounts.keys_http import KEYS
from farebox.accounts.keys_wire import (
    CreateKeyRequest,
    IssuedKeyBody,
    KeyBody,
    KeyListBody,
    RotateKeyRequest,
)
from farebox.accounts.sign_in_http import AUTH
from farebox.accounts.sign_in_wire import (
    ChallengeBody,
    ChallengeRequest,
    LogoutBody,
    LogoutRequest,
    MeBody,
    SessionBody,
    StandardChallengeBody,
    StandardTokenBody,
    StandardVerifyRequest,
    VerifyRequest,
)
from farebox.accounts.stellar_toml import standard_path
from farebox.accounts.web_auth_http import TOML
from farebox.kernel.networks import Network
from farebox.web.operation import JSON, PAGE, Operation, Parameter, Reply, identifier, text

_TAG: Final = "accounts"
_FORM: Final = "application/x-www-form-urlencoded"
_KEY_ID: Final = identifier("The key's id.")
_REFUSED: Final = (400, 401, 403)

_SIGNING_IN: Final = (
    Operation(
        "POST",
        f"{AUTH}/challenge",
        _TAG,
        "Ask for a challenge to sign with a wallet.",
        {200: Reply("The challenge; it works once, for five minutes.", ChallengeBody)},
        request=ChallengeRequest,
        refused=_REFUSED,
    ),
    Operation(
        "POST",
        f"{AUTH}/verify",
        _TAG,
        "Send the signed challenge back for a session of 24 hours.",
        {200: Reply("The session.", SessionBody)},
        request=VerifyRequest,
        refused=_REFUSED,
    ),
    Operation(
        "GET",
        f"{AUTH}/me",
        _TAG,
        "Who the caller is.",
        {200: Reply("The caller.", MeBody)},
    ),
    Operation(
        "POST",
        f"{AUTH}/logout",
        _TAG,
        "End the session, or all of the wallet's.",
        {200: Reply("How many ended.", LogoutBody)},
        request=LogoutRequest,
        is_request_required=False,
    ),
    Operation(
        "GET",
        TOML,
        _TAG,
        "The file of SEP-1.",
        {200: Reply("The file.", {"type": "string"}, media="text/plain")},
        refused=(404,),
    ),
)

_KEYS: Final = (
    Operation(
        "POST",
        KEYS,
        _TAG,
        "Make a personal key; it is shown this once.",
        {201: Reply("The key.", IssuedKeyBody)},
        request=CreateKeyRequest,
        refused=(409,),
    ),
    Operation(
        "GET",
        KEYS,
        _TAG,
        "Your keys, newest first, revoked ones too.",
        {200: Reply("A page of keys.", KeyListBody)},
        parameters=PAGE,
        refused=(400,),
    ),
    *(
        Operation(
            method,
            path,
            _TAG,
            "Revoke a key and whatever it was rotated to.",
            {200: Reply("The key as it is now.", KeyBody)},
            parameters=(_KEY_ID,),
            refused=(404,),
        )
        for method, path in (("DELETE", f"{KEYS}/{{id}}"), ("POST", f"{KEYS}/{{id}}/revoke"))
    ),
    Operation(
        "POST",
        f"{KEYS}/{{id}}/rotate",
        _TAG,
        "Replace a key by a new one, shown this once.",
        {201: Reply("The new key.", IssuedKeyBody)},
        request=RotateKeyRequest,
        is_request_required=False,
        parameters=(_KEY_ID,),
        refused=(404, 409),
    ),
)


def _standard(network: Network) -> tuple[Operation, ...]:
    path = standard_path(network)
    return (
        Operation(
            "GET",
            path,
            _TAG,
            "A challenge, as SEP-10 and SEP-45 ask for it.",
            {200: Reply("The challenge.", StandardChallengeBody)},
            parameters=(
                Parameter("account", "Who signs in.", text(longest=255), is_required=True),
                Parameter("home_domain", "The service's own, if any.", text(longest=255)),
            ),
            refused=_REFUSED,
        ),
        Operation(
            "POST",
            path,
            _TAG,
            "A session for a signed challenge, as SEP-10 and SEP-45 send it.",
            {200: Reply("The session's token.", StandardTokenBody)},
            request=StandardVerifyRequest,
            request_media=(JSON, _FORM),
            refused=_REFUSED,
        ),
    )


def account_operations(networks: Iterable[Network]) -> tuple[Operation, ...]:
    """Those of a service for these networks."""
    return (*_SIGNING_IN, *_KEYS, *(each for network in networks for each in _standard(network)))
