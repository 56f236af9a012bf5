"""Promises about the paid gateway: wrappers, buyers' requests, outbound calls."""

from typing import Final

from spec.promise import section_promises

GATEWAY: Final = (
    *section_promises(
        "What the service does",
        {
            "gateway:public-endpoint": "A wrapper gets a public endpoint at /gateway/:slug.",
            "gateway:verify-failure-never-delivers": (
                "A payment that fails verification never reaches the resource."
            ),
        },
    ),
    *section_promises(
        "Wrapper",
        {
            "wrapper:what-a-seller-supplies": (
                "Upstream, network, token, price, recipient, words and limits make a wrapper."
            ),
            "wrapper:optional-credential": "A wrapper may refer to a scoped upstream credential.",
            "wrapper:https-upstream": "The upstream is HTTPS.",
            "wrapper:base-unit-price": "The price is whole base units.",
            "wrapper:owner-scoped": "Only its owner may see or change a wrapper.",
            "wrapper:slug": "The slug forms the public path.",
        },
    ),
    *section_promises(
        "States: wrapper",
        {
            "wrapper:enable": "Enabling opens the endpoint and lists it.",
            "wrapper:disable": "Disabling closes the endpoint and unlists it.",
            "wrapper:delete": "Deleting removes the wrapper and its listing.",
        },
    ),
    *section_promises(
        "Endpoints: wrapper management",
        {
            "wrapper:create": "POST /v1/wrappers creates one.",
            "wrapper:list": "GET /v1/wrappers lists the caller's own.",
            "wrapper:update": "PATCH /v1/wrappers/:id changes one.",
            "wrapper:analytics": (
                "Analytics show outcomes, payment hashes, latency and byte counts."
            ),
        },
    ),
    *section_promises(
        "Public gateway and origin documents",
        {
            "gateway:any-method-and-path": "The endpoint and every path below it are served.",
            "origin:openapi": "/openapi.json lists enabled wrappers that take USDC on Stellar.",
            "origin:well-known": "/.well-known/x402 lists the same wrappers.",
            "origin:no-private-configuration": (
                "The origin documents show no credential and no upstream."
            ),
        },
    ),
    *section_promises(
        "Gateway request flow",
        {
            "payload:header-is-the-same-object": (
                "PAYMENT-SIGNATURE carries the payload object, base64-encoded."
            ),
            "gateway:unpaid-is-402": "Without payment: 402 with PAYMENT-REQUIRED in base64.",
            "gateway:pays-before-upstream": "The upstream is called after valid payment only.",
            "gateway:credential-injected": "The credential is injected from the vault.",
            "gateway:receipt": "The reply carries PAYMENT-RESPONSE, the receipt.",
            "gateway:credential-never-returned": "No credential is ever returned to the buyer.",
            "gateway:management-credentials-stay": (
                "The caller's management credentials are never sent upstream."
            ),
        },
    ),
    *section_promises(
        "Outbound rules",
        {
            "outbound:https": "Only HTTPS targets are called.",
            "outbound:no-user-info": "A URL with user info is refused.",
            "outbound:public-targets-only": (
                "Loopback, link-local, private, reserved and metadata targets are refused."
            ),
            "outbound:no-local-names": "Names under .local and .internal are refused.",
            "outbound:every-address-public": "Every resolved address must be public.",
            "outbound:pinned": "The connection goes to the address that was checked.",
            "outbound:no-redirects": "Redirects are refused.",
            "outbound:headers-stripped": "Sensitive and hop-by-hop headers are stripped.",
            "outbound:size-and-time": "Size and time limits apply.",
        },
    ),
    *section_promises(
        "Limits",
        {
            "wrapper:rate-limit": "A wrapper's request rate has its limit.",
            "wrapper:quota": "A wrapper's month has its quota.",
            "wrapper:sizes": "A wrapper's requests and responses have their largest size.",
            "wrapper:counters-across-replicas": "Counters are atomic, so limits hold on replicas.",
        },
    ),
)
