"""Which way imports go: the map of docs/architecture.md as tables."""

from types import MappingProxyType

# package: the packages of ours it may import, itself and kernel apart
MAY_IMPORT = MappingProxyType(
    {
        "kernel": set[str](),
        "x402": set[str](),
        "storage": set[str](),
        "web": set[str](),
        "stellar": {"x402"},
        "submission": {"stellar", "storage"},
        "facilitator": {"submission", "stellar", "x402", "storage"},
        "outbound": set[str](),
        "semantic": set[str](),
        "audit": {"storage"},
        "accounts": {"audit", "stellar", "storage"},
        "vault": {"audit", "storage"},
        "ingress": {"storage"},
        "catalog": {"audit", "facilitator", "outbound", "stellar", "x402", "storage"},
        "search": {"catalog", "semantic", "storage", "x402"},
        "gateway": {
            "audit",
            "catalog",
            "facilitator",
            "outbound",
            "stellar",
            "storage",
            "vault",
            "x402",
        },
        "app": {
            "accounts",
            "audit",
            "catalog",
            "facilitator",
            "gateway",
            "ingress",
            "outbound",
            "search",
            "semantic",
            "stellar",
            "storage",
            "submission",
            "vault",
            "web",
            "x402",
        },
        "buyer": {"stellar", "x402"},
        "local": {"app", "buyer", "stellar", "x402"},
        "cli": {
            "accounts",
            "app",
            "audit",
            "buyer",
            "facilitator",
            "local",
            "outbound",
            "stellar",
            "storage",
            "vault",
            "web",
            "x402",
        },
    }
)
# inside a feature that has folders: each folder and each module outside the folders, with what it
# imports of the others
INSIDE = MappingProxyType(
    {
        "catalog": {
            "tokens": set[str](),
            "listing": {"tokens"},
            "settled_payment": {"listing"},
            "search_document": {"listing"},
            "listing_store": {"listing", "search_document", "settled_payment"},
            "wrapper_listing_store": {"listing", "listing_store"},
            "discovery": {"listing"},
            "ingestion": {
                "discovery",
                "listing",
                "listing_store",
                "search_document",
                "settled_payment",
            },
            "origin": {"ingestion", "listing", "listing_store"},
            "quality": {"listing_store", "search_document"},
            "browsing": {"listing", "origin", "tokens"},
            "wire": {"browsing", "listing", "tokens"},
            "http": {"browsing", "wire"},
            "validate": {"discovery", "origin"},
            "validate_http": {"validate", "wire"},
            "reason_registry": {"discovery", "ingestion", "validate"},
        },
        "facilitator": {
            "verification": set[str](),
            "channels": set[str](),
            "settlement": set[str](),
            "budgets": {"settlement"},
            "journal": {"budgets", "settlement"},
            "settling": {
                "budgets",
                "channels",
                "journal",
                "settlement",
                "verification",
            },
            "listing_report": {"settlement"},
            "payment_http": set[str](),
            "verify_http": {"payment_http", "settling", "verification"},
            "settle_http": {"listing_report", "payment_http", "settlement", "settling"},
            "http": {
                "channels",
                "journal",
                "listing_report",
                "payment_http",
                "settle_http",
                "settlement",
                "settling",
                "verify_http",
            },
        },
        "gateway": {
            "analytics": set[str](),
            "cross_origin": set[str](),
            "payment": set[str](),
            "relay": set[str](),
            "wrapper": set[str](),
            "delivery": {
                "payment",
                "relay",
                "wrapper",
            },
            "offers": {
                "wrapper",
            },
            "upstream_credentials": {
                "wrapper",
            },
            "origin": {
                "offers",
                "wrapper",
            },
            "responses": {
                "delivery",
                "offers",
                "payment",
                "relay",
            },
            "wrappers": {
                "offers",
                "relay",
                "wrapper",
            },
            "buyer_connection": {
                "cross_origin",
                "delivery",
                "payment",
                "relay",
                "responses",
            },
            "gateway_path": {
                "wrappers",
            },
            "http": {
                "buyer_connection",
                "cross_origin",
                "delivery",
                "gateway_path",
                "offers",
                "payment",
                "relay",
                "responses",
                "upstream_credentials",
                "wrapper",
                "wrappers",
            },
        },
        "search": {
            "ages": set[str](),
            "model_text": set[str](),
            "plain": set[str](),
            "scope": set[str](),
            "text_store": set[str](),
            "word_store": set[str](),
            "version": {"plain"},
            "index_store": {"ages", "model_text", "plain", "text_store", "version"},
            "renewal_store": {"model_text"},
            "scope_store": {"scope"},
            "vector_store": {"scope", "scope_store"},
            "vocabulary": {"ages", "scope_store", "word_store"},
            "meaning": {"model_text", "scope", "vector_store"},
            "read_texts": {
                "meaning",
                "plain",
                "renewal_store",
                "text_store",
                "vector_store",
                "word_store",
            },
            "query": {"ages", "meaning", "plain", "scope_store", "vocabulary"},
            "finding": {
                "ages",
                "meaning",
                "query",
                "scope",
                "scope_store",
                "version",
                "vocabulary",
            },
            "prune": {"finding", "index_store", "scope_store"},
            "search": {"finding", "meaning", "query", "scope", "scope_store", "vocabulary"},
            "wire": {"finding", "meaning", "search"},
            "http": {"query", "search", "wire"},
        },
    }
)
# the further imports of a feature's edge
EDGE_MAY_IMPORT = {"web"}
EDGES = {
    "http",
    "audit_http",
    "buyer_connection",
    "keys_http",
    "payment_http",
    "settle_http",
    "sign_in_http",
    "usage_http",
    "validate_http",
    "verify_http",
    "web_auth_http",
    "wrappers_http",
}
# a library from outside: which package, folder or module (`*/name`: in whatever place) may know it
OUTSIDE = MappingProxyType(
    {
        "aiohttp": {"stellar", "outbound", "buyer", "local"},
        "asyncpg": {"storage", "facilitator/journal/store"},
        "click": {"cli"},
        "cryptography": {"vault"},
        "idna": {"catalog/discovery", "outbound"},
        "jsonschema_rs": {"catalog/discovery"},
        "nacl": {"stellar"},
        "numpy": {"semantic", "search"},
        "onnx": {"semantic"},
        "onnxruntime": {"semantic"},
        "starlette": {"app", "web", "local", *(f"*/{edge}" for edge in EDGES)},
        "safetensors": {"semantic"},
        "stellar_sdk": {"accounts", "buyer", "local"},
        "tokenizers": {"semantic"},
        "uvicorn": {"cli", "local", "web"},
        "httptools": {"web"},
    }
)
# inside a feature, what no rule and no use case may import from its own package, at whatever depth;
# a module named `x_store` belongs to the one or two modules of its folder that call it
STORES_AND_EDGES = {"store", *EDGES}
# but a journal, and what is kept by the same commit, is the store behind the use case's protocol;
# and some use cases, and a store that reads another's columns, call functions of the named stores
KNOW_THE_STORE = MappingProxyType(
    {
        "catalog/quality/quality_counter": {"catalog/quality/store"},
        "catalog/browsing/browse": {"catalog/browsing/store"},
        "catalog/browsing/store": {"catalog/tokens/store"},
        "catalog/tokens/lookup": {"catalog/tokens/store"},
        "facilitator/channels/maintain_channels": {"facilitator/channels/store"},
        "facilitator/channels/operator_accounts": {"facilitator/channels/store"},
        "facilitator/channels/channel_leases": {"facilitator/channels/store"},
        "facilitator/journal/journal": {"facilitator/journal/store"},
        "facilitator/settling/idempotency": {"facilitator/journal/store"},
    }
)
