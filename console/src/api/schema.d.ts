// schema 3e8d7bc7c29780fddbb13337da343b19fb57013a6cdc3d23772b20cf4e4b8ab6 types c635c26480de9df36a0efa19d4a73ba4eff98585bc62f96f8c7b39de7e1f4c07
export interface paths {
    "/.well-known/stellar.toml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The file of SEP-1. */
        get: operations["get--well-known-stellar-toml"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/x402": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The URLs of the same operations. */
        get: operations["get--well-known-x402"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/discovery/merchant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every listing of one recipient. */
        get: operations["get-discovery-merchant"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/discovery/resources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every listing, by page. */
        get: operations["get-discovery-resources"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/discovery/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Listings that answer a query, the best first. */
        get: operations["get-discovery-search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process runs. */
        get: operations["get-health-live"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether each part can be used now. */
        get: operations["get-health-ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/llms.txt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What this service offers agents, on one page. */
        get: operations["get-llms-txt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The MCP server of the service (protocol 2025-06-18): search_services and paid_call.
         * @description A session, the operator, or any key.
         */
        post: operations["post-mcp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The paid operations of the gateway in USDC, as OpenAPI 3.1. */
        get: operations["get-openapi-json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Settle a payment, once.
         * @description A session, the operator, or a key with the scope facilitator.
         */
        post: operations["post-settle"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/supported": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Networks, extensions and accounts of the service. */
        get: operations["get-supported"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{network}/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An account and its balances: the native one, USDC, and of the assets that are named. */
        get: operations["get-v1-accounts-network-address"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your keys, newest first, revoked ones too.
         * @description A wallet's session or the operator; a key will not do.
         */
        get: operations["get-v1-api-keys"];
        put?: never;
        /**
         * Make a personal key; it is shown this once.
         * @description A wallet's session or the operator; a key will not do.
         */
        post: operations["post-v1-api-keys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a key and every key it was rotated to.
         * @description A wallet's session or the operator; a key will not do.
         */
        delete: operations["delete-v1-api-keys-id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys/{id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a key and every key it was rotated to.
         * @description A wallet's session or the operator; a key will not do.
         */
        post: operations["post-v1-api-keys-id-revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace a key by a new one, shown this once.
         * @description A session, the operator, or any key.
         */
        post: operations["post-v1-api-keys-id-rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The actions on your records, newest first.
         * @description A session, the operator, or a key with the scope read.
         */
        get: operations["get-v1-audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask for a challenge to sign with a wallet. */
        post: operations["post-v1-auth-challenge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the session, or all of the wallet's.
         * @description A wallet's session or the operator; a key will not do.
         */
        post: operations["post-v1-auth-logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Return the caller.
         * @description A session, the operator, or a key with the scope read.
         */
        get: operations["get-v1-auth-me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/pubnet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A challenge, as SEP-10 and SEP-45 ask for it. */
        get: operations["get-v1-auth-pubnet"];
        put?: never;
        /** A session for a signed challenge, as SEP-10 and SEP-45 send it. */
        post: operations["post-v1-auth-pubnet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/testnet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A challenge, as SEP-10 and SEP-45 ask for it. */
        get: operations["get-v1-auth-testnet"];
        put?: never;
        /** A session for a signed challenge, as SEP-10 and SEP-45 send it. */
        post: operations["post-v1-auth-testnet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send the signed challenge back for a session of 24 hours. */
        post: operations["post-v1-auth-verify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your plans, newest first.
         * @description A session, the operator, or a key with the scope automation.
         */
        get: operations["get-v1-automations"];
        put?: never;
        /**
         * Propose a plan; it runs once it is paid and activated.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/credits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What you have paid and no plan holds, by network.
         * @description A session, the operator, or a key with the scope automation.
         */
        get: operations["get-v1-automations-credits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The limits of plans, and what is offered on each network.
         * @description A session, the operator, or a key with the scope automation.
         */
        get: operations["get-v1-automations-limits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What a proposal would be; nothing is written.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations-preview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One of your plans, with its price and its session.
         * @description A session, the operator, or a key with the scope automation.
         */
        get: operations["get-v1-automations-id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Activate a paid plan by what its owner has authorized; a dry run must pass.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations-id-activate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a plan: unused paid runs become credit, and session.revoke is what ends its session.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations-id-cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The events of a plan behind a number; with waitSeconds it waits for the next one.
         * @description A session, the operator, or a key with the scope automation.
         */
        get: operations["get-v1-automations-id-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause an active plan; a transaction that was sent is still looked up.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations-id-pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/payment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pay for the runs of a plan: 402 with the price, then the same request with a payment.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations-id-payment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/preflight": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Whether a plan's first run would succeed as of the newest ledger.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations-id-preflight"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/receipts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The signed receipts of a plan's runs: one line of JSON for each leg.
         * @description A session, the operator, or a key with the scope automation.
         */
        get: operations["get-v1-automations-id-receipts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a paused plan go on, once the reason of the pause is gone.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations-id-resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The runs of a plan and their legs, newest first.
         * @description A session, the operator, or a key with the scope automation.
         */
        get: operations["get-v1-automations-id-runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/runs/{index}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One run of a plan: its legs, each with its attempts.
         * @description A session, the operator, or a key with the scope automation.
         */
        get: operations["get-v1-automations-id-runs-index"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/runs/{index}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run the failed legs of a run again, while it may still land.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations-id-runs-index-retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the wallet signs for a plan, as of the newest ledger.
         * @description A session, the operator, or a key with the scope automation.
         */
        get: operations["get-v1-automations-id-session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/automations/{id}/topup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pay for more runs of a plan, up to its run limit.
         * @description A session, the operator, or a key with the scope automation.
         */
        post: operations["post-v1-automations-id-topup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/contracts/{network}/{contract}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A contract: its kind, the hash of its code, and its functions. */
        get: operations["get-v1-contracts-network-contract"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/discovery/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Validate metadata, or a URL's own 402, without writing. */
        post: operations["post-v1-discovery-validate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every reason code with a sentence and its retry class. */
        get: operations["get-v1-errors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/networks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every network: its passphrase, protocol, latest ledger, fees and USDC. */
        get: operations["get-v1-networks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["get-v1-openapi-json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your payments, through the gateway or not, newest first.
         * @description A session, the operator, or a key with the scope read.
         */
        get: operations["get-v1-payments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put the signature into a prepared entry: the payment, ready for PAYMENT-SIGNATURE. */
        post: operations["post-v1-payments-complete"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/prepare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Prepare a payment for its signature: the entry, the hash to sign, and what it allows. */
        post: operations["post-v1-payments-prepare"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{transaction}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The state and the receipt of a payment, for everybody.
         * @description A session, the operator, or a key with the scope read.
         */
        get: operations["get-v1-payments-transaction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/payments/{transaction}/refund": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tell which transaction paid an owed payment of your wrapper back.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        post: operations["post-v1-payments-transaction-refund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settlements/{transaction}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The status of a settlement. */
        get: operations["get-v1-settlements-transaction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/skills": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The skills: what an agent may do with this service. */
        get: operations["get-v1-skills"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/skills/{slug}/SKILL.md": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The skill as a page in the Agent Skills format. */
        get: operations["get-v1-skills-slug-SKILL-md"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/skills/{slug}/mcp-tools.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The actions of a skill as MCP tools, for a client that calls the routes itself. */
        get: operations["get-v1-skills-slug-mcp-tools-json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/skills/{slug}/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The endpoints of a skill as OpenAPI 3.1. */
        get: operations["get-v1-skills-slug-openapi-json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/skills/{slug}/spec": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The spec of a skill: schemas, errors and endpoints of its actions; a version never changes. */
        get: operations["get-v1-skills-slug-spec"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/skills/{slug}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every version of a skill, newest first. */
        get: operations["get-v1-skills-slug-versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your usage by UTC day and network.
         * @description A session, the operator, or a key with the scope read.
         */
        get: operations["get-v1-usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vault/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your secrets, newest first, without their values.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        get: operations["get-v1-vault-secrets"];
        put?: never;
        /**
         * Keep a secret; its value is never shown again.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        post: operations["post-v1-vault-secrets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vault/secrets/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Forget a secret.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        delete: operations["delete-v1-vault-secrets-id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vault/secrets/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a secret another value.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        post: operations["post-v1-vault-secrets-id-rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/wrappers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your wrappers, newest first.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        get: operations["get-v1-wrappers"];
        put?: never;
        /**
         * Put an API behind x402; the wrapper starts disabled.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        post: operations["post-v1-wrappers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/wrappers/slug": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The slug that a wrapper of this name would get.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        get: operations["get-v1-wrappers-slug"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/wrappers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One of your wrappers.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        get: operations["get-v1-wrappers-id"];
        put?: never;
        post?: never;
        /**
         * Delete a wrapper; its slug stays yours for 90 days if it was ever enabled.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        delete: operations["delete-v1-wrappers-id"];
        options?: never;
        head?: never;
        /**
         * Change the members that are named; another upstream host removes the secret.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        patch: operations["patch-v1-wrappers-id"];
        trace?: never;
    };
    "/v1/wrappers/{id}/analytics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Requests, latencies and revenue of one of your wrappers.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        get: operations["get-v1-wrappers-id-analytics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/wrappers/{id}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try a wrapper without a payment: its upstream, its recipients, and its offer.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        post: operations["post-v1-wrappers-id-check"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/wrappers/{id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Serve a wrapper no more, and take its listings down.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        post: operations["post-v1-wrappers-id-disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/wrappers/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Serve a wrapper at the gateway, and list it.
         * @description A session, the operator, or a key with the scope wrappers.
         */
        post: operations["post-v1-wrappers-id-enable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify a payment; nothing moves.
         * @description A session, the operator, or a key with the scope facilitator.
         */
        post: operations["post-verify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AccountBody
         * @description An account; `kind` says which members it has.
         *
         *         A classic `account` has sequence, reserve, signers and thresholds; a `contract` has its code,
         *         unless `exists` is false: it holds tokens and is not on the ledger itself.
         */
        AccountBody: {
            address: string;
            balances: components["schemas"]["BalanceBody"][];
            contract?: components["schemas"]["TokenBody"];
            exists: boolean;
            /** @enum {unknown} */
            kind: "account" | "contract";
            latestLedger: number;
            minimumReserve?: string;
            network: components["schemas"]["Network"];
            sequence?: string;
            signers?: components["schemas"]["SignerBody"][];
            thresholds?: components["schemas"]["ThresholdsBody"];
        };
        /**
         * ActivateRequest
         * @description What the owner has authorized: one member at most; none for a plan of mode `open`.
         */
        ActivateRequest: {
            installTxHash?: string;
            mandateId?: string;
            presignedEntriesXdr?: string[];
            signedEntriesXdr?: string[];
        };
        /**
         * AnalyticsBody
         * @description The analytics of a wrapper: `owed` counts payments that are to be paid back.
         *
         *         `payments` are the last hundred.
         */
        AnalyticsBody: {
            days: components["schemas"]["DayBody"][];
            owed: number;
            pagination: components["schemas"]["PaginationBody"];
            payments: components["schemas"]["LandedPaymentBody"][];
            requests: components["schemas"]["RecordedRequestBody"][];
            summary: components["schemas"]["SummaryBody"];
        };
        /**
         * AssetBody
         * @description A classic asset and its contract.
         */
        AssetBody: {
            code: string;
            contract: string;
            issuer: string;
        };
        /**
         * AssetWeight
         * @description The share of a token in a portfolio; all of them are 10,000.
         */
        AssetWeight: {
            token: string;
            weightBps: number;
        };
        /**
         * AttemptBody
         * @description An envelope that was made for a run; `feeLimitStroops` is the most that it may cost.
         */
        AttemptBody: {
            errorCode: string | null;
            feeLimitStroops: string;
            feeStroops: string | null;
            /** Format: date-time */
            maxTime: string;
            number: number;
            outcome: string;
            sentAt: string | null;
            transaction: string;
        };
        /**
         * AuditBody
         * @description A page of the audit log, newest first.
         */
        AuditBody: {
            items: components["schemas"]["AuditEventBody"][];
            pagination: components["schemas"]["PaginationBody"];
        };
        /**
         * AuditEventBody
         * @description One audit event: who did what to which record, when, and in which request.
         */
        AuditEventBody: {
            action: string;
            actor: string;
            actorId: string | null;
            /** Format: date-time */
            doneAt: string;
            id: string;
            requestId: string;
            subject: string;
        };
        /**
         * AuthMode
         * @description What a caller has to show or to sign.
         * @enum {unknown}
         */
        AuthMode: "api_key" | "none" | "smart_account_session" | "user_session" | "wallet_auth_entry" | "wallet_transaction" | "x402";
        /**
         * AuthorityMode
         * @description How a run is authorized (2.1); the contracts know only the first two.
         * @enum {unknown}
         */
        AuthorityMode: "mandate" | "open" | "presigned" | "session";
        /**
         * AutomationNetworkBody
         * @description What automation offers on a network; `isFree`: runs cost nothing there.
         */
        AutomationNetworkBody: {
            contracts: components["schemas"]["SessionContractBody"][];
            isAvailable: boolean;
            isFree: boolean;
            modes: components["schemas"]["AuthorityMode"][];
            network: components["schemas"]["Network"];
            venues: string[];
        };
        /**
         * BalanceBody
         * @description A balance. `asset` is `native`, `CODE:ISSUER`, or the contract of a token without a name.
         *
         *         `balance` is null where `state` says why there is none. The liabilities and the limit are those
         *         of a classic account; the authorization is the issuer's.
         */
        BalanceBody: {
            asset: string;
            balance: string | null;
            buyingLiabilities?: string;
            contract: string;
            isAuthorized?: boolean;
            isAuthorizedToMaintainLiabilities?: boolean;
            isClawbackEnabled?: boolean;
            limit?: string;
            sellingLiabilities?: string;
            state: components["schemas"]["HoldingState"];
        };
        /**
         * BrowseBody
         * @description A page of listings.
         */
        BrowseBody: {
            items: components["schemas"]["ListingBody"][];
            pagination: components["schemas"]["OffsetPaginationBody"];
            unappliedFilters?: string[];
            /** @enum {unknown} */
            x402Version: 2;
        };
        /**
         * CallerKind
         * @description The kind of the credential.
         * @enum {unknown}
         */
        CallerKind: "key" | "operator" | "service" | "session";
        /**
         * CapBody
         * @description The most of a token that leaves the account: in one run, and in all.
         */
        CapBody: {
            perRun: string;
            token: string;
            total: string;
        };
        /**
         * ChallengeBody
         * @description A challenge: one of the two documents, to be signed and sent back.
         */
        ChallengeBody: {
            address: string;
            authorizationEntriesXdr?: string;
            /** Format: date-time */
            expiresAt: string;
            homeDomain: string;
            network: components["schemas"]["Network"];
            networkPassphrase: string;
            signingKey: string;
            transactionXdr?: string;
            webAuthDomain: string;
        };
        /**
         * ChallengeRequest
         * @description Who wants to sign in. `homeDomain` must be the service's; a memo is refused.
         */
        ChallengeRequest: {
            address: string;
            /** @default null */
            homeDomain?: string | null;
            /** @default null */
            memo?: string | number | null;
            network: string;
        };
        /**
         * ChangeRequest
         * @description Why the owner changes the plan; it is kept among the plan's events.
         */
        ChangeRequest: {
            /** @default null */
            reason?: string | null;
        };
        /**
         * CheckBody
         * @description The result of a dry run; `offer` is what an unpaid request gets.
         */
        CheckBody: {
            credentialProblem: string | null;
            offer: Record<string, never>;
            ready: boolean;
            settingsProblem: string | null;
            upstream: components["schemas"]["CheckedUpstreamBody"];
        };
        /**
         * CheckedUpstreamBody
         * @description The response of the upstream to a HEAD request with the credential; null without one.
         */
        CheckedUpstreamBody: {
            latencyMs: number | null;
            problem: string | null;
            status: number | null;
        };
        /**
         * CompleteRequest
         * @description The prepared entry, its signature, and the payment option that it was prepared for.
         */
        CompleteRequest: {
            /** @description A SorobanAuthorizationEntry, base64 XDR. */
            entry: string;
            /** @description As in the seller's 402. */
            extensions?: Record<string, never>;
            /** @description The G… address of the signer, where it is not the payer's own key. */
            publicKey?: string;
            requirements: components["schemas"]["RequirementsBody"];
            /** @description As in the seller's 402. */
            resource?: Record<string, never>;
            /** @description Of a G… payer 64 bytes, base64 or hex. Of a C… payer the SCVal that its __check_auth takes, base64 XDR. */
            signature: string;
        };
        /**
         * CompletedBody
         * @description A payment; `paymentSignature` is the value of the header PAYMENT-SIGNATURE.
         */
        CompletedBody: {
            paymentPayload: Record<string, never>;
            paymentSignature: string;
        };
        /**
         * ConditionSchedule
         * @description A poll of the contract's `autolayer_check` every so many seconds; true makes a run.
         */
        ConditionSchedule: {
            everySeconds: number;
            /** @enum {unknown} */
            type: "condition";
        };
        /**
         * ContractBody
         * @description A contract. `functions` is null unless `interface` is `read`; its words are a stranger's.
         */
        ContractBody: {
            code?: string;
            contract: string;
            functions: components["schemas"]["FunctionBody"][] | null;
            interface: components["schemas"]["InterfaceState"];
            isArchived: boolean;
            issuer?: string;
            kind: components["schemas"]["TokenKind"];
            latestLedger: number;
            network: components["schemas"]["Network"];
            owner?: string;
            wasmHash?: string;
        };
        /**
         * ContractCallRequest
         * @description A plan that calls a contract.
         */
        ContractCallRequest: {
            /** @default null */
            account?: string | null;
            /** @default false */
            allowDuplicate?: boolean;
            /** @default null */
            authorityMode?: components["schemas"]["AuthorityMode"] | null;
            /** @default null */
            expiresAt?: string | null;
            /** @enum {unknown} */
            kind: "contract_call";
            /** @default null */
            maxFeeStroops?: string | null;
            /** @default null */
            maxLatenessSeconds?: number | null;
            /** @default null */
            missedRuns?: components["schemas"]["MissedRuns"] | null;
            network: components["schemas"]["Network"];
            runLimit: number;
            schedule: components["schemas"]["OnceSchedule"] | components["schemas"]["IntervalSchedule"] | components["schemas"]["CronSchedule"] | components["schemas"]["ConditionSchedule"];
            spec: components["schemas"]["ContractCallSpec"];
            /** @default null */
            startsAt?: string | null;
            title: string;
        };
        /**
         * ContractCallSpec
         * @description A call of any function. With `autolayer` function and arguments are those of 3.14.
         */
        ContractCallSpec: {
            /** @default [] */
            args?: components["schemas"]["TypedArgument"][];
            /** @default false */
            autolayer?: boolean;
            contract: string;
            effects: components["schemas"]["EffectsText"];
            /** @default null */
            expectedWasmHash?: string | null;
            /** @default null */
            function?: string | null;
        };
        /**
         * CreateKeyRequest
         * @description What a new key is to be; without scopes it may read.
         */
        CreateKeyRequest: {
            /** @default null */
            expiresAt?: string | null;
            /** @default null */
            expiresInSeconds?: number | null;
            name: string;
            /** @default null */
            scopes?: components["schemas"]["Grant"][] | null;
        };
        /**
         * CreateSecretRequest
         * @description A secret to be kept; without a purpose it is for a request header.
         */
        CreateSecretRequest: {
            name: string;
            /** @default header */
            purpose?: components["schemas"]["Purpose"];
            value: string;
        };
        /**
         * CreateWrapperRequest
         * @description A new wrapper; without a slug one is derived from its name.
         */
        CreateWrapperRequest: {
            accepts?: components["schemas"]["TermBody"][];
            /** @description Base units. */
            amount?: string;
            asset?: string;
            authHeader?: string | null;
            authType?: components["schemas"]["UpstreamAuth"];
            description?: string;
            isRepeatable?: boolean;
            keepAnswerBytes?: number;
            maxConcurrentRequests?: number;
            maxRequestBytes?: number;
            maxResponseBytes?: number;
            method?: ("DELETE" | "GET" | "PATCH" | "POST" | "PUT") | null;
            mimeType?: string;
            monthlyRequestQuota?: number;
            name?: string;
            network?: components["schemas"]["Network"];
            otherPaths?: components["schemas"]["OtherPaths"];
            payTo?: string;
            requestsPerMinute?: number;
            routes?: components["schemas"]["RouteBody"][];
            secretId?: string | null;
            slug?: string;
            tags?: string[];
            timeoutSeconds?: number;
            upstreamUrl?: string;
        };
        /**
         * CronSchedule
         * @description A run at each local time that matches the five fields of `expr`.
         *
         *         With `*` or `*\/n` for the minute or the hour it goes by the clock: in an hour that is repeated
         *         it keeps its interval. A fixed local time that the clocks skip runs at the next valid moment,
         *         together with whatever else is due then; one that they repeat runs at its first occurrence only.
         */
        CronSchedule: {
            expr: string;
            timezone: string;
            /** @enum {unknown} */
            type: "cron";
        };
        /**
         * CsrfBody
         * @description What a page sends along with its cookie when it changes something.
         */
        CsrfBody: {
            header: string;
            value: string;
        };
        /**
         * CursorPaginationBody
         * @description The cursor of the next page; null on the last.
         */
        CursorPaginationBody: {
            cursor: string | null;
            limit: number;
        };
        /**
         * DayBody
         * @description One UTC day.
         */
        DayBody: {
            /** Format: date */
            day: string;
            revenue: components["schemas"]["RevenueBody"][];
            summary: components["schemas"]["SummaryBody"];
        };
        /**
         * DcaRequest
         * @description A plan that buys a token with a fixed amount of another.
         */
        DcaRequest: {
            /** @default null */
            account?: string | null;
            /** @default false */
            allowDuplicate?: boolean;
            /** @default null */
            authorityMode?: components["schemas"]["AuthorityMode"] | null;
            /** @default null */
            expiresAt?: string | null;
            /** @enum {unknown} */
            kind: "dca";
            /** @default null */
            maxFeeStroops?: string | null;
            /** @default null */
            maxLatenessSeconds?: number | null;
            /** @default null */
            missedRuns?: components["schemas"]["MissedRuns"] | null;
            network: components["schemas"]["Network"];
            runLimit: number;
            schedule: components["schemas"]["OnceSchedule"] | components["schemas"]["IntervalSchedule"] | components["schemas"]["CronSchedule"] | components["schemas"]["ConditionSchedule"];
            spec: components["schemas"]["DcaSpec"];
            /** @default null */
            startsAt?: string | null;
            title: string;
        };
        /**
         * DcaSpec
         * @description Buy one token with a fixed amount of another; what is bought goes to the account.
         */
        DcaSpec: {
            amountIn: string;
            minRate: components["schemas"]["RateText"];
            /** @default null */
            oracleFloor?: components["schemas"]["OracleFloorText"] | null;
            /** @default null */
            path?: string[] | null;
            /** @default null */
            pools?: string[] | null;
            /** @default null */
            receiver?: string | null;
            slippageBps: number;
            tokenIn: string;
            tokenOut: string;
            venue: components["schemas"]["Venue"];
        };
        /**
         * DelegateBody
         * @description The key that signs the runs; `verifier` is the contract that checks it for smart accounts.
         */
        DelegateBody: {
            address: string;
            publicKey: string;
            type: string;
            verifier: string | null;
        };
        /**
         * Delivery
         * @description How a new session is handed over.
         * @enum {unknown}
         */
        Delivery: "cookie" | "token";
        /**
         * DisbursementMode
         * @description How often the legs are paid: on every run, or once in all.
         * @enum {unknown}
         */
        DisbursementMode: "fixed" | "once";
        /**
         * DisbursementRequest
         * @description A plan that pays several recipients.
         */
        DisbursementRequest: {
            /** @default null */
            account?: string | null;
            /** @default false */
            allowDuplicate?: boolean;
            /** @default null */
            authorityMode?: components["schemas"]["AuthorityMode"] | null;
            /** @default null */
            expiresAt?: string | null;
            /** @enum {unknown} */
            kind: "disbursement";
            /** @default null */
            maxFeeStroops?: string | null;
            /** @default null */
            maxLatenessSeconds?: number | null;
            /** @default null */
            missedRuns?: components["schemas"]["MissedRuns"] | null;
            network: components["schemas"]["Network"];
            runLimit: number;
            schedule: components["schemas"]["OnceSchedule"] | components["schemas"]["IntervalSchedule"] | components["schemas"]["CronSchedule"] | components["schemas"]["ConditionSchedule"];
            spec: components["schemas"]["DisbursementSpec"];
            /** @default null */
            startsAt?: string | null;
            title: string;
        };
        /**
         * DisbursementSpec
         * @description Pay several recipients; `batch`: in one transaction of a batch target or a mandate.
         */
        DisbursementSpec: {
            /** @default false */
            batch?: boolean;
            legs: components["schemas"]["LegText"][];
            /** @default fixed */
            mode?: components["schemas"]["DisbursementMode"];
            /** @default stop */
            onLegError?: components["schemas"]["OnLegError"];
            token: string;
        };
        /**
         * EffectBody
         * @description The net change of a token of the account; below 0 it pays.
         */
        EffectBody: {
            amount: string;
            token: string;
        };
        /**
         * EffectsText
         * @description What a run may take from the account at most, and must give it at least.
         */
        EffectsText: {
            /** @default [] */
            maxDebit?: components["schemas"]["TokenAmountText"][];
            /** @default [] */
            minCredit?: components["schemas"]["TokenAmountText"][];
        };
        /**
         * ErrorBody
         * @description The error body of every route that has no shape of its own.
         */
        ErrorBody: {
            error: components["schemas"]["ErrorDetail"];
        };
        /**
         * ErrorCode
         * @description A code never changes its meaning; the sentence is for people and may change.
         * @enum {unknown}
         */
        ErrorCode: "QUERY_REQUIRED" | "SKILL_NOT_FOUND" | "SKILL_VERSION_NOT_FOUND" | "account_archived" | "account_mismatch" | "account_not_allowed" | "account_not_found" | "account_not_proven" | "automation_unavailable" | "body_too_large" | "challenge_not_open" | "conflicting_parameters" | "contract_login_unavailable" | "contract_not_found" | "control_characters" | "cross_site_request" | "cursor_expired" | "cursor_mismatch" | "duplicate_intent" | "empty_parameter" | "fee_ceiling" | "function_not_found" | "head_too_large" | "host_not_allowed" | "idempotency_key_reused" | "illegal_transition" | "internal_error" | "interval_too_short" | "invalid_action" | "invalid_address" | "invalid_asset" | "invalid_challenge" | "invalid_cursor" | "invalid_entry" | "invalid_expiry" | "invalid_filter" | "invalid_flag" | "invalid_limit" | "invalid_name" | "invalid_offset" | "invalid_payment_header" | "invalid_period" | "invalid_query_string" | "invalid_refund" | "invalid_request" | "invalid_schedule" | "invalid_signature" | "invalid_validation_request" | "invalid_value" | "invalid_wrapper" | "key_revoked" | "limit_exceeded" | "malformed_http" | "memo_unsupported" | "method_not_allowed" | "monthly_quota_used" | "muxed_account_unsupported" | "name_taken" | "network_unavailable" | "not_forwarded" | "not_found" | "origin_not_allowed" | "pay_to_required" | "payment_in_flight" | "payment_not_owed" | "payment_used" | "preflight_failed" | "query_string_too_long" | "query_too_long" | "quota_reached" | "quote_expired" | "repeated_parameter" | "request_timeout" | "run_index_passed" | "schedule_never_fires" | "scope_missing" | "secret_in_use" | "service_unavailable" | "session_expires_too_soon" | "session_mismatch" | "session_required" | "settlement_pending" | "sign_in_unavailable" | "signature_refused" | "slug_taken" | "spec_mismatch" | "target_upgraded" | "too_many_connections" | "too_many_keys" | "too_many_listings" | "too_many_parameters" | "too_many_requests" | "too_many_secrets" | "too_many_wrappers" | "unauthenticated" | "unknown_home_domain" | "unknown_parameter" | "unsupported_account" | "unsupported_media_type" | "unsupported_network" | "upstream_failed" | "upstream_timeout" | "upstream_unavailable" | "url_too_long" | "value_not_for_header" | "vault_unavailable";
        /**
         * ErrorDetail
         * @description `code` is for programs and stays; `message` is for people; `requestId` is in the log.
         *
         *         `details` is there where one member of the body is refused.
         */
        ErrorDetail: {
            code: components["schemas"]["ErrorCode"];
            details?: components["schemas"]["ErrorMember"];
            message: string;
            requestId: string;
        };
        /**
         * ErrorMember
         * @description The member of the request's body that an error is about, as in `spec.args[0].value`.
         */
        ErrorMember: {
            field: string;
        };
        /**
         * EventBody
         * @description An event of a plan.
         */
        EventBody: {
            /** Format: date-time */
            at: string;
            data: Record<string, never>;
            kind: string;
            number: number;
        };
        /**
         * EventListBody
         * @description Events of a plan, oldest first; pass `next` as `after` to read on.
         */
        EventListBody: {
            items: components["schemas"]["EventBody"][];
            next: number;
        };
        /**
         * FeesBody
         * @description Fees in stroops, which the facilitator pays.
         *
         *         The first two are inclusion fees of recent contract calls, 0 where there were none.
         *         `meanPayment` is the whole fee of the newest payments settled here.
         */
        FeesBody: {
            inclusionMax: string;
            inclusionP99: string;
            meanPayment?: string;
        };
        /**
         * FieldWarningBody
         * @description A member that a listing would leave out or change.
         */
        FieldWarningBody: {
            field: string;
            message: string;
        };
        /**
         * FirstRunBody
         * @description The first run: when it is due, and its effects if it were now.
         */
        FirstRunBody: {
            at: string | null;
            effects: components["schemas"]["EffectBody"][];
        };
        /**
         * FlawBody
         * @description A reason why the resource would not be listed.
         */
        FlawBody: {
            code: string;
            message: string;
        };
        /**
         * FunctionBody
         * @description A function; `output` is null where it returns nothing.
         */
        FunctionBody: {
            inputs: components["schemas"]["InputBody"][];
            name: string;
            output: string | null;
        };
        /**
         * Grant
         * @description A scope of a personal key; a session and the operator have every scope.
         * @enum {unknown}
         */
        Grant: "automation" | "facilitator" | "read" | "wrappers";
        /**
         * HoldingState
         * @description What a balance means.
         * @enum {unknown}
         */
        HoldingState: "archived" | "held" | "issuer" | "no_contract" | "no_trustline" | "not_a_token";
        /**
         * InputBody
         * @description A parameter; `type` is as in Rust: `i128`, `Vec<Address>`.
         */
        InputBody: {
            name: string;
            type: string;
        };
        /**
         * InstallBody
         * @description What the wallet signs to install a session, in one of the ways of `signWith`.
         */
        InstallBody: {
            entries: components["schemas"]["SignableEntryBody"][];
            expirationLedger: number;
            invocations: components["schemas"]["InvocationBody"][];
            isFeeSponsored: boolean;
            signWith: string[];
            unsignedTransactionXdr: string | null;
        };
        /**
         * InterfaceState
         * @description Whether the functions of a contract are known, and why not.
         * @enum {unknown}
         */
        InterfaceState: "built_in" | "elsewhere" | "no_code" | "not_described" | "read" | "unreadable";
        /**
         * IntervalSchedule
         * @description A run every so many seconds of elapsed time, from `start_at` on; clock changes shift none.
         */
        IntervalSchedule: {
            everySeconds: number;
            /** Format: date-time */
            startAt: string;
            /** @enum {unknown} */
            type: "interval";
        };
        /**
         * InvocationBody
         * @description A call; each argument is an ScVal (XDR).
         */
        InvocationBody: {
            arguments: string[];
            contract: string;
            function: string;
        };
        /**
         * IssuedKeyBody
         * @description A key that was just made, with the key itself.
         */
        IssuedKeyBody: {
            /** Format: date-time */
            createdAt: string;
            expiresAt: string | null;
            id: string;
            key: string;
            lastUsedAt: string | null;
            name: string;
            prefix: string;
            replacedBy: string | null;
            revokedAt: string | null;
            scopes: components["schemas"]["Grant"][];
            /** Format: date-time */
            updatedAt: string;
        };
        /**
         * KeyBody
         * @description What is shown of a key, never the key itself.
         */
        KeyBody: {
            /** Format: date-time */
            createdAt: string;
            expiresAt: string | null;
            id: string;
            lastUsedAt: string | null;
            name: string;
            prefix: string;
            replacedBy: string | null;
            revokedAt: string | null;
            scopes: components["schemas"]["Grant"][];
            /** Format: date-time */
            updatedAt: string;
        };
        /**
         * KeyListBody
         * @description Some of the caller's keys, newest first.
         */
        KeyListBody: {
            items: components["schemas"]["KeyBody"][];
            pagination: components["schemas"]["PaginationBody"];
        };
        /**
         * KindBody
         * @description A scheme on a network that the service settles.
         */
        KindBody: {
            extra: components["schemas"]["SponsoredFees"];
            network: components["schemas"]["Network"];
            /** @enum {unknown} */
            scheme: "exact";
            /** @enum {unknown} */
            x402Version: 2;
        };
        /**
         * LandedPaymentBody
         * @description One payment that has landed; `/v1/payments` shows more of it.
         */
        LandedPaymentBody: {
            amount: string;
            asset: string;
            network: string;
            payTo: string;
            /** Format: date-time */
            settledAt: string;
            state: string;
            transaction: string;
        };
        /**
         * LedgerBody
         * @description The latest ledger; `secondsPerLedger` is as observed.
         */
        LedgerBody: {
            /** Format: date-time */
            closedAt: string;
            secondsPerLedger: number;
            sequence: number;
        };
        /**
         * LegText
         * @description A payment to one recipient; `ref` is the owner's own note.
         */
        LegText: {
            amount: string;
            /** @default null */
            ref?: string | null;
            to: string;
        };
        /**
         * LimitsBody
         * @description The limits of plans (3.3).
         */
        LimitsBody: {
            callsPerSession: number;
            horizonSeconds: number;
            networks: components["schemas"]["AutomationNetworkBody"][];
            openPlansPerOwner: number;
            presignedEntries: number;
            receiversPerBatch: number;
            receiversPerSession: number;
            runs: number;
            shortestIntervalSeconds: number;
            shortestPollSeconds: number;
        };
        /**
         * ListedTermsBody
         * @description The last settled terms of one scheme and asset.
         */
        ListedTermsBody: {
            amount: string;
            asset: string;
            extra: components["schemas"]["TermsExtraBody"];
            maxTimeoutSeconds: number;
            network: components["schemas"]["Network"];
            payTo: string;
            scheme: string;
        };
        /**
         * ListingBody
         * @description A listing; `untrusted` names the members that hold a stranger's words.
         *
         *         `explain` is only in the results of a search that asks for it.
         */
        ListingBody: {
            accepts: components["schemas"]["ListedTermsBody"][];
            description?: string;
            explain?: Record<string, never>;
            extensions: Record<string, never>;
            iconUrl?: string;
            /** Format: date-time */
            lastUpdated: string;
            method?: string;
            mimeType?: string;
            network: components["schemas"]["Network"];
            ownership: components["schemas"]["Ownership"];
            probe?: components["schemas"]["ProbeBody"];
            quality: components["schemas"]["QualityBody"];
            resource: string;
            serviceName?: string;
            tags?: string[];
            tokens?: {
                [key: string]: components["schemas"]["TokenBody"];
            };
            toolName?: string;
            type: components["schemas"]["ListingType"];
            untrusted: string[];
            /** @enum {unknown} */
            x402Version: 2;
        };
        /**
         * ListingReasonBody
         * @description A code of the listing report.
         */
        ListingReasonBody: {
            code: string;
            message: string;
        };
        /**
         * ListingType
         * @description The kind of the paid resource.
         * @enum {unknown}
         */
        ListingType: "http" | "mcp";
        /**
         * LiveBody
         * @description The process runs.
         */
        LiveBody: {
            /** @enum {unknown} */
            status: "ok";
        };
        /**
         * LogoutBody
         * @description How many sessions ended.
         */
        LogoutBody: {
            ended: number;
        };
        /**
         * LogoutRequest
         * @description Which sessions end: the one that asks, or all of the wallet's.
         */
        LogoutRequest: {
            /** @default false */
            everywhere?: boolean;
        };
        /**
         * MeBody
         * @description Who the caller is; `expiresAt` is the session's.
         */
        MeBody: {
            /** Format: date-time */
            expiresAt?: string;
            kind: components["schemas"]["CallerKind"];
            scopes: components["schemas"]["Grant"][];
            user: components["schemas"]["UserBody"];
        };
        /**
         * MerchantBody
         * @description A page of the listings of one recipient.
         */
        MerchantBody: {
            pagination: components["schemas"]["OffsetPaginationBody"];
            payTo: string;
            resources: components["schemas"]["ListingBody"][];
            unappliedFilters?: string[];
        };
        /**
         * MissedRuns
         * @description What a plan does about due times that it missed.
         * @enum {unknown}
         */
        MissedRuns: "catch_up_all" | "catch_up_one" | "skip";
        /**
         * Network
         * @description A network by its CAIP-2 id, spelled the same on every surface.
         * @enum {unknown}
         */
        Network: "stellar:pubnet" | "stellar:testnet";
        /**
         * NetworkBody
         * @description A network. While it is not available, `reason` says why and `ledger` is left out.
         */
        NetworkBody: {
            available: boolean;
            fees?: components["schemas"]["FeesBody"];
            isServed: boolean;
            ledger?: components["schemas"]["LedgerBody"];
            network: components["schemas"]["Network"];
            passphrase: string;
            protocolVersion?: number;
            reason?: string;
            usdc: components["schemas"]["AssetBody"];
        };
        /**
         * NetworksBody
         * @description Every network that Farebox knows.
         */
        NetworksBody: {
            networks: components["schemas"]["NetworkBody"][];
        };
        /**
         * OfferBody
         * @description A way to pay that the URL's own 402 names.
         */
        OfferBody: {
            amount: string;
            asset: string;
            network: components["schemas"]["Network"];
            payTo: string;
            scheme: string;
        };
        /**
         * OffsetPaginationBody
         * @description The place of a page in its list.
         */
        OffsetPaginationBody: {
            limit: number;
            offset: number;
            total: number;
        };
        /**
         * OnLegError
         * @description What a disbursement does after a leg that failed.
         * @enum {unknown}
         */
        OnLegError: "continue" | "stop";
        /**
         * OnceSchedule
         * @description One run at a moment.
         */
        OnceSchedule: {
            /** Format: date-time */
            at: string;
            /** @enum {unknown} */
            type: "once";
        };
        /**
         * OracleFloorText
         * @description A floor by the price of an oracle (SEP-40).
         */
        OracleFloorText: {
            maxAgeSeconds: number;
            maxDeviationBps: number;
            oracle: string;
        };
        /**
         * OtherPaths
         * @description What a request costs that matches no route of a wrapper with routes.
         * @enum {unknown}
         */
        OtherPaths: "base" | "refused";
        /**
         * Ownership
         * @description Whether the recipient is proven to control the resource.
         * @enum {unknown}
         */
        Ownership: "unverified" | "verified";
        /**
         * PaginationBody
         * @description The size of the page, and the cursor of the next one.
         */
        PaginationBody: {
            limit: number;
            nextCursor: string | null;
        };
        /**
         * PartBody
         * @description The state of one part; `reasons` are machine-readable codes.
         */
        PartBody: {
            reasons?: string[];
            /** @enum {unknown} */
            status: "ok" | "unavailable";
        };
        /**
         * PayForRunsRequest
         * @description Without `runs`, all runs of the plan are paid for; the rest may be topped up later.
         */
        PayForRunsRequest: {
            /** @description How many runs to pay for. */
            runs?: number;
        };
        /**
         * PaymentBody
         * @description A payment; `sale` is shown to the owner of the wrapper that made it.
         */
        PaymentBody: {
            amount: string;
            asset: string;
            attemptsLeft: number;
            network: string;
            payTo: string;
            receipt: components["schemas"]["ReceiptBody"];
            refund: string | null;
            sale?: components["schemas"]["SaleBody"];
            /** Format: date-time */
            sentAt: string;
            settledAt: string | null;
            state: components["schemas"]["RecordState"];
            transaction: string;
        };
        /**
         * PaymentExtra
         * @description `extra` of a response: warnings, or the transaction that settled the payment before.
         */
        PaymentExtra: {
            transaction?: string;
            warnings?: string[];
        };
        /**
         * PaymentListBody
         * @description A page of payments, newest first.
         */
        PaymentListBody: {
            items: components["schemas"]["PaymentBody"][];
            pagination: components["schemas"]["PaginationBody"];
        };
        /**
         * PaymentRequestBody
         * @description The body of `/verify` and `/settle`, as the API schema declares it.
         *
         *         `x402/wire.py` reads it rule by rule, so that the first broken rule has its own reason.
         */
        PaymentRequestBody: {
            /** @description As in the PAYMENT-SIGNATURE header. */
            paymentPayload: Record<string, never>;
            paymentRequirements: components["schemas"]["RequirementsBody"];
            /** @enum {unknown} */
            x402Version?: 2;
        };
        /**
         * PlanKind
         * @description The four kinds of plans.
         * @enum {unknown}
         */
        PlanKind: "contract_call" | "dca" | "disbursement" | "rebalance";
        /**
         * PlanSessionBody
         * @description What the wallet needs to authorize a plan, and to end it; it has no secret (3.15).
         */
        PlanSessionBody: {
            account: string | null;
            accountGeneration: string;
            contracts: components["schemas"]["SessionContractBody"][];
            delegate: components["schemas"]["DelegateBody"];
            install: components["schemas"]["InstallBody"] | null;
            limits: components["schemas"]["SessionLimitsBody"];
            mode: components["schemas"]["AuthorityMode"];
            network: components["schemas"]["Network"];
            networkPassphrase: string;
            permissions: string[];
            policyId: string;
            policySpec: Record<string, never> | null;
            policySpecXdr: string | null;
            revoke: components["schemas"]["RevokeBody"] | null;
            state: string;
            warnings: string[];
        };
        /**
         * PreflightBody
         * @description Whether the first run would succeed as of the newest ledger.
         */
        PreflightBody: {
            checks: components["schemas"]["PreflightCheckBody"][];
            estimatedFeeStroops: string | null;
            firstRun: components["schemas"]["FirstRunBody"] | null;
            ok: boolean;
        };
        /**
         * PreflightCheckBody
         * @description One check of a preflight.
         */
        PreflightCheckBody: {
            code: string;
            detail: string;
            ok: boolean;
        };
        /**
         * PrepareRequest
         * @description One payment option of a 402 (a member of its `accepts`), and the account that will pay.
         */
        PrepareRequest: {
            /** @description The G… or C… address that pays. */
            payer: string;
            requirements: components["schemas"]["RequirementsBody"];
        };
        /**
         * PreparedBody
         * @description An unsigned authorization; `hash` (SHA-256 of `preimage`) is what the payer signs.
         */
        PreparedBody: {
            /** @description A SorobanAuthorizationEntry, base64 XDR. */
            entry: string;
            expirationLedger: number;
            /** Format: date-time */
            expiresAt: string;
            hash: string;
            network: components["schemas"]["Network"];
            /** @description The G… or C… address that pays. */
            payer: string;
            /** @description A HashIDPreimage, base64 XDR. */
            preimage: string;
            statements: string[];
        };
        /**
         * PreviewBody
         * @description What a proposal would be; nothing of it is kept.
         *
         *         The key in `permissions` stands for one that is made for each proposal.
         */
        PreviewBody: {
            authorityMode: components["schemas"]["AuthorityMode"];
            limits: components["schemas"]["SessionLimitsBody"];
            permissions: string[];
            preflight: components["schemas"]["PreflightBody"];
            quote: components["schemas"]["QuoteBody"];
            schedule: components["schemas"]["UpcomingRunBody"][];
            warnings: string[];
        };
        /**
         * ProbeBody
         * @description The state of the resource as its liveness probes found it.
         */
        ProbeBody: {
            /** Format: date-time */
            checkedAt: string;
            /** Format: date-time */
            since?: string;
            state: components["schemas"]["ProbeState"];
        };
        /**
         * ProbeState
         * @description How a resource answers unpaid requests.
         * @enum {unknown}
         */
        ProbeState: "confirmed" | "no_payment_asked" | "not_called" | "other_recipient" | "unknown" | "unreachable" | "unreadable";
        /**
         * ProposalBody
         * @description A plan as its owner reads it; `delegate` is the address of its key, which holds nothing.
         */
        ProposalBody: {
            account: string | null;
            accountKind: string;
            authorityMode: components["schemas"]["AuthorityMode"];
            authorizationLimit: number;
            authorizationsUsed: number;
            /** Format: date-time */
            createdAt: string;
            delegate: string;
            /** Format: date-time */
            expiresAt: string;
            failuresInRow: number;
            id: string;
            isCancelling: boolean;
            kind: components["schemas"]["PlanKind"];
            maxFeeStroops: string;
            maxLatenessSeconds: number;
            missedRuns: components["schemas"]["MissedRuns"];
            network: components["schemas"]["Network"];
            nextRuns: components["schemas"]["UpcomingRunBody"][];
            overdueAt: string | null;
            policyId: string;
            policyName: string;
            runLimit: number;
            runsConsumed: number;
            runsCredited: number;
            runsSucceeded: number;
            schedule: components["schemas"]["OnceSchedule"] | components["schemas"]["IntervalSchedule"] | components["schemas"]["CronSchedule"] | components["schemas"]["ConditionSchedule"];
            spec: Record<string, never>;
            /** Format: date-time */
            startsAt: string;
            status: string;
            statusReason: string | null;
            targetWasmHash: string | null;
            title: string;
            /** Format: date-time */
            updatedAt: string;
        };
        /**
         * ProposalDetailBody
         * @description A plan with its price, what to sign for it, and what its first run would do.
         */
        ProposalDetailBody: {
            /** @default null */
            preflight?: components["schemas"]["PreflightBody"] | null;
            proposal: components["schemas"]["ProposalBody"];
            /** @default null */
            quote?: components["schemas"]["QuoteBody"] | null;
            /** @default null */
            session?: components["schemas"]["PlanSessionBody"] | null;
        };
        /**
         * ProposalListBody
         * @description Some of the caller's plans, newest first.
         */
        ProposalListBody: {
            items: components["schemas"]["ProposalBody"][];
            pagination: components["schemas"]["PaginationBody"];
        };
        /**
         * Purpose
         * @description The permitted use of a secret.
         * @enum {unknown}
         */
        Purpose: "bearer" | "header" | "other";
        /**
         * QualityBody
         * @description The settled use of a listing.
         */
        QualityBody: {
            /** Format: date-time */
            lastSettledAt: string;
            /** Format: date-time */
            listedAt: string;
            payers: number;
            settlements: number;
        };
        /**
         * QuoteBody
         * @description The price of a plan's runs, and what of it is taken from what the owner has paid.
         *
         *         `creditAmount` is that part, `total` the rest; `fromCredit` are the runs that it pays in whole.
         */
        QuoteBody: {
            asset: string;
            /** @default 0 */
            creditAmount?: string;
            /** @default 0 */
            fromCredit?: number;
            isFree: boolean;
            network: components["schemas"]["Network"];
            payTo: string | null;
            paymentIdentifier: string;
            perRun: string;
            revision: number;
            runs: number;
            setup: string;
            total: string;
            /** Format: date-time */
            validUntil: string;
        };
        /**
         * RateText
         * @description A rate: `num` base units of the received token for `den` of the paid one.
         */
        RateText: {
            den: string;
            num: string;
        };
        /**
         * ReadyBody
         * @description The state of the service and of each of its parts.
         */
        ReadyBody: {
            parts: {
                [key: string]: components["schemas"]["PartBody"];
            };
            /** @enum {unknown} */
            status: "ok" | "unavailable";
        };
        /**
         * Reason
         * @description A machine-readable reason code.
         * @enum {unknown}
         */
        Reason: "accepted_mismatch" | "account_mismatch" | "body_too_large" | "cross_site_request" | "duplicate_settlement" | "idempotency_key_reused" | "insufficient_funds" | "invalid_exact_stellar_fees_sponsored_unsupported" | "invalid_exact_stellar_payload_auth_not_for_transfer" | "invalid_exact_stellar_payload_entry_missing" | "invalid_exact_stellar_payload_event_missing_contract_id" | "invalid_exact_stellar_payload_event_muxed_id" | "invalid_exact_stellar_payload_event_not_transfer" | "invalid_exact_stellar_payload_event_wrong_amount" | "invalid_exact_stellar_payload_event_wrong_asset" | "invalid_exact_stellar_payload_event_wrong_from" | "invalid_exact_stellar_payload_event_wrong_to" | "invalid_exact_stellar_payload_facilitator_in_auth" | "invalid_exact_stellar_payload_facilitator_is_payer" | "invalid_exact_stellar_payload_facilitator_is_recipient" | "invalid_exact_stellar_payload_fee_exceeds_maximum" | "invalid_exact_stellar_payload_has_subinvocations" | "invalid_exact_stellar_payload_invalid_signature" | "invalid_exact_stellar_payload_malformed" | "invalid_exact_stellar_payload_missing_payer_signature" | "invalid_exact_stellar_payload_multiple_transfers" | "invalid_exact_stellar_payload_muxed_recipient_unsupported" | "invalid_exact_stellar_payload_no_auth_entries" | "invalid_exact_stellar_payload_no_transfer_events" | "invalid_exact_stellar_payload_payer_is_recipient" | "invalid_exact_stellar_payload_restore_required" | "invalid_exact_stellar_payload_simulation_failed" | "invalid_exact_stellar_payload_unexpected_auth_entry" | "invalid_exact_stellar_payload_unexpected_pending_signatures" | "invalid_exact_stellar_payload_unsafe_tx_or_op_source" | "invalid_exact_stellar_payload_unsupported_credential_type" | "invalid_exact_stellar_payload_wrong_amount" | "invalid_exact_stellar_payload_wrong_asset" | "invalid_exact_stellar_payload_wrong_function_name" | "invalid_exact_stellar_payload_wrong_operation" | "invalid_exact_stellar_payload_wrong_recipient" | "invalid_exact_stellar_signature_expiration_too_far" | "invalid_exact_stellar_signature_expired" | "invalid_exact_stellar_signature_expires_too_soon" | "invalid_idempotency_key" | "invalid_json" | "invalid_network" | "invalid_payload" | "invalid_payment_identifier" | "invalid_payment_requirements" | "invalid_x402_version" | "method_not_allowed" | "network_mismatch" | "network_unavailable" | "payer_stopped" | "payment_identifier_required" | "payment_identifier_reused" | "request_timeout" | "scope_missing" | "service_unavailable" | "settle_exact_stellar_foreign_landing" | "settle_exact_stellar_outcome_unproven" | "settle_exact_stellar_transaction_failed" | "settle_exact_stellar_transaction_submission_failed" | "settlement_pending" | "sponsor_balance_low" | "sponsor_budget_exhausted" | "sponsor_stopped" | "too_many_requests" | "unauthenticated" | "unexpected_settle_error" | "unexpected_verify_error" | "unsupported_asset" | "unsupported_media_type" | "unsupported_scheme";
        /**
         * ReasonBody
         * @description A reason code of `/verify` and `/settle`.
         */
        ReasonBody: {
            code: components["schemas"]["Reason"];
            message: string;
            retry: components["schemas"]["Retry"];
        };
        /**
         * ReasonsBody
         * @description The reason codes of payments, of a listing, and of the errors at `/mcp`.
         */
        ReasonsBody: {
            errors: components["schemas"]["ReasonBody"][];
            listing: components["schemas"]["ListingReasonBody"][];
            mcp: components["schemas"]["ListingReasonBody"][];
        };
        /**
         * RebalanceRequest
         * @description A plan that trades towards weights.
         */
        RebalanceRequest: {
            /** @default null */
            account?: string | null;
            /** @default false */
            allowDuplicate?: boolean;
            /** @default null */
            authorityMode?: components["schemas"]["AuthorityMode"] | null;
            /** @default null */
            expiresAt?: string | null;
            /** @enum {unknown} */
            kind: "rebalance";
            /** @default null */
            maxFeeStroops?: string | null;
            /** @default null */
            maxLatenessSeconds?: number | null;
            /** @default null */
            missedRuns?: components["schemas"]["MissedRuns"] | null;
            network: components["schemas"]["Network"];
            runLimit: number;
            schedule: components["schemas"]["OnceSchedule"] | components["schemas"]["IntervalSchedule"] | components["schemas"]["CronSchedule"] | components["schemas"]["ConditionSchedule"];
            spec: components["schemas"]["RebalanceSpec"];
            /** @default null */
            startsAt?: string | null;
            title: string;
        };
        /**
         * RebalanceSpec
         * @description Trade towards weights when one drifts; `strategy` is a contract of the convention of 3.14.
         */
        RebalanceSpec: {
            assets: components["schemas"]["AssetWeight"][];
            driftBps: number;
            maxSlippageBps: number;
            maxTradePerRun: components["schemas"]["TokenAmountText"][];
            oracle: string;
            /** @default null */
            strategy?: string | null;
            venue: components["schemas"]["Venue"];
        };
        /**
         * ReceiptBody
         * @description The members of `PAYMENT-RESPONSE`.
         */
        ReceiptBody: {
            errorReason?: string;
            network: string;
            payer: string;
            success: boolean;
            transaction: string;
        };
        /**
         * RecordState
         * @description The state of a payment; the last four are those of a sale at the gateway.
         * @enum {unknown}
         */
        RecordState: "delivered" | "failed" | "owed" | "paid" | "pending" | "refunded" | "settled" | "unproven";
        /**
         * RecordedRequestBody
         * @description One request; it holds no header, no body and no query.
         */
        RecordedRequestBody: {
            /** Format: date-time */
            at: string;
            durationMs: number;
            errorCode: string | null;
            method: string;
            outcome: string;
            path: string;
            requestBytes: number;
            requestId: string;
            responseBytes: number;
            status: number;
            transaction: string | null;
        };
        /**
         * RefundRequest
         * @description The transaction that paid an owed payment back.
         */
        RefundRequest: {
            /** @description 64 lower-case hex digits. */
            transaction: string;
        };
        /**
         * RefusedDetail
         * @description `code` is a reason of `/v1/errors`; `details` names the member to change, where one is.
         */
        RefusedDetail: {
            code: components["schemas"]["Reason"];
            details?: components["schemas"]["ErrorMember"];
            message: string;
            requestId: string;
        };
        /**
         * RefusedPaymentBody
         * @description The facilitator would refuse the payment.
         */
        RefusedPaymentBody: {
            error: components["schemas"]["RefusedDetail"];
        };
        /**
         * ReportBody
         * @description The report; `listing` is the part of the listing that describes the resource.
         */
        ReportBody: {
            isValid: boolean;
            key?: string;
            listing?: components["schemas"]["ResourceBody"];
            offers?: components["schemas"]["OfferBody"][];
            reasons: components["schemas"]["FlawBody"][];
            warnings: components["schemas"]["FieldWarningBody"][];
        };
        /**
         * RequirementsBody
         * @description `paymentRequirements`: the seller's terms.
         */
        RequirementsBody: {
            /** @description Base units, at most 2^127 - 1. */
            amount: string;
            asset: string;
            extra?: components["schemas"]["SponsoredFees"];
            maxTimeoutSeconds: number;
            network: components["schemas"]["Network"];
            payTo: string;
            /** @enum {unknown} */
            scheme: "exact";
        };
        /**
         * ResourceBody
         * @description A resource and its metadata; `extensions` as they were settled, to the letter.
         */
        ResourceBody: {
            description?: string;
            extensions: Record<string, never>;
            iconUrl?: string;
            method?: string;
            mimeType?: string;
            resource: string;
            serviceName?: string;
            tags?: string[];
            toolName?: string;
            type: components["schemas"]["ListingType"];
            /** @enum {unknown} */
            x402Version: 2;
        };
        /**
         * Retry
         * @description Whether a caller may repeat the same request.
         * @enum {unknown}
         */
        Retry: "later" | "never" | "reconcile";
        /**
         * RevenueBody
         * @description The payments in one token; `amount` is in base units.
         */
        RevenueBody: {
            amount: string;
            asset: string;
            network: string;
            payments: number;
        };
        /**
         * RevokeBody
         * @description What the wallet signs to end a session.
         */
        RevokeBody: {
            invocations: components["schemas"]["InvocationBody"][];
            unsignedTransactionXdr: string | null;
        };
        /**
         * RotateKeyRequest
         * @description How long the old key works still, in seconds.
         */
        RotateKeyRequest: {
            /** @default 0 */
            overlapSeconds?: number;
        };
        /**
         * RotateSecretRequest
         * @description The value that a secret is to have from now on.
         */
        RotateSecretRequest: {
            value: string;
        };
        /**
         * RouteBody
         * @description A method and a path with a price of its own: `amount` with one term, else `accepts`.
         */
        RouteBody: {
            accepts?: components["schemas"]["TermBody"][];
            /** @description Base units. */
            amount?: string;
            description?: string;
            /** @description A JSON Schema, 2 KB at most. */
            input?: Record<string, never>;
            /** @enum {unknown} */
            method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT";
            /** @description A JSON Schema, 2 KB at most. */
            output?: Record<string, never>;
            path: string;
        };
        /**
         * RpcErrorBody
         * @description An error of JSON-RPC 2.0; `data.reason` is for programs and stays.
         */
        RpcErrorBody: {
            code: number;
            data: Record<string, never>;
            message: string;
        };
        /**
         * RpcRequestBody
         * @description A request, or a notification, which has no id.
         */
        RpcRequestBody: {
            /** @default null */
            id?: string | number | null;
            jsonrpc: string;
            method: string;
            /** @default {} */
            params?: Record<string, never>;
        };
        /**
         * RpcResponseBody
         * @description A response: it has a result or an error.
         */
        RpcResponseBody: {
            error?: components["schemas"]["RpcErrorBody"];
            id: string | number | null;
            jsonrpc: string;
            result?: Record<string, never>;
        };
        /**
         * RunBody
         * @description A run, or one leg of it; `executedBy` says whose transaction it is.
         */
        RunBody: {
            attempts: number;
            /** Format: date-time */
            deadlineAt: string;
            effects: components["schemas"]["EffectBody"][];
            errorClass: string | null;
            errorCode: string | null;
            executedBy: string | null;
            feeStroops: string;
            finishedAt: string | null;
            id: string;
            ledger: number | null;
            legIndex: number;
            reason: string | null;
            runIndex: number;
            /** Format: date-time */
            scheduledFor: string;
            state: string;
            transaction: string | null;
        };
        /**
         * RunCreditBody
         * @description An amount on a network that no plan holds, in base units; the next plan there uses it.
         */
        RunCreditBody: {
            amount: string;
            asset: string;
            network: components["schemas"]["Network"];
        };
        /**
         * RunCreditListBody
         * @description The credits of an owner, one for each network and asset with any.
         */
        RunCreditListBody: {
            items: components["schemas"]["RunCreditBody"][];
        };
        /**
         * RunDetailBody
         * @description A run, or one leg of it, with its attempts.
         */
        RunDetailBody: {
            attemptList: components["schemas"]["AttemptBody"][];
            attempts: number;
            /** Format: date-time */
            deadlineAt: string;
            effects: components["schemas"]["EffectBody"][];
            errorClass: string | null;
            errorCode: string | null;
            executedBy: string | null;
            feeStroops: string;
            finishedAt: string | null;
            id: string;
            ledger: number | null;
            legIndex: number;
            reason: string | null;
            runIndex: number;
            /** Format: date-time */
            scheduledFor: string;
            state: string;
            transaction: string | null;
        };
        /**
         * RunLegsBody
         * @description The legs of one run; one of a run that is one transaction.
         */
        RunLegsBody: {
            legs: components["schemas"]["RunDetailBody"][];
        };
        /**
         * RunListBody
         * @description A page of runs, newest first.
         */
        RunListBody: {
            items: components["schemas"]["RunBody"][];
            pagination: components["schemas"]["PaginationBody"];
        };
        /**
         * RunPaymentBody
         * @description A payment for runs: quoted, pending, confirmed or failed.
         */
        RunPaymentBody: {
            amount: string;
            asset: string;
            /** Format: date-time */
            createdAt: string;
            id: string;
            isTopUp: boolean;
            payTo: string | null;
            paymentIdentifier: string;
            runs: number;
            state: string;
            transaction: string | null;
        };
        /**
         * RunPaymentResultBody
         * @description The plan after a payment, and the payment.
         */
        RunPaymentResultBody: {
            payment: components["schemas"]["RunPaymentBody"];
            proposal: components["schemas"]["ProposalBody"];
        };
        /**
         * SaleBody
         * @description The part of a payment that its wrapper's owner alone sees.
         */
        SaleBody: {
            attempts: number;
            endedAt: string | null;
            method: string;
            paidAt: string | null;
            path: string;
            slug: string;
            upstreamStatus: number | null;
            wrapper: string;
        };
        /**
         * SearchBody
         * @description A page of results, the best first.
         */
        SearchBody: {
            explain?: Record<string, never>;
            pagination: components["schemas"]["CursorPaginationBody"];
            partialResults: boolean;
            resources: components["schemas"]["ListingBody"][];
            /** @constant */
            truncated?: true;
            unappliedFilters?: string[];
            /** @enum {unknown} */
            x402Version: 2;
        };
        /**
         * SecretBody
         * @description A secret without its value; `updatedAt` is when it was given the value last.
         */
        SecretBody: {
            /** Format: date-time */
            createdAt: string;
            id: string;
            name: string;
            purpose: components["schemas"]["Purpose"];
            /** Format: date-time */
            updatedAt: string;
        };
        /**
         * SecretListBody
         * @description Some of the caller's secrets, newest first.
         */
        SecretListBody: {
            items: components["schemas"]["SecretBody"][];
            pagination: components["schemas"]["PaginationBody"];
        };
        /**
         * SessionBody
         * @description A new session: its token, or what goes with the cookie that holds it.
         */
        SessionBody: {
            csrf?: components["schemas"]["CsrfBody"];
            /** Format: date-time */
            expiresAt: string;
            token?: string;
            user: components["schemas"]["UserBody"];
        };
        /**
         * SessionContractBody
         * @description A contract of ours that a session relies on.
         */
        SessionContractBody: {
            id: string;
            isAudited: boolean;
            role: string;
            wasmHash: string | null;
        };
        /**
         * SessionLimitsBody
         * @description What bounds a session; `validUntilLedger` is set where the protocol wants a ledger.
         */
        SessionLimitsBody: {
            authorizationLimit: number;
            caps: components["schemas"]["CapBody"][];
            minIntervalSeconds: number;
            /** Format: date-time */
            notAfter: string;
            /** Format: date-time */
            notBefore: string;
            runLimit: number;
            validUntilLedger: number | null;
        };
        /**
         * SettleResponse
         * @description The body of an outcome. An unknown member is left out: stock clients refuse a null.
         */
        SettleResponse: {
            errorMessage?: string;
            errorReason?: string;
            extra?: components["schemas"]["PaymentExtra"];
            /** @description As it was sent; empty when it was not. */
            network: string;
            /** @description The G… or C… address that pays. */
            payer?: string;
            success: boolean;
            /** @description The transaction's hash; empty when nothing was sent. */
            transaction: string;
        };
        /**
         * SettlementBody
         * @description The status of a settlement; `landedAs` is the hash of another transaction that landed.
         */
        SettlementBody: {
            amount: string;
            asset: string;
            landedAs?: string;
            network: components["schemas"]["Network"];
            payTo: string;
            /** @description The G… or C… address that pays. */
            payer: string;
            reason?: string;
            /** @enum {unknown} */
            status: "confirmed" | "failed" | "pending" | "unproven";
            transaction: string;
        };
        /**
         * SettlementsBody
         * @description Settlements by status; `refused` are those refused before anything was sent.
         */
        SettlementsBody: {
            accepted: number;
            failed: number;
            pending: number;
            refused: number;
        };
        /**
         * SignableEntryBody
         * @description An authorization entry to sign: unsigned, and the preimage whose SHA-256 is signed.
         */
        SignableEntryBody: {
            entryXdr: string;
            expirationLedger: number;
            legIndex: number | null;
            nonce: string;
            preimageXdr: string;
            runIndex: number | null;
        };
        /**
         * SignerBody
         * @description A signer of a classic account, the master key included.
         */
        SignerBody: {
            key: string;
            /** @enum {unknown} */
            type: "ed25519_public_key" | "ed25519_signed_payload_signer" | "preauth_tx" | "sha256_hash";
            weight: number;
        };
        /**
         * SkillBody
         * @description A skill in its newest version; `specUrl` names that version and never changes.
         */
        SkillBody: {
            actions: string[];
            authMode: components["schemas"]["AuthMode"][];
            category: string;
            name: string;
            networks: components["schemas"]["Network"][];
            protocol: string;
            safety: components["schemas"]["SkillSafetyBody"];
            /** @description SHA-256 of the spec. */
            sha256: string;
            slug: string;
            specUrl: string;
            status: components["schemas"]["SkillStatus"];
            summary: string;
            version: string;
        };
        /**
         * SkillListBody
         * @description The skills that fit, those first whose names have the words of the query.
         */
        SkillListBody: {
            items: components["schemas"]["SkillBody"][];
            total: number;
        };
        /**
         * SkillSafetyBody
         * @description What an agent has to know before it chooses a skill.
         */
        SkillSafetyBody: {
            movesFunds: boolean;
            requiresWalletSignature: boolean;
        };
        /**
         * SkillStatus
         * @description How far a skill can be relied on.
         * @enum {unknown}
         */
        SkillStatus: "available" | "deprecated" | "preview" | "reference";
        /**
         * SkillVersionBody
         * @description A version of a skill.
         */
        SkillVersionBody: {
            /** @description SHA-256 of the spec. */
            sha256: string;
            specUrl: string;
            status: components["schemas"]["SkillStatus"];
            version: string;
        };
        /**
         * SkillVersionListBody
         * @description Every version of a skill, newest first; none is ever taken away.
         */
        SkillVersionListBody: {
            items: components["schemas"]["SkillVersionBody"][];
            total: number;
        };
        /**
         * SlugBody
         * @description The slug of a name; `modified`: the name's own slug is taken.
         */
        SlugBody: {
            available: boolean;
            modified: boolean;
            slug: string;
        };
        /**
         * SponsoredFees
         * @description The service pays the network fees.
         */
        SponsoredFees: {
            /** @constant */
            areFeesSponsored: true;
        };
        /**
         * StandardChallengeBody
         * @description A challenge as SEP-10 and SEP-45 spell it.
         */
        StandardChallengeBody: {
            authorization_entries?: string;
            network_passphrase: string;
            transaction?: string;
        };
        /**
         * StandardTokenBody
         * @description A session's token as SEP-10 and SEP-45 spell it.
         */
        StandardTokenBody: {
            token: string;
        };
        /**
         * StandardVerifyRequest
         * @description A signed challenge as SEP-10 and SEP-45 spell it; exactly one of the two.
         */
        StandardVerifyRequest: {
            /** @default null */
            authorization_entries?: string | null;
            /** @default null */
            transaction?: string | null;
        };
        /**
         * SubmittedPayload
         * @description The members of a payment payload that are validated.
         */
        SubmittedPayload: {
            /** @default null */
            accepted?: unknown;
            extensions?: unknown;
            resource?: unknown;
        };
        /**
         * SummaryBody
         * @description Counts and latencies of requests; a latency is null without requests.
         *
         *         The percentiles are those of delivered requests, within a fifth.
         */
        SummaryBody: {
            averageLatencyMs: number | null;
            errors: {
                [key: string]: number;
            };
            outcomes: {
                [key: string]: number;
            };
            p50LatencyMs: number | null;
            p95LatencyMs: number | null;
            p99LatencyMs: number | null;
            requestBytes: number;
            requests: number;
            responseBytes: number;
            successful: number;
        };
        /**
         * SupportedBody
         * @description Every configured network, also while its node is unavailable.
         */
        SupportedBody: {
            extensions: string[];
            kinds: components["schemas"]["KindBody"][];
            signers: {
                [key: string]: string[];
            };
        };
        /**
         * TermBody
         * @description One way to pay for a request; `amount` is in base units of the token.
         */
        TermBody: {
            /** @description Base units. */
            amount: string;
            asset: string;
            network: components["schemas"]["Network"];
            payTo: string;
        };
        /**
         * TermsExtraBody
         * @description The service pays the network fees.
         */
        TermsExtraBody: {
            /** @constant */
            areFeesSponsored: true;
        };
        /**
         * ThresholdsBody
         * @description The weights that operations of each level need; a payment is of the medium level.
         */
        ThresholdsBody: {
            high: number;
            low: number;
            medium: number;
        };
        /**
         * TokenAmountText
         * @description An amount of a token.
         */
        TokenAmountText: {
            amount: string;
            token: string;
        };
        /**
         * TokenBody
         * @description The contract behind an asset's address.
         */
        TokenBody: {
            code?: string;
            issuer?: string;
            kind: components["schemas"]["TokenKind"];
            owner?: string;
            wasmHash?: string;
        };
        /**
         * TokenKind
         * @description The kind of contract at a token's address.
         * @enum {unknown}
         */
        TokenKind: "absent" | "asset_contract" | "external" | "wasm";
        /**
         * TopUpRequest
         * @description More runs of a plan that is paid.
         */
        TopUpRequest: {
            /** @description How many runs to pay for. */
            runs: number;
        };
        /**
         * TypedArgument
         * @description A value and its type; `typed_arguments.py` reads both.
         */
        TypedArgument: {
            type: string;
            value: unknown;
        };
        /**
         * UpcomingRunBody
         * @description A run that is due; `local` is the same moment with the offset of its time zone.
         */
        UpcomingRunBody: {
            /** Format: date-time */
            at: string;
            /** Format: date-time */
            local: string;
            notes: string[];
            timezone: string;
        };
        /**
         * UpstreamAuth
         * @description How the upstream takes the wrapper's secret.
         * @enum {unknown}
         */
        UpstreamAuth: "bearer" | "header" | "none";
        /**
         * UsageDayBody
         * @description One UTC day on one network; `feesSponsored` in stroops.
         */
        UsageDayBody: {
            date: string;
            feesSponsored: string;
            network: string;
            settlements: components["schemas"]["SettlementsBody"];
            verifications: components["schemas"]["VerificationsBody"];
        };
        /**
         * UsageResponse
         * @description The days with any usage, the newest first.
         */
        UsageResponse: {
            from: string;
            items: components["schemas"]["UsageDayBody"][];
            to: string;
        };
        /**
         * UserBody
         * @description Whose records are meant; the operator has no wallet.
         */
        UserBody: {
            address?: string;
            id: string;
            network?: components["schemas"]["Network"];
        };
        /**
         * ValidationRequest
         * @description `paymentPayload`, or `resource` with `extensions`, or `url`.
         */
        ValidationRequest: {
            extensions?: unknown;
            /** @default null */
            method?: string | null;
            /** @default null */
            payTo?: unknown;
            /** @default null */
            paymentPayload?: components["schemas"]["SubmittedPayload"] | null;
            /** @default null */
            paymentRequirements?: unknown;
            resource?: unknown;
            /** @default null */
            url?: string | null;
        };
        /**
         * Venue
         * @description An exchange whose router the operator has configured for the network.
         * @enum {unknown}
         */
        Venue: "aquarius" | "soroswap";
        /**
         * VerificationsBody
         * @description Responses of `/verify`.
         */
        VerificationsBody: {
            accepted: number;
            refused: number;
        };
        /**
         * VerifyRequest
         * @description A signed challenge, one of the two documents. `address`, if given, must be its account.
         */
        VerifyRequest: {
            /** @default null */
            address?: string | null;
            /** @default null */
            authorizationEntriesXdr?: string | null;
            /** @default token */
            delivery?: components["schemas"]["Delivery"];
            network: string;
            /** @default null */
            transactionXdr?: string | null;
        };
        /**
         * VerifyResponse
         * @description The body of a verdict. An unknown member is left out: stock clients refuse a null.
         */
        VerifyResponse: {
            extra?: components["schemas"]["PaymentExtra"];
            invalidMessage?: string;
            invalidReason?: components["schemas"]["Reason"];
            isValid: boolean;
            /** @description The G… or C… address that pays. */
            payer?: string;
        };
        /**
         * WrapperBody
         * @description A wrapper as its owner sees it; `endpoint` is the URL that buyers pay at.
         */
        WrapperBody: {
            accepts: components["schemas"]["TermBody"][];
            authHeader: string | null;
            authType: components["schemas"]["UpstreamAuth"];
            /** Format: date-time */
            createdAt: string;
            description: string;
            enabled: boolean;
            endpoint: string;
            id: string;
            isRepeatable: boolean;
            keepAnswerBytes: number;
            maxConcurrentRequests: number;
            maxRequestBytes: number;
            maxResponseBytes: number;
            method: ("DELETE" | "GET" | "PATCH" | "POST" | "PUT") | null;
            mimeType: string;
            monthlyRequestQuota: number;
            name: string;
            otherPaths: components["schemas"]["OtherPaths"];
            requestsPerMinute: number;
            routes: components["schemas"]["RouteBody"][];
            /** @enum {unknown} */
            scheme: "exact";
            secretId: string | null;
            slug: string;
            tags: string[];
            timeoutSeconds: number;
            /** Format: date-time */
            updatedAt: string;
            upstreamUrl: string;
        };
        /**
         * WrapperFields
         * @description The members of a wrapper that its owner writes; those left out keep their value.
         *
         *         `network`, `asset`, `amount` and `payTo` are short for `accepts` with one entry.
         */
        WrapperFields: {
            accepts?: components["schemas"]["TermBody"][];
            /** @description Base units. */
            amount?: string;
            asset?: string;
            authHeader?: string | null;
            authType?: components["schemas"]["UpstreamAuth"];
            description?: string;
            isRepeatable?: boolean;
            keepAnswerBytes?: number;
            maxConcurrentRequests?: number;
            maxRequestBytes?: number;
            maxResponseBytes?: number;
            method?: ("DELETE" | "GET" | "PATCH" | "POST" | "PUT") | null;
            mimeType?: string;
            monthlyRequestQuota?: number;
            name?: string;
            network?: components["schemas"]["Network"];
            otherPaths?: components["schemas"]["OtherPaths"];
            payTo?: string;
            requestsPerMinute?: number;
            routes?: components["schemas"]["RouteBody"][];
            secretId?: string | null;
            tags?: string[];
            timeoutSeconds?: number;
            upstreamUrl?: string;
        };
        /**
         * WrapperListBody
         * @description Some of the caller's wrappers, newest first.
         */
        WrapperListBody: {
            items: components["schemas"]["WrapperBody"][];
            pagination: components["schemas"]["PaginationBody"];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    "get--well-known-stellar-toml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example WEB_AUTH_ENDPOINT = "https://pay.example/v1/auth/testnet" */
                    "text/plain": string;
                };
            };
        };
    };
    "get--well-known-x402": {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the document that you have: 304 when it is the newest. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    /** @description How long the document may be kept. */
                    "Cache-Control"?: string;
                    /** @description The version of the document. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "resources": [],
                     *       "version": 1,
                     *       "x402Version": 2
                     *     }
                     */
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    "get-discovery-merchant": {
        parameters: {
            query: {
                /** @description http or mcp. */
                type?: string;
                /** @description stellar:testnet or stellar:pubnet. */
                network?: string;
                /** @description The exact recipient. */
                payTo: string;
                /** @description exact. */
                scheme?: string;
                /** @description A key that the extensions must have. */
                extensions?: string;
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description How many to pass over. */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of listings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "pagination": {
                     *         "limit": 20,
                     *         "offset": 0,
                     *         "total": 1
                     *       },
                     *       "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *       "resources": [
                     *         {
                     *           "accepts": [
                     *             {
                     *               "amount": "10000",
                     *               "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *               "extra": {
                     *                 "areFeesSponsored": true
                     *               },
                     *               "maxTimeoutSeconds": 60,
                     *               "network": "stellar:testnet",
                     *               "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *               "scheme": "exact"
                     *             }
                     *           ],
                     *           "description": "The weather of a city, hour by hour.",
                     *           "extensions": {
                     *             "bazaar": {
                     *               "info": {
                     *                 "input": {
                     *                   "method": "GET",
                     *                   "type": "http"
                     *                 }
                     *               }
                     *             }
                     *           },
                     *           "lastUpdated": "2026-11-21T09:30:00.000Z",
                     *           "method": "GET",
                     *           "mimeType": "application/json",
                     *           "network": "stellar:testnet",
                     *           "ownership": "verified",
                     *           "quality": {
                     *             "lastSettledAt": "2026-11-21T09:30:00.000Z",
                     *             "listedAt": "2026-11-01T12:30:05.678Z",
                     *             "payers": 3,
                     *             "settlements": 41
                     *           },
                     *           "resource": "https://api.example.com/weather",
                     *           "type": "http",
                     *           "untrusted": [
                     *             "resource",
                     *             "description",
                     *             "mimeType",
                     *             "extensions"
                     *           ],
                     *           "x402Version": 2
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["MerchantBody"];
                };
            };
        };
    };
    "get-discovery-resources": {
        parameters: {
            query?: {
                /** @description http or mcp. */
                type?: string;
                /** @description stellar:testnet or stellar:pubnet. */
                network?: string;
                /** @description The exact recipient. */
                payTo?: string;
                /** @description exact. */
                scheme?: string;
                /** @description A key that the extensions must have. */
                extensions?: string;
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description How many to pass over. */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of listings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "accepts": [
                     *             {
                     *               "amount": "10000",
                     *               "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *               "extra": {
                     *                 "areFeesSponsored": true
                     *               },
                     *               "maxTimeoutSeconds": 60,
                     *               "network": "stellar:testnet",
                     *               "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *               "scheme": "exact"
                     *             }
                     *           ],
                     *           "description": "The weather of a city, hour by hour.",
                     *           "extensions": {
                     *             "bazaar": {
                     *               "info": {
                     *                 "input": {
                     *                   "method": "GET",
                     *                   "type": "http"
                     *                 }
                     *               }
                     *             }
                     *           },
                     *           "lastUpdated": "2026-11-21T09:30:00.000Z",
                     *           "method": "GET",
                     *           "mimeType": "application/json",
                     *           "network": "stellar:testnet",
                     *           "ownership": "verified",
                     *           "quality": {
                     *             "lastSettledAt": "2026-11-21T09:30:00.000Z",
                     *             "listedAt": "2026-11-01T12:30:05.678Z",
                     *             "payers": 3,
                     *             "settlements": 41
                     *           },
                     *           "resource": "https://api.example.com/weather",
                     *           "type": "http",
                     *           "untrusted": [
                     *             "resource",
                     *             "description",
                     *             "mimeType",
                     *             "extensions"
                     *           ],
                     *           "x402Version": 2
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "limit": 20,
                     *         "offset": 0,
                     *         "total": 1
                     *       },
                     *       "x402Version": 2
                     *     }
                     */
                    "application/json": components["schemas"]["BrowseBody"];
                };
            };
        };
    };
    "get-discovery-search": {
        parameters: {
            query: {
                /** @description Words, quotes, or, minus. */
                query: string;
                /** @description http or mcp. */
                type?: string;
                /** @description stellar:testnet or stellar:pubnet. */
                network?: string;
                /** @description The exact recipient. */
                payTo?: string;
                /** @description exact. */
                scheme?: string;
                /** @description A key that the extensions must have. */
                extensions?: string;
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description pagination.cursor of the page before. */
                cursor?: string;
                /** @description true: why each hit stands there. */
                explain?: "true" | "1" | "false" | "0";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of listings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "pagination": {
                     *         "cursor": null,
                     *         "limit": 20
                     *       },
                     *       "partialResults": false,
                     *       "resources": [
                     *         {
                     *           "accepts": [
                     *             {
                     *               "amount": "10000",
                     *               "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *               "extra": {
                     *                 "areFeesSponsored": true
                     *               },
                     *               "maxTimeoutSeconds": 60,
                     *               "network": "stellar:testnet",
                     *               "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *               "scheme": "exact"
                     *             }
                     *           ],
                     *           "description": "The weather of a city, hour by hour.",
                     *           "extensions": {
                     *             "bazaar": {
                     *               "info": {
                     *                 "input": {
                     *                   "method": "GET",
                     *                   "type": "http"
                     *                 }
                     *               }
                     *             }
                     *           },
                     *           "lastUpdated": "2026-11-21T09:30:00.000Z",
                     *           "method": "GET",
                     *           "mimeType": "application/json",
                     *           "network": "stellar:testnet",
                     *           "ownership": "verified",
                     *           "quality": {
                     *             "lastSettledAt": "2026-11-21T09:30:00.000Z",
                     *             "listedAt": "2026-11-01T12:30:05.678Z",
                     *             "payers": 3,
                     *             "settlements": 41
                     *           },
                     *           "resource": "https://api.example.com/weather",
                     *           "type": "http",
                     *           "untrusted": [
                     *             "resource",
                     *             "description",
                     *             "mimeType",
                     *             "extensions"
                     *           ],
                     *           "x402Version": 2
                     *         }
                     *       ],
                     *       "x402Version": 2
                     *     }
                     */
                    "application/json": components["schemas"]["SearchBody"];
                };
            };
        };
    };
    "get-health-live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok"
                     *     }
                     */
                    "application/json": components["schemas"]["LiveBody"];
                };
            };
        };
    };
    "get-health-ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every part can. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "parts": {
                     *         "database": {
                     *           "status": "ok"
                     *         },
                     *         "stellar:testnet": {
                     *           "status": "ok"
                     *         }
                     *       },
                     *       "status": "ok"
                     *     }
                     */
                    "application/json": components["schemas"]["ReadyBody"];
                };
            };
        };
    };
    "get-llms-txt": {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the document that you have: 304 when it is the newest. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    /** @description How long the document may be kept. */
                    "Cache-Control"?: string;
                    /** @description The version of the document. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example # Farebox
                     *
                     *     > An x402 facilitator on Stellar.
                     */
                    "text/plain; charset=utf-8": string;
                };
            };
        };
    };
    "post-mcp": {
        parameters: {
            query?: never;
            header?: {
                /** @description 2025-06-18, after initialize. */
                "MCP-Protocol-Version"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": 1,
                 *       "jsonrpc": "2.0",
                 *       "method": "ping"
                 *     }
                 */
                "application/json": components["schemas"]["RpcRequestBody"];
            };
        };
        responses: {
            /** @description The response to a request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": 1,
                     *       "jsonrpc": "2.0",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["RpcResponseBody"];
                };
            };
            /** @description A notification was taken. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "get-openapi-json": {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the document that you have: 304 when it is the newest. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    /** @description How long the document may be kept. */
                    "Cache-Control"?: string;
                    /** @description The version of the document. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "openapi": "3.1.0",
                     *       "paths": {}
                     *     }
                     */
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    "post-settle": {
        parameters: {
            query?: never;
            header?: {
                /** @description A key of the seller: the final response is stored under it and replayed. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "paymentPayload": {
                 *         "accepted": {
                 *           "amount": "10000",
                 *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                 *           "extra": {
                 *             "areFeesSponsored": true
                 *           },
                 *           "maxTimeoutSeconds": 60,
                 *           "network": "stellar:testnet",
                 *           "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                 *           "scheme": "exact"
                 *         },
                 *         "payload": {
                 *           "transaction": "AAAAAgAAAABG…"
                 *         },
                 *         "x402Version": 2
                 *       },
                 *       "paymentRequirements": {
                 *         "amount": "10000",
                 *         "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                 *         "extra": {
                 *           "areFeesSponsored": true
                 *         },
                 *         "maxTimeoutSeconds": 60,
                 *         "network": "stellar:testnet",
                 *         "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                 *         "scheme": "exact"
                 *       },
                 *       "x402Version": 2
                 *     }
                 */
                "application/json": components["schemas"]["PaymentRequestBody"];
            };
        };
        responses: {
            /** @description The outcome. */
            200: {
                headers: {
                    /** @description The listing report: base64 of JSON. */
                    "EXTENSION-RESPONSES"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "network": "stellar:testnet",
                     *       "payer": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *       "success": true,
                     *       "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *     }
                     */
                    "application/json": components["schemas"]["SettleResponse"];
                };
            };
        };
    };
    "get-supported": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The supported kinds of payments. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "extensions": [
                     *         "bazaar",
                     *         "payment-identifier"
                     *       ],
                     *       "kinds": [
                     *         {
                     *           "extra": {
                     *             "areFeesSponsored": true
                     *           },
                     *           "network": "stellar:testnet",
                     *           "scheme": "exact",
                     *           "x402Version": 2
                     *         }
                     *       ],
                     *       "signers": {
                     *         "stellar:*": [
                     *           "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3"
                     *         ]
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["SupportedBody"];
                };
            };
        };
    };
    "get-v1-accounts-network-address": {
        parameters: {
            query?: {
                /** @description CODE:ISSUER or a C… token contract; may be repeated, 10 times at most. */
                asset?: string;
            };
            header?: never;
            path: {
                /** @description The CAIP-2 id of a network that is served. */
                network: "stellar:testnet" | "stellar:pubnet";
                /** @description A G… account or a C… contract. */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "address": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *       "balances": [
                     *         {
                     *           "asset": "native",
                     *           "balance": "99999900",
                     *           "buyingLiabilities": "0",
                     *           "contract": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
                     *           "sellingLiabilities": "0",
                     *           "state": "held"
                     *         },
                     *         {
                     *           "asset": "USDC:GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5",
                     *           "balance": "12500000",
                     *           "buyingLiabilities": "0",
                     *           "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "isAuthorized": true,
                     *           "isAuthorizedToMaintainLiabilities": true,
                     *           "isClawbackEnabled": false,
                     *           "limit": "9223372036854775807",
                     *           "sellingLiabilities": "0",
                     *           "state": "held"
                     *         }
                     *       ],
                     *       "exists": true,
                     *       "kind": "account",
                     *       "latestLedger": 1204500,
                     *       "minimumReserve": "15000000",
                     *       "network": "stellar:testnet",
                     *       "sequence": "5173290803200001",
                     *       "signers": [
                     *         {
                     *           "key": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *           "type": "ed25519_public_key",
                     *           "weight": 1
                     *         }
                     *       ],
                     *       "thresholds": {
                     *         "high": 0,
                     *         "low": 0,
                     *         "medium": 0
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["AccountBody"];
                };
            };
        };
    };
    "get-v1-api-keys": {
        parameters: {
            query?: {
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description nextCursor of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "createdAt": "2026-11-21T09:30:00Z",
                     *           "expiresAt": null,
                     *           "id": "key_2nAbCdEfGhIjKlMnOpQrSt",
                     *           "lastUsedAt": null,
                     *           "name": "checkout server",
                     *           "prefix": "fbx_live_2nAb",
                     *           "replacedBy": null,
                     *           "revokedAt": null,
                     *           "scopes": [
                     *             "facilitator"
                     *           ],
                     *           "updatedAt": "2026-11-21T09:30:00Z"
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "limit": 20,
                     *         "nextCursor": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["KeyListBody"];
                };
            };
        };
    };
    "post-v1-api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "checkout server",
                 *       "scopes": [
                 *         "facilitator"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["CreateKeyRequest"];
            };
        };
        responses: {
            /** @description The key. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "createdAt": "2026-11-21T09:30:00Z",
                     *       "expiresAt": null,
                     *       "id": "key_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "key": "fbx_live_2nAbCdEfGhIjKlMnOpQrStUvWxYz0123",
                     *       "lastUsedAt": null,
                     *       "name": "checkout server",
                     *       "prefix": "fbx_live_2nAb",
                     *       "replacedBy": null,
                     *       "revokedAt": null,
                     *       "scopes": [
                     *         "facilitator"
                     *       ],
                     *       "updatedAt": "2026-11-21T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["IssuedKeyBody"];
                };
            };
        };
    };
    "delete-v1-api-keys-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "createdAt": "2026-11-21T09:30:00Z",
                     *       "expiresAt": null,
                     *       "id": "key_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "lastUsedAt": null,
                     *       "name": "checkout server",
                     *       "prefix": "fbx_live_2nAb",
                     *       "replacedBy": null,
                     *       "revokedAt": "2026-11-22T12:00:00Z",
                     *       "scopes": [
                     *         "facilitator"
                     *       ],
                     *       "updatedAt": "2026-11-21T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["KeyBody"];
                };
            };
        };
    };
    "post-v1-api-keys-id-revoke": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "createdAt": "2026-11-21T09:30:00Z",
                     *       "expiresAt": null,
                     *       "id": "key_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "lastUsedAt": null,
                     *       "name": "checkout server",
                     *       "prefix": "fbx_live_2nAb",
                     *       "replacedBy": null,
                     *       "revokedAt": "2026-11-22T12:00:00Z",
                     *       "scopes": [
                     *         "facilitator"
                     *       ],
                     *       "updatedAt": "2026-11-21T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["KeyBody"];
                };
            };
        };
    };
    "post-v1-api-keys-id-rotate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlapSeconds": 3600
                 *     }
                 */
                "application/json": components["schemas"]["RotateKeyRequest"];
            };
        };
        responses: {
            /** @description The new key. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "createdAt": "2026-11-21T09:30:00Z",
                     *       "expiresAt": null,
                     *       "id": "key_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "key": "fbx_live_2nAbCdEfGhIjKlMnOpQrStUvWxYz0123",
                     *       "lastUsedAt": null,
                     *       "name": "checkout server",
                     *       "prefix": "fbx_live_2nAb",
                     *       "replacedBy": null,
                     *       "revokedAt": null,
                     *       "scopes": [
                     *         "facilitator"
                     *       ],
                     *       "updatedAt": "2026-11-21T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["IssuedKeyBody"];
                };
            };
        };
    };
    "get-v1-audit": {
        parameters: {
            query?: {
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description nextCursor of the page before. */
                cursor?: string;
                /** @description Only these. */
                action?: "session.created" | "session.revoked" | "key.created" | "key.rotated" | "key.revoked" | "secret.created" | "secret.rotated" | "secret.deleted" | "vault.rekeyed" | "wrapper.created" | "wrapper.updated" | "wrapper.enabled" | "wrapper.disabled" | "wrapper.deleted" | "payment.refunded" | "sponsor.stopped" | "sponsor.started" | "settlement.ended" | "channels.created" | "channels.drained" | "channels.retired" | "automation.proposed" | "listing.taken_over" | "automation.activated" | "automation.paused" | "automation.resumed" | "automation.cancelled" | "automation.run_repeated" | "automation.closed" | "automation.search_ended";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the audit log. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "action": "secret.created",
                     *           "actor": "session",
                     *           "actorId": "ses_2nAbCdEfGhIjKlMnOpQrSt",
                     *           "doneAt": "2026-11-21T09:30:00Z",
                     *           "id": "evt_2nAbCdEfGhIjKlMnOpQrSt",
                     *           "requestId": "5a1f0c2e9b7d4466",
                     *           "subject": "sec_2nAbCdEfGhIjKlMnOpQrSt"
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "limit": 20,
                     *         "nextCursor": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["AuditBody"];
                };
            };
        };
    };
    "post-v1-auth-challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "address": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                 *       "network": "stellar:testnet"
                 *     }
                 */
                "application/json": components["schemas"]["ChallengeRequest"];
            };
        };
        responses: {
            /** @description The challenge; it works once, for five minutes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "address": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *       "expiresAt": "2026-11-21T09:35:00Z",
                     *       "homeDomain": "pay.example",
                     *       "network": "stellar:testnet",
                     *       "networkPassphrase": "Test SDF Network ; September 2015",
                     *       "signingKey": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *       "transactionXdr": "AAAAAgAAAABG…",
                     *       "webAuthDomain": "pay.example"
                     *     }
                     */
                    "application/json": components["schemas"]["ChallengeBody"];
                };
            };
        };
    };
    "post-v1-auth-logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "everywhere": true
                 *     }
                 */
                "application/json": components["schemas"]["LogoutRequest"];
            };
        };
        responses: {
            /** @description How many ended. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "ended": 2
                     *     }
                     */
                    "application/json": components["schemas"]["LogoutBody"];
                };
            };
        };
    };
    "get-v1-auth-me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "expiresAt": "2026-11-22T09:31:00Z",
                     *       "kind": "session",
                     *       "scopes": [
                     *         "automation",
                     *         "facilitator",
                     *         "read",
                     *         "wrappers"
                     *       ],
                     *       "user": {
                     *         "address": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *         "id": "user_9f86d081884c7d659a2feaa0c55ad015",
                     *         "network": "stellar:testnet"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["MeBody"];
                };
            };
        };
    };
    "get-v1-auth-pubnet": {
        parameters: {
            query: {
                /** @description The account. */
                account: string;
                /** @description The service's own. */
                home_domain?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The challenge. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "network_passphrase": "Public Global Stellar Network ; September 2015",
                     *       "transaction": "AAAAAgAAAABG…"
                     *     }
                     */
                    "application/json": components["schemas"]["StandardChallengeBody"];
                };
            };
        };
    };
    "post-v1-auth-pubnet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "transaction": "AAAAAgAAAABG…"
                 *     }
                 */
                "application/json": components["schemas"]["StandardVerifyRequest"];
                /**
                 * @example {
                 *       "transaction": "AAAAAgAAAABG…"
                 *     }
                 */
                "application/x-www-form-urlencoded": components["schemas"]["StandardVerifyRequest"];
            };
        };
        responses: {
            /** @description The session's token. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "token": "fbx_sess_2nAbCdEfGhIjKlMnOpQrStUvWxYz0123"
                     *     }
                     */
                    "application/json": components["schemas"]["StandardTokenBody"];
                };
            };
        };
    };
    "get-v1-auth-testnet": {
        parameters: {
            query: {
                /** @description The account. */
                account: string;
                /** @description The service's own. */
                home_domain?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The challenge. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "network_passphrase": "Test SDF Network ; September 2015",
                     *       "transaction": "AAAAAgAAAABG…"
                     *     }
                     */
                    "application/json": components["schemas"]["StandardChallengeBody"];
                };
            };
        };
    };
    "post-v1-auth-testnet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "transaction": "AAAAAgAAAABG…"
                 *     }
                 */
                "application/json": components["schemas"]["StandardVerifyRequest"];
                /**
                 * @example {
                 *       "transaction": "AAAAAgAAAABG…"
                 *     }
                 */
                "application/x-www-form-urlencoded": components["schemas"]["StandardVerifyRequest"];
            };
        };
        responses: {
            /** @description The session's token. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "token": "fbx_sess_2nAbCdEfGhIjKlMnOpQrStUvWxYz0123"
                     *     }
                     */
                    "application/json": components["schemas"]["StandardTokenBody"];
                };
            };
        };
    };
    "post-v1-auth-verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "network": "stellar:testnet",
                 *       "transactionXdr": "AAAAAgAAAABG…"
                 *     }
                 */
                "application/json": components["schemas"]["VerifyRequest"];
            };
        };
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "expiresAt": "2026-11-22T09:31:00Z",
                     *       "token": "fbx_sess_2nAbCdEfGhIjKlMnOpQrStUvWxYz0123",
                     *       "user": {
                     *         "address": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *         "id": "user_9f86d081884c7d659a2feaa0c55ad015",
                     *         "network": "stellar:testnet"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["SessionBody"];
                };
            };
        };
    };
    "get-v1-automations": {
        parameters: {
            query?: {
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description nextCursor of the page before. */
                cursor?: string;
                /** @description Only plans in this state. */
                status?: "proposed" | "payment_pending" | "paid" | "active" | "paused" | "completed" | "cancelled" | "failed" | "expired" | "executing";
                /** @description Only plans of this kind. */
                kind?: "contract_call" | "dca" | "rebalance" | "disbursement";
                /** @description Only plans on this network: your wallet's own. */
                network?: "stellar:testnet" | "stellar:pubnet";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of plans. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *           "accountKind": "g",
                     *           "authorityMode": "open",
                     *           "authorizationLimit": 12,
                     *           "authorizationsUsed": 0,
                     *           "createdAt": "2026-11-25T12:00:00Z",
                     *           "delegate": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *           "expiresAt": "2027-05-14T12:00:00Z",
                     *           "failuresInRow": 0,
                     *           "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
                     *           "isCancelling": false,
                     *           "kind": "contract_call",
                     *           "maxFeeStroops": "5000000",
                     *           "maxLatenessSeconds": 3600,
                     *           "missedRuns": "skip",
                     *           "network": "stellar:testnet",
                     *           "nextRuns": [
                     *             {
                     *               "at": "2026-11-30T07:00:00Z",
                     *               "local": "2026-11-30T08:00:00+01:00",
                     *               "notes": [],
                     *               "timezone": "Europe/Paris"
                     *             }
                     *           ],
                     *           "overdueAt": "2026-11-26T12:00:00Z",
                     *           "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *           "policyName": "pol_f4oc6hbpdqxrylzmd4oc",
                     *           "runLimit": 12,
                     *           "runsConsumed": 0,
                     *           "runsCredited": 0,
                     *           "runsSucceeded": 0,
                     *           "schedule": {
                     *             "expr": "0 8 * * 1",
                     *             "timezone": "Europe/Paris",
                     *             "type": "cron"
                     *           },
                     *           "spec": {
                     *             "args": [],
                     *             "autolayer": true,
                     *             "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *             "effects": {
                     *               "maxDebit": [],
                     *               "minCredit": []
                     *             },
                     *             "expectedWasmHash": null,
                     *             "function": null
                     *           },
                     *           "startsAt": "2026-11-25T12:00:00Z",
                     *           "status": "proposed",
                     *           "statusReason": null,
                     *           "targetWasmHash": "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
                     *           "title": "Weekly upkeep",
                     *           "updatedAt": "2026-11-25T12:00:00Z"
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "limit": 20,
                     *         "nextCursor": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ProposalListBody"];
                };
            };
        };
    };
    "post-v1-automations": {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key with the same request returns the plan that it made. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "contract_call",
                 *       "network": "stellar:testnet",
                 *       "runLimit": 12,
                 *       "schedule": {
                 *         "expr": "0 8 * * 1",
                 *         "timezone": "Europe/Paris",
                 *         "type": "cron"
                 *       },
                 *       "spec": {
                 *         "autolayer": true,
                 *         "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                 *         "effects": {}
                 *       },
                 *       "title": "Weekly upkeep"
                 *     }
                 */
                "application/json": components["schemas"]["ContractCallRequest"] | components["schemas"]["DcaRequest"] | components["schemas"]["RebalanceRequest"] | components["schemas"]["DisbursementRequest"];
            };
        };
        responses: {
            /** @description The plan. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "preflight": {
                     *         "checks": [
                     *           {
                     *             "code": "dry_run",
                     *             "detail": "The first transaction succeeds as of now.",
                     *             "ok": true
                     *           }
                     *         ],
                     *         "estimatedFeeStroops": "41250",
                     *         "firstRun": {
                     *           "at": "2026-11-30T07:00:00Z",
                     *           "effects": []
                     *         },
                     *         "ok": true
                     *       },
                     *       "proposal": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountKind": "g",
                     *         "authorityMode": "open",
                     *         "authorizationLimit": 12,
                     *         "authorizationsUsed": 0,
                     *         "createdAt": "2026-11-25T12:00:00Z",
                     *         "delegate": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *         "expiresAt": "2027-05-14T12:00:00Z",
                     *         "failuresInRow": 0,
                     *         "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isCancelling": false,
                     *         "kind": "contract_call",
                     *         "maxFeeStroops": "5000000",
                     *         "maxLatenessSeconds": 3600,
                     *         "missedRuns": "skip",
                     *         "network": "stellar:testnet",
                     *         "nextRuns": [
                     *           {
                     *             "at": "2026-11-30T07:00:00Z",
                     *             "local": "2026-11-30T08:00:00+01:00",
                     *             "notes": [],
                     *             "timezone": "Europe/Paris"
                     *           }
                     *         ],
                     *         "overdueAt": "2026-11-26T12:00:00Z",
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policyName": "pol_f4oc6hbpdqxrylzmd4oc",
                     *         "runLimit": 12,
                     *         "runsConsumed": 0,
                     *         "runsCredited": 0,
                     *         "runsSucceeded": 0,
                     *         "schedule": {
                     *           "expr": "0 8 * * 1",
                     *           "timezone": "Europe/Paris",
                     *           "type": "cron"
                     *         },
                     *         "spec": {
                     *           "args": [],
                     *           "autolayer": true,
                     *           "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "effects": {
                     *             "maxDebit": [],
                     *             "minCredit": []
                     *           },
                     *           "expectedWasmHash": null,
                     *           "function": null
                     *         },
                     *         "startsAt": "2026-11-25T12:00:00Z",
                     *         "status": "proposed",
                     *         "statusReason": null,
                     *         "targetWasmHash": "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
                     *         "title": "Weekly upkeep",
                     *         "updatedAt": "2026-11-25T12:00:00Z"
                     *       },
                     *       "quote": {
                     *         "asset": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
                     *         "creditAmount": "0",
                     *         "fromCredit": 0,
                     *         "isFree": true,
                     *         "network": "stellar:testnet",
                     *         "payTo": null,
                     *         "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
                     *         "perRun": "0",
                     *         "revision": 1,
                     *         "runs": 12,
                     *         "setup": "0",
                     *         "total": "0",
                     *         "validUntil": "2026-11-25T12:15:00Z"
                     *       },
                     *       "session": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountGeneration": "g",
                     *         "contracts": [],
                     *         "delegate": {
                     *           "address": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *           "publicKey": "3b993b993b993b993b993b993b993b993b993b993b993b993b993b993b993b99",
                     *           "type": "ed25519",
                     *           "verifier": null
                     *         },
                     *         "install": null,
                     *         "limits": {
                     *           "authorizationLimit": 12,
                     *           "caps": [],
                     *           "minIntervalSeconds": 601200,
                     *           "notAfter": "2027-05-14T12:00:00Z",
                     *           "notBefore": "2026-11-25T12:00:00Z",
                     *           "runLimit": 12,
                     *           "validUntilLedger": null
                     *         },
                     *         "mode": "open",
                     *         "network": "stellar:testnet",
                     *         "networkPassphrase": "Test SDF Network ; September 2015",
                     *         "permissions": [
                     *           "It may start 12 calls in all.",
                     *           "Worst case, if the key is stolen: the calls above are made; no token leaves."
                     *         ],
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policySpec": {
                     *           "calls": [],
                     *           "mode": "open",
                     *           "version": 1
                     *         },
                     *         "policySpecXdr": "AAAAEQAAAAE=",
                     *         "revoke": null,
                     *         "state": "none",
                     *         "warnings": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ProposalDetailBody"];
                };
            };
        };
    };
    "get-v1-automations-credits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The credits. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "amount": "300000",
                     *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "network": "stellar:testnet"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["RunCreditListBody"];
                };
            };
        };
    };
    "get-v1-automations-limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The limits in force. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "callsPerSession": 8,
                     *       "horizonSeconds": 14688000,
                     *       "networks": [
                     *         {
                     *           "contracts": [],
                     *           "isAvailable": true,
                     *           "isFree": true,
                     *           "modes": [
                     *             "presigned",
                     *             "open"
                     *           ],
                     *           "network": "stellar:testnet",
                     *           "venues": []
                     *         }
                     *       ],
                     *       "openPlansPerOwner": 20,
                     *       "presignedEntries": 12,
                     *       "receiversPerBatch": 100,
                     *       "receiversPerSession": 32,
                     *       "runs": 1000,
                     *       "shortestIntervalSeconds": 60,
                     *       "shortestPollSeconds": 30
                     *     }
                     */
                    "application/json": components["schemas"]["LimitsBody"];
                };
            };
        };
    };
    "post-v1-automations-preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "contract_call",
                 *       "network": "stellar:testnet",
                 *       "runLimit": 12,
                 *       "schedule": {
                 *         "expr": "0 8 * * 1",
                 *         "timezone": "Europe/Paris",
                 *         "type": "cron"
                 *       },
                 *       "spec": {
                 *         "autolayer": true,
                 *         "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                 *         "effects": {}
                 *       },
                 *       "title": "Weekly upkeep"
                 *     }
                 */
                "application/json": components["schemas"]["ContractCallRequest"] | components["schemas"]["DcaRequest"] | components["schemas"]["RebalanceRequest"] | components["schemas"]["DisbursementRequest"];
            };
        };
        responses: {
            /** @description The preview. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "authorityMode": "open",
                     *       "limits": {
                     *         "authorizationLimit": 12,
                     *         "caps": [],
                     *         "minIntervalSeconds": 601200,
                     *         "notAfter": "2027-05-14T12:00:00Z",
                     *         "notBefore": "2026-11-25T12:00:00Z",
                     *         "runLimit": 12,
                     *         "validUntilLedger": null
                     *       },
                     *       "permissions": [
                     *         "It may start 12 calls in all.",
                     *         "Worst case, if the key is stolen: the calls above are made; no token leaves."
                     *       ],
                     *       "preflight": {
                     *         "checks": [
                     *           {
                     *             "code": "dry_run",
                     *             "detail": "The first transaction succeeds as of now.",
                     *             "ok": true
                     *           }
                     *         ],
                     *         "estimatedFeeStroops": "41250",
                     *         "firstRun": {
                     *           "at": "2026-11-30T07:00:00Z",
                     *           "effects": []
                     *         },
                     *         "ok": true
                     *       },
                     *       "quote": {
                     *         "asset": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
                     *         "creditAmount": "0",
                     *         "fromCredit": 0,
                     *         "isFree": true,
                     *         "network": "stellar:testnet",
                     *         "payTo": null,
                     *         "paymentIdentifier": "",
                     *         "perRun": "0",
                     *         "revision": 0,
                     *         "runs": 12,
                     *         "setup": "0",
                     *         "total": "0",
                     *         "validUntil": "2026-11-25T12:15:00Z"
                     *       },
                     *       "schedule": [
                     *         {
                     *           "at": "2026-11-30T07:00:00Z",
                     *           "local": "2026-11-30T08:00:00+01:00",
                     *           "notes": [],
                     *           "timezone": "Europe/Paris"
                     *         }
                     *       ],
                     *       "warnings": []
                     *     }
                     */
                    "application/json": components["schemas"]["PreviewBody"];
                };
            };
        };
    };
    "get-v1-automations-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plan. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "preflight": null,
                     *       "proposal": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountKind": "g",
                     *         "authorityMode": "open",
                     *         "authorizationLimit": 12,
                     *         "authorizationsUsed": 0,
                     *         "createdAt": "2026-11-25T12:00:00Z",
                     *         "delegate": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *         "expiresAt": "2027-05-14T12:00:00Z",
                     *         "failuresInRow": 0,
                     *         "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isCancelling": false,
                     *         "kind": "contract_call",
                     *         "maxFeeStroops": "5000000",
                     *         "maxLatenessSeconds": 3600,
                     *         "missedRuns": "skip",
                     *         "network": "stellar:testnet",
                     *         "nextRuns": [
                     *           {
                     *             "at": "2026-11-30T07:00:00Z",
                     *             "local": "2026-11-30T08:00:00+01:00",
                     *             "notes": [],
                     *             "timezone": "Europe/Paris"
                     *           }
                     *         ],
                     *         "overdueAt": "2026-11-26T12:00:00Z",
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policyName": "pol_f4oc6hbpdqxrylzmd4oc",
                     *         "runLimit": 12,
                     *         "runsConsumed": 0,
                     *         "runsCredited": 0,
                     *         "runsSucceeded": 0,
                     *         "schedule": {
                     *           "expr": "0 8 * * 1",
                     *           "timezone": "Europe/Paris",
                     *           "type": "cron"
                     *         },
                     *         "spec": {
                     *           "args": [],
                     *           "autolayer": true,
                     *           "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "effects": {
                     *             "maxDebit": [],
                     *             "minCredit": []
                     *           },
                     *           "expectedWasmHash": null,
                     *           "function": null
                     *         },
                     *         "startsAt": "2026-11-25T12:00:00Z",
                     *         "status": "proposed",
                     *         "statusReason": null,
                     *         "targetWasmHash": "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
                     *         "title": "Weekly upkeep",
                     *         "updatedAt": "2026-11-25T12:00:00Z"
                     *       },
                     *       "quote": {
                     *         "asset": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
                     *         "creditAmount": "0",
                     *         "fromCredit": 0,
                     *         "isFree": true,
                     *         "network": "stellar:testnet",
                     *         "payTo": null,
                     *         "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
                     *         "perRun": "0",
                     *         "revision": 1,
                     *         "runs": 12,
                     *         "setup": "0",
                     *         "total": "0",
                     *         "validUntil": "2026-11-25T12:15:00Z"
                     *       },
                     *       "session": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountGeneration": "g",
                     *         "contracts": [],
                     *         "delegate": {
                     *           "address": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *           "publicKey": "3b993b993b993b993b993b993b993b993b993b993b993b993b993b993b993b99",
                     *           "type": "ed25519",
                     *           "verifier": null
                     *         },
                     *         "install": null,
                     *         "limits": {
                     *           "authorizationLimit": 12,
                     *           "caps": [],
                     *           "minIntervalSeconds": 601200,
                     *           "notAfter": "2027-05-14T12:00:00Z",
                     *           "notBefore": "2026-11-25T12:00:00Z",
                     *           "runLimit": 12,
                     *           "validUntilLedger": null
                     *         },
                     *         "mode": "open",
                     *         "network": "stellar:testnet",
                     *         "networkPassphrase": "Test SDF Network ; September 2015",
                     *         "permissions": [
                     *           "It may start 12 calls in all.",
                     *           "Worst case, if the key is stolen: the calls above are made; no token leaves."
                     *         ],
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policySpec": {
                     *           "calls": [],
                     *           "mode": "open",
                     *           "version": 1
                     *         },
                     *         "policySpecXdr": "AAAAEQAAAAE=",
                     *         "revoke": null,
                     *         "state": "none",
                     *         "warnings": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ProposalDetailBody"];
                };
            };
        };
    };
    "post-v1-automations-id-activate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["ActivateRequest"];
            };
        };
        responses: {
            /** @description The plan is active. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "preflight": null,
                     *       "proposal": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountKind": "g",
                     *         "authorityMode": "open",
                     *         "authorizationLimit": 12,
                     *         "authorizationsUsed": 0,
                     *         "createdAt": "2026-11-25T12:00:00Z",
                     *         "delegate": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *         "expiresAt": "2027-05-14T12:00:00Z",
                     *         "failuresInRow": 0,
                     *         "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isCancelling": false,
                     *         "kind": "contract_call",
                     *         "maxFeeStroops": "5000000",
                     *         "maxLatenessSeconds": 3600,
                     *         "missedRuns": "skip",
                     *         "network": "stellar:testnet",
                     *         "nextRuns": [
                     *           {
                     *             "at": "2026-11-30T07:00:00Z",
                     *             "local": "2026-11-30T08:00:00+01:00",
                     *             "notes": [],
                     *             "timezone": "Europe/Paris"
                     *           }
                     *         ],
                     *         "overdueAt": "2026-11-26T12:00:00Z",
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policyName": "pol_f4oc6hbpdqxrylzmd4oc",
                     *         "runLimit": 12,
                     *         "runsConsumed": 0,
                     *         "runsCredited": 0,
                     *         "runsSucceeded": 0,
                     *         "schedule": {
                     *           "expr": "0 8 * * 1",
                     *           "timezone": "Europe/Paris",
                     *           "type": "cron"
                     *         },
                     *         "spec": {
                     *           "args": [],
                     *           "autolayer": true,
                     *           "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "effects": {
                     *             "maxDebit": [],
                     *             "minCredit": []
                     *           },
                     *           "expectedWasmHash": null,
                     *           "function": null
                     *         },
                     *         "startsAt": "2026-11-25T12:00:00Z",
                     *         "status": "proposed",
                     *         "statusReason": null,
                     *         "targetWasmHash": "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
                     *         "title": "Weekly upkeep",
                     *         "updatedAt": "2026-11-25T12:00:00Z"
                     *       },
                     *       "quote": {
                     *         "asset": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
                     *         "creditAmount": "0",
                     *         "fromCredit": 0,
                     *         "isFree": true,
                     *         "network": "stellar:testnet",
                     *         "payTo": null,
                     *         "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
                     *         "perRun": "0",
                     *         "revision": 1,
                     *         "runs": 12,
                     *         "setup": "0",
                     *         "total": "0",
                     *         "validUntil": "2026-11-25T12:15:00Z"
                     *       },
                     *       "session": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountGeneration": "g",
                     *         "contracts": [],
                     *         "delegate": {
                     *           "address": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *           "publicKey": "3b993b993b993b993b993b993b993b993b993b993b993b993b993b993b993b99",
                     *           "type": "ed25519",
                     *           "verifier": null
                     *         },
                     *         "install": null,
                     *         "limits": {
                     *           "authorizationLimit": 12,
                     *           "caps": [],
                     *           "minIntervalSeconds": 601200,
                     *           "notAfter": "2027-05-14T12:00:00Z",
                     *           "notBefore": "2026-11-25T12:00:00Z",
                     *           "runLimit": 12,
                     *           "validUntilLedger": null
                     *         },
                     *         "mode": "open",
                     *         "network": "stellar:testnet",
                     *         "networkPassphrase": "Test SDF Network ; September 2015",
                     *         "permissions": [
                     *           "It may start 12 calls in all.",
                     *           "Worst case, if the key is stolen: the calls above are made; no token leaves."
                     *         ],
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policySpec": {
                     *           "calls": [],
                     *           "mode": "open",
                     *           "version": 1
                     *         },
                     *         "policySpecXdr": "AAAAEQAAAAE=",
                     *         "revoke": null,
                     *         "state": "none",
                     *         "warnings": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ProposalDetailBody"];
                };
            };
            /** @description Its installation was sent and is not final; the plan becomes active by itself. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProposalDetailBody"];
                };
            };
        };
    };
    "post-v1-automations-id-cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "reason": "a holiday"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeRequest"];
            };
        };
        responses: {
            /** @description The plan. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "preflight": null,
                     *       "proposal": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountKind": "g",
                     *         "authorityMode": "open",
                     *         "authorizationLimit": 12,
                     *         "authorizationsUsed": 0,
                     *         "createdAt": "2026-11-25T12:00:00Z",
                     *         "delegate": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *         "expiresAt": "2027-05-14T12:00:00Z",
                     *         "failuresInRow": 0,
                     *         "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isCancelling": false,
                     *         "kind": "contract_call",
                     *         "maxFeeStroops": "5000000",
                     *         "maxLatenessSeconds": 3600,
                     *         "missedRuns": "skip",
                     *         "network": "stellar:testnet",
                     *         "nextRuns": [
                     *           {
                     *             "at": "2026-11-30T07:00:00Z",
                     *             "local": "2026-11-30T08:00:00+01:00",
                     *             "notes": [],
                     *             "timezone": "Europe/Paris"
                     *           }
                     *         ],
                     *         "overdueAt": "2026-11-26T12:00:00Z",
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policyName": "pol_f4oc6hbpdqxrylzmd4oc",
                     *         "runLimit": 12,
                     *         "runsConsumed": 0,
                     *         "runsCredited": 0,
                     *         "runsSucceeded": 0,
                     *         "schedule": {
                     *           "expr": "0 8 * * 1",
                     *           "timezone": "Europe/Paris",
                     *           "type": "cron"
                     *         },
                     *         "spec": {
                     *           "args": [],
                     *           "autolayer": true,
                     *           "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "effects": {
                     *             "maxDebit": [],
                     *             "minCredit": []
                     *           },
                     *           "expectedWasmHash": null,
                     *           "function": null
                     *         },
                     *         "startsAt": "2026-11-25T12:00:00Z",
                     *         "status": "cancelled",
                     *         "statusReason": "owner",
                     *         "targetWasmHash": "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
                     *         "title": "Weekly upkeep",
                     *         "updatedAt": "2026-11-25T12:00:00Z"
                     *       },
                     *       "quote": {
                     *         "asset": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
                     *         "creditAmount": "0",
                     *         "fromCredit": 0,
                     *         "isFree": true,
                     *         "network": "stellar:testnet",
                     *         "payTo": null,
                     *         "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
                     *         "perRun": "0",
                     *         "revision": 1,
                     *         "runs": 12,
                     *         "setup": "0",
                     *         "total": "0",
                     *         "validUntil": "2026-11-25T12:15:00Z"
                     *       },
                     *       "session": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountGeneration": "g",
                     *         "contracts": [],
                     *         "delegate": {
                     *           "address": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *           "publicKey": "3b993b993b993b993b993b993b993b993b993b993b993b993b993b993b993b99",
                     *           "type": "ed25519",
                     *           "verifier": null
                     *         },
                     *         "install": null,
                     *         "limits": {
                     *           "authorizationLimit": 12,
                     *           "caps": [],
                     *           "minIntervalSeconds": 601200,
                     *           "notAfter": "2027-05-14T12:00:00Z",
                     *           "notBefore": "2026-11-25T12:00:00Z",
                     *           "runLimit": 12,
                     *           "validUntilLedger": null
                     *         },
                     *         "mode": "open",
                     *         "network": "stellar:testnet",
                     *         "networkPassphrase": "Test SDF Network ; September 2015",
                     *         "permissions": [
                     *           "It may start 12 calls in all.",
                     *           "Worst case, if the key is stolen: the calls above are made; no token leaves."
                     *         ],
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policySpec": {
                     *           "calls": [],
                     *           "mode": "open",
                     *           "version": 1
                     *         },
                     *         "policySpecXdr": "AAAAEQAAAAE=",
                     *         "revoke": null,
                     *         "state": "none",
                     *         "warnings": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ProposalDetailBody"];
                };
            };
        };
    };
    "get-v1-automations-id-events": {
        parameters: {
            query?: {
                /** @description next of the response before. */
                after?: number;
                /** @description How many at most. */
                limit?: number;
                /** @description How long to wait for an event. */
                waitSeconds?: number;
            };
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "at": "2026-11-25T09:32:00Z",
                     *           "data": {
                     *             "from": "paid",
                     *             "reason": null,
                     *             "to": "active"
                     *           },
                     *           "kind": "plan.activate",
                     *           "number": 1
                     *         }
                     *       ],
                     *       "next": 1
                     *     }
                     */
                    "application/json": components["schemas"]["EventListBody"];
                };
            };
        };
    };
    "post-v1-automations-id-pause": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "reason": "a holiday"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeRequest"];
            };
        };
        responses: {
            /** @description The plan. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "preflight": null,
                     *       "proposal": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountKind": "g",
                     *         "authorityMode": "open",
                     *         "authorizationLimit": 12,
                     *         "authorizationsUsed": 0,
                     *         "createdAt": "2026-11-25T12:00:00Z",
                     *         "delegate": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *         "expiresAt": "2027-05-14T12:00:00Z",
                     *         "failuresInRow": 0,
                     *         "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isCancelling": false,
                     *         "kind": "contract_call",
                     *         "maxFeeStroops": "5000000",
                     *         "maxLatenessSeconds": 3600,
                     *         "missedRuns": "skip",
                     *         "network": "stellar:testnet",
                     *         "nextRuns": [
                     *           {
                     *             "at": "2026-11-30T07:00:00Z",
                     *             "local": "2026-11-30T08:00:00+01:00",
                     *             "notes": [],
                     *             "timezone": "Europe/Paris"
                     *           }
                     *         ],
                     *         "overdueAt": "2026-11-26T12:00:00Z",
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policyName": "pol_f4oc6hbpdqxrylzmd4oc",
                     *         "runLimit": 12,
                     *         "runsConsumed": 0,
                     *         "runsCredited": 0,
                     *         "runsSucceeded": 0,
                     *         "schedule": {
                     *           "expr": "0 8 * * 1",
                     *           "timezone": "Europe/Paris",
                     *           "type": "cron"
                     *         },
                     *         "spec": {
                     *           "args": [],
                     *           "autolayer": true,
                     *           "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "effects": {
                     *             "maxDebit": [],
                     *             "minCredit": []
                     *           },
                     *           "expectedWasmHash": null,
                     *           "function": null
                     *         },
                     *         "startsAt": "2026-11-25T12:00:00Z",
                     *         "status": "paused",
                     *         "statusReason": "owner",
                     *         "targetWasmHash": "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
                     *         "title": "Weekly upkeep",
                     *         "updatedAt": "2026-11-25T12:00:00Z"
                     *       },
                     *       "quote": {
                     *         "asset": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
                     *         "creditAmount": "0",
                     *         "fromCredit": 0,
                     *         "isFree": true,
                     *         "network": "stellar:testnet",
                     *         "payTo": null,
                     *         "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
                     *         "perRun": "0",
                     *         "revision": 1,
                     *         "runs": 12,
                     *         "setup": "0",
                     *         "total": "0",
                     *         "validUntil": "2026-11-25T12:15:00Z"
                     *       },
                     *       "session": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountGeneration": "g",
                     *         "contracts": [],
                     *         "delegate": {
                     *           "address": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *           "publicKey": "3b993b993b993b993b993b993b993b993b993b993b993b993b993b993b993b99",
                     *           "type": "ed25519",
                     *           "verifier": null
                     *         },
                     *         "install": null,
                     *         "limits": {
                     *           "authorizationLimit": 12,
                     *           "caps": [],
                     *           "minIntervalSeconds": 601200,
                     *           "notAfter": "2027-05-14T12:00:00Z",
                     *           "notBefore": "2026-11-25T12:00:00Z",
                     *           "runLimit": 12,
                     *           "validUntilLedger": null
                     *         },
                     *         "mode": "open",
                     *         "network": "stellar:testnet",
                     *         "networkPassphrase": "Test SDF Network ; September 2015",
                     *         "permissions": [
                     *           "It may start 12 calls in all.",
                     *           "Worst case, if the key is stolen: the calls above are made; no token leaves."
                     *         ],
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policySpec": {
                     *           "calls": [],
                     *           "mode": "open",
                     *           "version": 1
                     *         },
                     *         "policySpecXdr": "AAAAEQAAAAE=",
                     *         "revoke": null,
                     *         "state": "none",
                     *         "warnings": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ProposalDetailBody"];
                };
            };
        };
    };
    "post-v1-automations-id-payment": {
        parameters: {
            query?: never;
            header?: {
                /** @description A payment of x402 version 2 for the offer of a 402, by any account. */
                "PAYMENT-SIGNATURE"?: string;
            };
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["PayForRunsRequest"];
            };
        };
        responses: {
            /** @description The runs are credited. The same payment again gets the same receipt. */
            200: {
                headers: {
                    /** @description The receipt. */
                    "PAYMENT-RESPONSE"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "payment": {
                     *         "amount": "900000",
                     *         "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *         "createdAt": "2026-11-25T08:00:00Z",
                     *         "id": "apay_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isTopUp": false,
                     *         "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
                     *         "runs": 12,
                     *         "state": "confirmed",
                     *         "transaction": "c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1"
                     *       },
                     *       "proposal": {
                     *         "account": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *         "accountKind": "g",
                     *         "authorityMode": "open",
                     *         "authorizationLimit": 12,
                     *         "authorizationsUsed": 0,
                     *         "createdAt": "2026-11-25T08:00:00Z",
                     *         "delegate": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "expiresAt": "2026-12-25T08:00:00Z",
                     *         "failuresInRow": 0,
                     *         "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isCancelling": false,
                     *         "kind": "contract_call",
                     *         "maxFeeStroops": "3000000",
                     *         "maxLatenessSeconds": 3600,
                     *         "missedRuns": "skip",
                     *         "network": "stellar:testnet",
                     *         "nextRuns": [],
                     *         "overdueAt": "2026-12-02T08:00:00Z",
                     *         "policyId": "7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d",
                     *         "policyName": "pol_pv6x27l5pv6x27l5pv6x",
                     *         "runLimit": 12,
                     *         "runsConsumed": 0,
                     *         "runsCredited": 12,
                     *         "runsSucceeded": 0,
                     *         "schedule": {
                     *           "everySeconds": 86400,
                     *           "startAt": "2026-11-26T08:00:00Z",
                     *           "type": "interval"
                     *         },
                     *         "spec": {
                     *           "autolayer": true,
                     *           "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
                     *         },
                     *         "startsAt": "2026-11-25T08:00:00Z",
                     *         "status": "paid",
                     *         "statusReason": null,
                     *         "targetWasmHash": "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
                     *         "title": "Harvest daily",
                     *         "updatedAt": "2026-11-25T08:01:00Z"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["RunPaymentResultBody"];
                };
            };
            /** @description The payment may have been sent, and is not final: send the same request again. Sign no second payment. */
            202: {
                headers: {
                    /** @description The receipt. */
                    "PAYMENT-RESPONSE"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPaymentResultBody"];
                };
            };
        };
    };
    "post-v1-automations-id-preflight": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The checks. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "checks": [
                     *         {
                     *           "code": "dry_run",
                     *           "detail": "The first transaction succeeds as of now.",
                     *           "ok": true
                     *         }
                     *       ],
                     *       "estimatedFeeStroops": "41250",
                     *       "firstRun": {
                     *         "at": "2026-11-30T07:00:00Z",
                     *         "effects": []
                     *       },
                     *       "ok": true
                     *     }
                     */
                    "application/json": components["schemas"]["PreflightBody"];
                };
            };
        };
    };
    "get-v1-automations-id-receipts": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Lines of {receipt, delegate, signature}. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example {} */
                    "application/x-ndjson": string;
                };
            };
        };
    };
    "post-v1-automations-id-resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "reason": "a holiday"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeRequest"];
            };
        };
        responses: {
            /** @description The plan. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "preflight": null,
                     *       "proposal": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountKind": "g",
                     *         "authorityMode": "open",
                     *         "authorizationLimit": 12,
                     *         "authorizationsUsed": 0,
                     *         "createdAt": "2026-11-25T12:00:00Z",
                     *         "delegate": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *         "expiresAt": "2027-05-14T12:00:00Z",
                     *         "failuresInRow": 0,
                     *         "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isCancelling": false,
                     *         "kind": "contract_call",
                     *         "maxFeeStroops": "5000000",
                     *         "maxLatenessSeconds": 3600,
                     *         "missedRuns": "skip",
                     *         "network": "stellar:testnet",
                     *         "nextRuns": [
                     *           {
                     *             "at": "2026-11-30T07:00:00Z",
                     *             "local": "2026-11-30T08:00:00+01:00",
                     *             "notes": [],
                     *             "timezone": "Europe/Paris"
                     *           }
                     *         ],
                     *         "overdueAt": "2026-11-26T12:00:00Z",
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policyName": "pol_f4oc6hbpdqxrylzmd4oc",
                     *         "runLimit": 12,
                     *         "runsConsumed": 0,
                     *         "runsCredited": 0,
                     *         "runsSucceeded": 0,
                     *         "schedule": {
                     *           "expr": "0 8 * * 1",
                     *           "timezone": "Europe/Paris",
                     *           "type": "cron"
                     *         },
                     *         "spec": {
                     *           "args": [],
                     *           "autolayer": true,
                     *           "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "effects": {
                     *             "maxDebit": [],
                     *             "minCredit": []
                     *           },
                     *           "expectedWasmHash": null,
                     *           "function": null
                     *         },
                     *         "startsAt": "2026-11-25T12:00:00Z",
                     *         "status": "active",
                     *         "statusReason": null,
                     *         "targetWasmHash": "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
                     *         "title": "Weekly upkeep",
                     *         "updatedAt": "2026-11-25T12:00:00Z"
                     *       },
                     *       "quote": {
                     *         "asset": "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC",
                     *         "creditAmount": "0",
                     *         "fromCredit": 0,
                     *         "isFree": true,
                     *         "network": "stellar:testnet",
                     *         "payTo": null,
                     *         "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
                     *         "perRun": "0",
                     *         "revision": 1,
                     *         "runs": 12,
                     *         "setup": "0",
                     *         "total": "0",
                     *         "validUntil": "2026-11-25T12:15:00Z"
                     *       },
                     *       "session": {
                     *         "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "accountGeneration": "g",
                     *         "contracts": [],
                     *         "delegate": {
                     *           "address": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *           "publicKey": "3b993b993b993b993b993b993b993b993b993b993b993b993b993b993b993b99",
                     *           "type": "ed25519",
                     *           "verifier": null
                     *         },
                     *         "install": null,
                     *         "limits": {
                     *           "authorizationLimit": 12,
                     *           "caps": [],
                     *           "minIntervalSeconds": 601200,
                     *           "notAfter": "2027-05-14T12:00:00Z",
                     *           "notBefore": "2026-11-25T12:00:00Z",
                     *           "runLimit": 12,
                     *           "validUntilLedger": null
                     *         },
                     *         "mode": "open",
                     *         "network": "stellar:testnet",
                     *         "networkPassphrase": "Test SDF Network ; September 2015",
                     *         "permissions": [
                     *           "It may start 12 calls in all.",
                     *           "Worst case, if the key is stolen: the calls above are made; no token leaves."
                     *         ],
                     *         "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *         "policySpec": {
                     *           "calls": [],
                     *           "mode": "open",
                     *           "version": 1
                     *         },
                     *         "policySpecXdr": "AAAAEQAAAAE=",
                     *         "revoke": null,
                     *         "state": "none",
                     *         "warnings": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ProposalDetailBody"];
                };
            };
        };
    };
    "get-v1-automations-id-runs": {
        parameters: {
            query?: {
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description nextCursor of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "attempts": 1,
                     *           "deadlineAt": "2026-11-26T08:30:00Z",
                     *           "effects": [],
                     *           "errorClass": null,
                     *           "errorCode": null,
                     *           "executedBy": "service",
                     *           "feeStroops": "41212",
                     *           "finishedAt": "2026-11-26T08:00:07Z",
                     *           "id": "run_2nAbCdEfGhIjKlMnOpQrSt",
                     *           "ledger": 1042,
                     *           "legIndex": 0,
                     *           "reason": null,
                     *           "runIndex": 0,
                     *           "scheduledFor": "2026-11-26T08:00:00Z",
                     *           "state": "succeeded",
                     *           "transaction": "6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c"
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "limit": 20,
                     *         "nextCursor": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["RunListBody"];
                };
            };
        };
    };
    "get-v1-automations-id-runs-index": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
                /** @description The run's number in its plan, from 0 on. */
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The legs of the run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "legs": [
                     *         {
                     *           "attemptList": [
                     *             {
                     *               "errorCode": null,
                     *               "feeLimitStroops": "98110",
                     *               "feeStroops": "41212",
                     *               "maxTime": "2026-11-26T08:01:00Z",
                     *               "number": 1,
                     *               "outcome": "success",
                     *               "sentAt": "2026-11-26T08:00:02Z",
                     *               "transaction": "6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c"
                     *             }
                     *           ],
                     *           "attempts": 1,
                     *           "deadlineAt": "2026-11-26T08:30:00Z",
                     *           "effects": [],
                     *           "errorClass": null,
                     *           "errorCode": null,
                     *           "executedBy": "service",
                     *           "feeStroops": "41212",
                     *           "finishedAt": "2026-11-26T08:00:07Z",
                     *           "id": "run_2nAbCdEfGhIjKlMnOpQrSt",
                     *           "ledger": 1042,
                     *           "legIndex": 0,
                     *           "reason": null,
                     *           "runIndex": 0,
                     *           "scheduledFor": "2026-11-26T08:00:00Z",
                     *           "state": "succeeded",
                     *           "transaction": "6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c6e1f0a9c"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["RunLegsBody"];
                };
            };
        };
    };
    "post-v1-automations-id-runs-index-retry": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
                /** @description The run's number in its plan, from 0 on. */
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The first leg that is repeated. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "attempts": 1,
                     *       "deadlineAt": "2026-11-26T08:30:00Z",
                     *       "effects": [],
                     *       "errorClass": null,
                     *       "errorCode": null,
                     *       "executedBy": "service",
                     *       "feeStroops": "41212",
                     *       "finishedAt": null,
                     *       "id": "run_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "ledger": null,
                     *       "legIndex": 0,
                     *       "reason": null,
                     *       "runIndex": 0,
                     *       "scheduledFor": "2026-11-26T08:00:00Z",
                     *       "state": "scheduled",
                     *       "transaction": null
                     *     }
                     */
                    "application/json": components["schemas"]["RunBody"];
                };
            };
        };
    };
    "get-v1-automations-id-session": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "account": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *       "accountGeneration": "g",
                     *       "contracts": [],
                     *       "delegate": {
                     *         "address": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
                     *         "publicKey": "3b993b993b993b993b993b993b993b993b993b993b993b993b993b993b993b99",
                     *         "type": "ed25519",
                     *         "verifier": null
                     *       },
                     *       "install": null,
                     *       "limits": {
                     *         "authorizationLimit": 12,
                     *         "caps": [],
                     *         "minIntervalSeconds": 601200,
                     *         "notAfter": "2027-05-14T12:00:00Z",
                     *         "notBefore": "2026-11-25T12:00:00Z",
                     *         "runLimit": 12,
                     *         "validUntilLedger": null
                     *       },
                     *       "mode": "open",
                     *       "network": "stellar:testnet",
                     *       "networkPassphrase": "Test SDF Network ; September 2015",
                     *       "permissions": [
                     *         "It may start 12 calls in all.",
                     *         "Worst case, if the key is stolen: the calls above are made; no token leaves."
                     *       ],
                     *       "policyId": "2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c2f1c",
                     *       "policySpec": {
                     *         "calls": [],
                     *         "mode": "open",
                     *         "version": 1
                     *       },
                     *       "policySpecXdr": "AAAAEQAAAAE=",
                     *       "revoke": null,
                     *       "state": "none",
                     *       "warnings": []
                     *     }
                     */
                    "application/json": components["schemas"]["PlanSessionBody"];
                };
            };
        };
    };
    "post-v1-automations-id-topup": {
        parameters: {
            query?: never;
            header?: {
                /** @description A payment of x402 version 2 for the offer of a 402, by any account. */
                "PAYMENT-SIGNATURE"?: string;
            };
            path: {
                /** @description The plan's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "runs": 4
                 *     }
                 */
                "application/json": components["schemas"]["TopUpRequest"];
            };
        };
        responses: {
            /** @description The runs are credited. The same payment again gets the same receipt. */
            200: {
                headers: {
                    /** @description The receipt. */
                    "PAYMENT-RESPONSE"?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "payment": {
                     *         "amount": "900000",
                     *         "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *         "createdAt": "2026-11-25T08:00:00Z",
                     *         "id": "apay_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isTopUp": true,
                     *         "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
                     *         "runs": 4,
                     *         "state": "confirmed",
                     *         "transaction": "c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1"
                     *       },
                     *       "proposal": {
                     *         "account": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *         "accountKind": "g",
                     *         "authorityMode": "open",
                     *         "authorizationLimit": 12,
                     *         "authorizationsUsed": 0,
                     *         "createdAt": "2026-11-25T08:00:00Z",
                     *         "delegate": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *         "expiresAt": "2026-12-25T08:00:00Z",
                     *         "failuresInRow": 0,
                     *         "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
                     *         "isCancelling": false,
                     *         "kind": "contract_call",
                     *         "maxFeeStroops": "3000000",
                     *         "maxLatenessSeconds": 3600,
                     *         "missedRuns": "skip",
                     *         "network": "stellar:testnet",
                     *         "nextRuns": [],
                     *         "overdueAt": "2026-12-02T08:00:00Z",
                     *         "policyId": "7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d",
                     *         "policyName": "pol_pv6x27l5pv6x27l5pv6x",
                     *         "runLimit": 12,
                     *         "runsConsumed": 0,
                     *         "runsCredited": 12,
                     *         "runsSucceeded": 0,
                     *         "schedule": {
                     *           "everySeconds": 86400,
                     *           "startAt": "2026-11-26T08:00:00Z",
                     *           "type": "interval"
                     *         },
                     *         "spec": {
                     *           "autolayer": true,
                     *           "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
                     *         },
                     *         "startsAt": "2026-11-25T08:00:00Z",
                     *         "status": "paid",
                     *         "statusReason": null,
                     *         "targetWasmHash": "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
                     *         "title": "Harvest daily",
                     *         "updatedAt": "2026-11-25T08:01:00Z"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["RunPaymentResultBody"];
                };
            };
            /** @description The payment may have been sent, and is not final: send the same request again. Sign no second payment. */
            202: {
                headers: {
                    /** @description The receipt. */
                    "PAYMENT-RESPONSE"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPaymentResultBody"];
                };
            };
        };
    };
    "get-v1-contracts-network-contract": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The CAIP-2 id of a network that is served. */
                network: "stellar:testnet" | "stellar:pubnet";
                /** @description The C… address of the contract. */
                contract: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The contract. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "contract": "CDV27O2HOZEFVYT4PA7ITB5EDY6E2KYFQPRJ3R4P4CC2MTHF5IA4KR5F",
                     *       "functions": [
                     *         {
                     *           "inputs": [
                     *             {
                     *               "name": "from",
                     *               "type": "Address"
                     *             },
                     *             {
                     *               "name": "to",
                     *               "type": "MuxedAddress"
                     *             },
                     *             {
                     *               "name": "amount",
                     *               "type": "i128"
                     *             }
                     *           ],
                     *           "name": "transfer",
                     *           "output": null
                     *         }
                     *       ],
                     *       "interface": "read",
                     *       "isArchived": false,
                     *       "kind": "wasm",
                     *       "latestLedger": 1204500,
                     *       "network": "stellar:testnet",
                     *       "wasmHash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *     }
                     */
                    "application/json": components["schemas"]["ContractBody"];
                };
            };
        };
    };
    "post-v1-discovery-validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "method": "GET",
                 *       "url": "https://api.example.com/weather"
                 *     }
                 */
                "application/json": components["schemas"]["ValidationRequest"];
            };
        };
        responses: {
            /** @description The report. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "isValid": false,
                     *       "reasons": [
                     *         {
                     *           "code": "origin_no_payment_asked",
                     *           "message": "The resource did not answer 402."
                     *         }
                     *       ],
                     *       "warnings": []
                     *     }
                     */
                    "application/json": components["schemas"]["ReportBody"];
                };
            };
        };
    };
    "get-v1-errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reason codes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "errors": [
                     *         {
                     *           "code": "insufficient_funds",
                     *           "message": "The payer holds too little of the asset.",
                     *           "retry": "later"
                     *         }
                     *       ],
                     *       "listing": [
                     *         {
                     *           "code": "bazaar_missing",
                     *           "message": "There is no extension bazaar."
                     *         }
                     *       ],
                     *       "mcp": [
                     *         {
                     *           "code": "HTTPS_REQUIRED",
                     *           "message": "The URL must begin with https://."
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["ReasonsBody"];
                };
            };
        };
    };
    "get-v1-networks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The networks. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "networks": [
                     *         {
                     *           "available": true,
                     *           "fees": {
                     *             "inclusionMax": "2000",
                     *             "inclusionP99": "100",
                     *             "meanPayment": "23041"
                     *           },
                     *           "isServed": true,
                     *           "ledger": {
                     *             "closedAt": "2026-11-23T09:30:00Z",
                     *             "secondsPerLedger": 5.02,
                     *             "sequence": 1204500
                     *           },
                     *           "network": "stellar:testnet",
                     *           "passphrase": "Test SDF Network ; September 2015",
                     *           "protocolVersion": 30,
                     *           "usdc": {
                     *             "code": "USDC",
                     *             "contract": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *             "issuer": "GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["NetworksBody"];
                };
            };
        };
    };
    "get-v1-openapi-json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schema. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "openapi": "3.1.0",
                     *       "paths": {}
                     *     }
                     */
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    "get-v1-payments": {
        parameters: {
            query?: {
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description nextCursor of the page before. */
                cursor?: string;
                /** @description received (the default) and paid: by your wallet; settled: for you. */
                role?: "received" | "paid" | "settled";
                /** @description Only on this one: your wallet's own, or any for role=settled. */
                network?: "stellar:testnet" | "stellar:pubnet";
                /** @description Only in this one. */
                state?: "pending" | "failed" | "unproven" | "settled" | "paid" | "delivered" | "owed" | "refunded";
                /** @description Only through the wrapper of this id. */
                wrapper?: string;
                /** @description Only those sent at this time (RFC 3339) or later. */
                since?: string;
                /** @description Only those sent before this time (RFC 3339). */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of payments. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "amount": "10000",
                     *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "attemptsLeft": 0,
                     *           "network": "stellar:testnet",
                     *           "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *           "receipt": {
                     *             "network": "stellar:testnet",
                     *             "payer": "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI",
                     *             "success": true,
                     *             "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *           },
                     *           "refund": null,
                     *           "sentAt": "2026-11-23T09:30:00Z",
                     *           "settledAt": "2026-11-23T09:30:05Z",
                     *           "state": "delivered",
                     *           "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "limit": 20,
                     *         "nextCursor": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["PaymentListBody"];
                };
            };
        };
    };
    "post-v1-payments-complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "entry": "AAAAAQAAAAAAAAAA4G4bbwu…",
                 *       "requirements": {
                 *         "amount": "10000",
                 *         "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                 *         "extra": {
                 *           "areFeesSponsored": true
                 *         },
                 *         "maxTimeoutSeconds": 60,
                 *         "network": "stellar:testnet",
                 *         "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                 *         "scheme": "exact"
                 *       },
                 *       "resource": {
                 *         "url": "https://api.example.com/weather"
                 *       },
                 *       "signature": "SZyZ8mN7…"
                 *     }
                 */
                "application/json": components["schemas"]["CompleteRequest"];
            };
        };
        responses: {
            /** @description The payment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "paymentPayload": {
                     *         "accepted": {
                     *           "amount": "10000",
                     *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "extra": {
                     *             "areFeesSponsored": true
                     *           },
                     *           "maxTimeoutSeconds": 60,
                     *           "network": "stellar:testnet",
                     *           "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *           "scheme": "exact"
                     *         },
                     *         "payload": {
                     *           "transaction": "AAAAAgAAAAAAAAAAAAAA…"
                     *         },
                     *         "resource": {
                     *           "url": "https://api.example.com/weather"
                     *         },
                     *         "x402Version": 2
                     *       },
                     *       "paymentSignature": "eyJ4NDAyVmVyc2lvbiI6Miwi…"
                     *     }
                     */
                    "application/json": components["schemas"]["CompletedBody"];
                };
            };
        };
    };
    "post-v1-payments-prepare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "payer": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                 *       "requirements": {
                 *         "amount": "10000",
                 *         "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                 *         "extra": {
                 *           "areFeesSponsored": true
                 *         },
                 *         "maxTimeoutSeconds": 60,
                 *         "network": "stellar:testnet",
                 *         "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                 *         "scheme": "exact"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["PrepareRequest"];
            };
        };
        responses: {
            /** @description The unsigned authorization. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "entry": "AAAAAQAAAAAAAAAA4G4bbwu…",
                     *       "expirationLedger": 1204512,
                     *       "expiresAt": "2026-11-23T09:31:00Z",
                     *       "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *       "network": "stellar:testnet",
                     *       "payer": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *       "preimage": "AAAACc7gMC1ZhE0yvcqRXIID3URzP…",
                     *       "statements": [
                     *         "Transfer 10000 base units of the token C… from G… to G… on stellar:testnet, once.",
                     *         "This is allowed until ledger 1204512 closes, at about 2026-11-23 09:31:00 UTC.",
                     *         "Nothing else is allowed: no other amount, token or recipient, no second transfer."
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["PreparedBody"];
                };
            };
        };
    };
    "get-v1-payments-transaction": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hash of the payment's transaction. */
                transaction: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "amount": "10000",
                     *       "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *       "attemptsLeft": 0,
                     *       "network": "stellar:testnet",
                     *       "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *       "receipt": {
                     *         "network": "stellar:testnet",
                     *         "payer": "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI",
                     *         "success": true,
                     *         "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *       },
                     *       "refund": null,
                     *       "sentAt": "2026-11-23T09:30:00Z",
                     *       "settledAt": "2026-11-23T09:30:05Z",
                     *       "state": "delivered",
                     *       "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *     }
                     */
                    "application/json": components["schemas"]["PaymentBody"];
                };
            };
        };
    };
    "post-v1-payments-transaction-refund": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hash of the payment's transaction. */
                transaction: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                 *     }
                 */
                "application/json": components["schemas"]["RefundRequest"];
            };
        };
        responses: {
            /** @description The payment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "amount": "10000",
                     *       "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *       "attemptsLeft": 0,
                     *       "network": "stellar:testnet",
                     *       "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *       "receipt": {
                     *         "network": "stellar:testnet",
                     *         "payer": "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI",
                     *         "success": true,
                     *         "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *       },
                     *       "refund": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *       "sentAt": "2026-11-23T09:30:00Z",
                     *       "settledAt": "2026-11-23T09:30:05Z",
                     *       "state": "refunded",
                     *       "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *     }
                     */
                    "application/json": components["schemas"]["PaymentBody"];
                };
            };
        };
    };
    "get-v1-settlements-transaction": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The transaction's hash. */
                transaction: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settlement. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "amount": "10000",
                     *       "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *       "network": "stellar:testnet",
                     *       "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                     *       "payer": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3",
                     *       "status": "confirmed",
                     *       "transaction": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *     }
                     */
                    "application/json": components["schemas"]["SettlementBody"];
                };
            };
        };
    };
    "get-v1-skills": {
        parameters: {
            query?: {
                /** @description Words that a skill or its actions have. */
                query?: string;
                /** @description The exact name of the protocol. */
                protocol?: string;
                /** @description stellar:testnet or stellar:pubnet. */
                network?: string;
                /** @description The exact name of an action. */
                action?: string;
            };
            header?: {
                /** @description The ETag of the document that you have: 304 when it is the newest. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    /** @description How long the document may be kept. */
                    "Cache-Control"?: string;
                    /** @description The version of the document. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "actions": [
                     *             "quote",
                     *             "prepare",
                     *             "complete",
                     *             "paid_call"
                     *           ],
                     *           "authMode": [
                     *             "none",
                     *             "wallet_auth_entry",
                     *             "x402"
                     *           ],
                     *           "category": "Payments",
                     *           "name": "Pay for a resource",
                     *           "networks": [
                     *             "stellar:testnet",
                     *             "stellar:pubnet"
                     *           ],
                     *           "protocol": "x402",
                     *           "safety": {
                     *             "movesFunds": true,
                     *             "requiresWalletSignature": true
                     *           },
                     *           "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *           "slug": "x402-pay",
                     *           "specUrl": "https://pay.example.com/v1/skills/x402-pay/spec?version=1.0.0",
                     *           "status": "available",
                     *           "summary": "Ask a paid resource for its price, pay it with the user's wallet, and call it.",
                     *           "version": "1.0.0"
                     *         }
                     *       ],
                     *       "total": 1
                     *     }
                     */
                    "application/json": components["schemas"]["SkillListBody"];
                };
            };
        };
    };
    "get-v1-skills-slug-SKILL-md": {
        parameters: {
            query?: {
                /** @description A version; the newest without it. */
                version?: string;
            };
            header?: {
                /** @description The ETag of the document that you have: 304 when it is the newest. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The slug of the skill. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    /** @description How long the document may be kept. */
                    "Cache-Control"?: string;
                    /** @description The version of the document. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example ---
                     *     name: x402-pay
                     *     description: "Pays for a resource."
                     *     ---
                     *
                     *     # Pay for a resource
                     */
                    "text/markdown; charset=utf-8": string;
                };
            };
        };
    };
    "get-v1-skills-slug-mcp-tools-json": {
        parameters: {
            query?: {
                /** @description A version; the newest without it. */
                version?: string;
            };
            header?: {
                /** @description The ETag of the document that you have: 304 when it is the newest. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The slug of the skill. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    /** @description How long the document may be kept. */
                    "Cache-Control"?: string;
                    /** @description The version of the document. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "tools": []
                     *     }
                     */
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    "get-v1-skills-slug-openapi-json": {
        parameters: {
            query?: {
                /** @description A version; the newest without it. */
                version?: string;
            };
            header?: {
                /** @description The ETag of the document that you have: 304 when it is the newest. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The slug of the skill. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    /** @description How long the document may be kept. */
                    "Cache-Control"?: string;
                    /** @description The version of the document. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "openapi": "3.1.0",
                     *       "paths": {}
                     *     }
                     */
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    "get-v1-skills-slug-spec": {
        parameters: {
            query?: {
                /** @description A version; the newest without it. */
                version?: string;
            };
            header?: {
                /** @description The ETag of the document that you have: 304 when it is the newest. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The slug of the skill. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    /** @description How long the document may be kept. */
                    "Cache-Control"?: string;
                    /** @description The version of the document. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "actions": [],
                     *       "schemaVersion": "1.0",
                     *       "slug": "x402-pay",
                     *       "version": "1.0.0"
                     *     }
                     */
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    "get-v1-skills-slug-versions": {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the document that you have: 304 when it is the newest. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The slug of the skill. */
                slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    /** @description How long the document may be kept. */
                    "Cache-Control"?: string;
                    /** @description The version of the document. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *           "specUrl": "https://pay.example.com/v1/skills/x402-pay/spec?version=1.0.0",
                     *           "status": "available",
                     *           "version": "1.0.0"
                     *         }
                     *       ],
                     *       "total": 1
                     *     }
                     */
                    "application/json": components["schemas"]["SkillVersionListBody"];
                };
            };
        };
    };
    "get-v1-usage": {
        parameters: {
            query?: {
                /** @description The first day. */
                from?: string;
                /** @description The last day. */
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The days with any usage. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "from": "2026-11-20",
                     *       "items": [
                     *         {
                     *           "date": "2026-11-21",
                     *           "feesSponsored": "330000",
                     *           "network": "stellar:testnet",
                     *           "settlements": {
                     *             "accepted": 11,
                     *             "failed": 0,
                     *             "pending": 1,
                     *             "refused": 0
                     *           },
                     *           "verifications": {
                     *             "accepted": 12,
                     *             "refused": 1
                     *           }
                     *         }
                     *       ],
                     *       "to": "2026-11-21"
                     *     }
                     */
                    "application/json": components["schemas"]["UsageResponse"];
                };
            };
        };
    };
    "get-v1-vault-secrets": {
        parameters: {
            query?: {
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description nextCursor of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of secrets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "createdAt": "2026-11-21T09:30:00Z",
                     *           "id": "sec_2nAbCdEfGhIjKlMnOpQrSt",
                     *           "name": "weather upstream",
                     *           "purpose": "bearer",
                     *           "updatedAt": "2026-11-21T09:30:00Z"
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "limit": 20,
                     *         "nextCursor": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["SecretListBody"];
                };
            };
        };
    };
    "post-v1-vault-secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "weather upstream",
                 *       "purpose": "bearer",
                 *       "value": "s3cr3t-t0ken"
                 *     }
                 */
                "application/json": components["schemas"]["CreateSecretRequest"];
            };
        };
        responses: {
            /** @description The secret, without its value. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "createdAt": "2026-11-21T09:30:00Z",
                     *       "id": "sec_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "name": "weather upstream",
                     *       "purpose": "bearer",
                     *       "updatedAt": "2026-11-21T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["SecretBody"];
                };
            };
        };
    };
    "delete-v1-vault-secrets-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The secret's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "post-v1-vault-secrets-id-rotate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The secret's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "value": "an0ther-t0ken"
                 *     }
                 */
                "application/json": components["schemas"]["RotateSecretRequest"];
            };
        };
        responses: {
            /** @description The secret, without its value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "createdAt": "2026-11-21T09:30:00Z",
                     *       "id": "sec_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "name": "weather upstream",
                     *       "purpose": "bearer",
                     *       "updatedAt": "2026-11-21T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["SecretBody"];
                };
            };
        };
    };
    "get-v1-wrappers": {
        parameters: {
            query?: {
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description nextCursor of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of wrappers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "accepts": [
                     *             {
                     *               "amount": "10000",
                     *               "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *               "network": "stellar:testnet",
                     *               "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR"
                     *             }
                     *           ],
                     *           "authHeader": null,
                     *           "authType": "none",
                     *           "createdAt": "2026-11-23T09:30:00Z",
                     *           "description": "",
                     *           "enabled": false,
                     *           "endpoint": "https://farebox.example/gateway/city-weather",
                     *           "id": "wrp_2nAbCdEfGhIjKlMnOpQrSt",
                     *           "isRepeatable": false,
                     *           "keepAnswerBytes": 65536,
                     *           "maxConcurrentRequests": 50,
                     *           "maxRequestBytes": 1048576,
                     *           "maxResponseBytes": 5242880,
                     *           "method": null,
                     *           "mimeType": "application/json",
                     *           "monthlyRequestQuota": 100000,
                     *           "name": "City weather",
                     *           "otherPaths": "base",
                     *           "requestsPerMinute": 60,
                     *           "routes": [],
                     *           "scheme": "exact",
                     *           "secretId": null,
                     *           "slug": "city-weather",
                     *           "tags": [
                     *             "weather"
                     *           ],
                     *           "timeoutSeconds": 30,
                     *           "updatedAt": "2026-11-23T09:30:00Z",
                     *           "upstreamUrl": "https://api.weather.example/v1"
                     *         }
                     *       ],
                     *       "pagination": {
                     *         "limit": 20,
                     *         "nextCursor": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["WrapperListBody"];
                };
            };
        };
    };
    "post-v1-wrappers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "amount": "10000",
                 *       "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                 *       "name": "City weather",
                 *       "network": "stellar:testnet",
                 *       "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                 *       "tags": [
                 *         "weather"
                 *       ],
                 *       "upstreamUrl": "https://api.weather.example/v1"
                 *     }
                 */
                "application/json": components["schemas"]["CreateWrapperRequest"];
            };
        };
        responses: {
            /** @description The wrapper. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "accepts": [
                     *         {
                     *           "amount": "10000",
                     *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "network": "stellar:testnet",
                     *           "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR"
                     *         }
                     *       ],
                     *       "authHeader": null,
                     *       "authType": "none",
                     *       "createdAt": "2026-11-23T09:30:00Z",
                     *       "description": "",
                     *       "enabled": false,
                     *       "endpoint": "https://farebox.example/gateway/city-weather",
                     *       "id": "wrp_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "isRepeatable": false,
                     *       "keepAnswerBytes": 65536,
                     *       "maxConcurrentRequests": 50,
                     *       "maxRequestBytes": 1048576,
                     *       "maxResponseBytes": 5242880,
                     *       "method": null,
                     *       "mimeType": "application/json",
                     *       "monthlyRequestQuota": 100000,
                     *       "name": "City weather",
                     *       "otherPaths": "base",
                     *       "requestsPerMinute": 60,
                     *       "routes": [],
                     *       "scheme": "exact",
                     *       "secretId": null,
                     *       "slug": "city-weather",
                     *       "tags": [
                     *         "weather"
                     *       ],
                     *       "timeoutSeconds": 30,
                     *       "updatedAt": "2026-11-23T09:30:00Z",
                     *       "upstreamUrl": "https://api.weather.example/v1"
                     *     }
                     */
                    "application/json": components["schemas"]["WrapperBody"];
                };
            };
        };
    };
    "get-v1-wrappers-slug": {
        parameters: {
            query: {
                /** @description The name. */
                name: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The slug. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "available": true,
                     *       "modified": false,
                     *       "slug": "city-weather"
                     *     }
                     */
                    "application/json": components["schemas"]["SlugBody"];
                };
            };
        };
    };
    "get-v1-wrappers-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The wrapper's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The wrapper. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "accepts": [
                     *         {
                     *           "amount": "10000",
                     *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "network": "stellar:testnet",
                     *           "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR"
                     *         }
                     *       ],
                     *       "authHeader": null,
                     *       "authType": "none",
                     *       "createdAt": "2026-11-23T09:30:00Z",
                     *       "description": "",
                     *       "enabled": false,
                     *       "endpoint": "https://farebox.example/gateway/city-weather",
                     *       "id": "wrp_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "isRepeatable": false,
                     *       "keepAnswerBytes": 65536,
                     *       "maxConcurrentRequests": 50,
                     *       "maxRequestBytes": 1048576,
                     *       "maxResponseBytes": 5242880,
                     *       "method": null,
                     *       "mimeType": "application/json",
                     *       "monthlyRequestQuota": 100000,
                     *       "name": "City weather",
                     *       "otherPaths": "base",
                     *       "requestsPerMinute": 60,
                     *       "routes": [],
                     *       "scheme": "exact",
                     *       "secretId": null,
                     *       "slug": "city-weather",
                     *       "tags": [
                     *         "weather"
                     *       ],
                     *       "timeoutSeconds": 30,
                     *       "updatedAt": "2026-11-23T09:30:00Z",
                     *       "upstreamUrl": "https://api.weather.example/v1"
                     *     }
                     */
                    "application/json": components["schemas"]["WrapperBody"];
                };
            };
        };
    };
    "delete-v1-wrappers-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The wrapper's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    "patch-v1-wrappers-id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The wrapper's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "amount": "10000"
                 *     }
                 */
                "application/json": components["schemas"]["WrapperFields"];
            };
        };
        responses: {
            /** @description The wrapper. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "accepts": [
                     *         {
                     *           "amount": "10000",
                     *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "network": "stellar:testnet",
                     *           "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR"
                     *         }
                     *       ],
                     *       "authHeader": null,
                     *       "authType": "none",
                     *       "createdAt": "2026-11-23T09:30:00Z",
                     *       "description": "",
                     *       "enabled": false,
                     *       "endpoint": "https://farebox.example/gateway/city-weather",
                     *       "id": "wrp_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "isRepeatable": false,
                     *       "keepAnswerBytes": 65536,
                     *       "maxConcurrentRequests": 50,
                     *       "maxRequestBytes": 1048576,
                     *       "maxResponseBytes": 5242880,
                     *       "method": null,
                     *       "mimeType": "application/json",
                     *       "monthlyRequestQuota": 100000,
                     *       "name": "City weather",
                     *       "otherPaths": "base",
                     *       "requestsPerMinute": 60,
                     *       "routes": [],
                     *       "scheme": "exact",
                     *       "secretId": null,
                     *       "slug": "city-weather",
                     *       "tags": [
                     *         "weather"
                     *       ],
                     *       "timeoutSeconds": 30,
                     *       "updatedAt": "2026-11-23T09:30:00Z",
                     *       "upstreamUrl": "https://api.weather.example/v1"
                     *     }
                     */
                    "application/json": components["schemas"]["WrapperBody"];
                };
            };
        };
    };
    "get-v1-wrappers-id-analytics": {
        parameters: {
            query?: {
                /** @description How many at most; 100 are given at most. */
                limit?: number;
                /** @description nextCursor of the page before. */
                cursor?: string;
                /** @description UTC days that are summed up, today included. */
                days?: number;
            };
            header?: never;
            path: {
                /** @description The wrapper's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The analytics. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "days": [],
                     *       "owed": 0,
                     *       "pagination": {
                     *         "limit": 20,
                     *         "nextCursor": null
                     *       },
                     *       "payments": [],
                     *       "requests": [],
                     *       "summary": {
                     *         "averageLatencyMs": null,
                     *         "errors": {},
                     *         "outcomes": {},
                     *         "p50LatencyMs": null,
                     *         "p95LatencyMs": null,
                     *         "p99LatencyMs": null,
                     *         "requestBytes": 0,
                     *         "requests": 0,
                     *         "responseBytes": 0,
                     *         "successful": 0
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["AnalyticsBody"];
                };
            };
        };
    };
    "post-v1-wrappers-id-check": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The wrapper's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "credentialProblem": null,
                     *       "offer": {
                     *         "accepts": [],
                     *         "error": "Payment required",
                     *         "x402Version": 2
                     *       },
                     *       "ready": true,
                     *       "settingsProblem": null,
                     *       "upstream": {
                     *         "latencyMs": 81,
                     *         "problem": null,
                     *         "status": 200
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["CheckBody"];
                };
            };
        };
    };
    "post-v1-wrappers-id-disable": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The wrapper's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The wrapper. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "accepts": [
                     *         {
                     *           "amount": "10000",
                     *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "network": "stellar:testnet",
                     *           "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR"
                     *         }
                     *       ],
                     *       "authHeader": null,
                     *       "authType": "none",
                     *       "createdAt": "2026-11-23T09:30:00Z",
                     *       "description": "",
                     *       "enabled": false,
                     *       "endpoint": "https://farebox.example/gateway/city-weather",
                     *       "id": "wrp_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "isRepeatable": false,
                     *       "keepAnswerBytes": 65536,
                     *       "maxConcurrentRequests": 50,
                     *       "maxRequestBytes": 1048576,
                     *       "maxResponseBytes": 5242880,
                     *       "method": null,
                     *       "mimeType": "application/json",
                     *       "monthlyRequestQuota": 100000,
                     *       "name": "City weather",
                     *       "otherPaths": "base",
                     *       "requestsPerMinute": 60,
                     *       "routes": [],
                     *       "scheme": "exact",
                     *       "secretId": null,
                     *       "slug": "city-weather",
                     *       "tags": [
                     *         "weather"
                     *       ],
                     *       "timeoutSeconds": 30,
                     *       "updatedAt": "2026-11-23T09:30:00Z",
                     *       "upstreamUrl": "https://api.weather.example/v1"
                     *     }
                     */
                    "application/json": components["schemas"]["WrapperBody"];
                };
            };
        };
    };
    "post-v1-wrappers-id-enable": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The wrapper's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The wrapper. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "accepts": [
                     *         {
                     *           "amount": "10000",
                     *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                     *           "network": "stellar:testnet",
                     *           "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR"
                     *         }
                     *       ],
                     *       "authHeader": null,
                     *       "authType": "none",
                     *       "createdAt": "2026-11-23T09:30:00Z",
                     *       "description": "",
                     *       "enabled": true,
                     *       "endpoint": "https://farebox.example/gateway/city-weather",
                     *       "id": "wrp_2nAbCdEfGhIjKlMnOpQrSt",
                     *       "isRepeatable": false,
                     *       "keepAnswerBytes": 65536,
                     *       "maxConcurrentRequests": 50,
                     *       "maxRequestBytes": 1048576,
                     *       "maxResponseBytes": 5242880,
                     *       "method": null,
                     *       "mimeType": "application/json",
                     *       "monthlyRequestQuota": 100000,
                     *       "name": "City weather",
                     *       "otherPaths": "base",
                     *       "requestsPerMinute": 60,
                     *       "routes": [],
                     *       "scheme": "exact",
                     *       "secretId": null,
                     *       "slug": "city-weather",
                     *       "tags": [
                     *         "weather"
                     *       ],
                     *       "timeoutSeconds": 30,
                     *       "updatedAt": "2026-11-23T09:30:00Z",
                     *       "upstreamUrl": "https://api.weather.example/v1"
                     *     }
                     */
                    "application/json": components["schemas"]["WrapperBody"];
                };
            };
        };
    };
    "post-verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "paymentPayload": {
                 *         "accepted": {
                 *           "amount": "10000",
                 *           "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                 *           "extra": {
                 *             "areFeesSponsored": true
                 *           },
                 *           "maxTimeoutSeconds": 60,
                 *           "network": "stellar:testnet",
                 *           "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                 *           "scheme": "exact"
                 *         },
                 *         "payload": {
                 *           "transaction": "AAAAAgAAAABG…"
                 *         },
                 *         "x402Version": 2
                 *       },
                 *       "paymentRequirements": {
                 *         "amount": "10000",
                 *         "asset": "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
                 *         "extra": {
                 *           "areFeesSponsored": true
                 *         },
                 *         "maxTimeoutSeconds": 60,
                 *         "network": "stellar:testnet",
                 *         "payTo": "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR",
                 *         "scheme": "exact"
                 *       },
                 *       "x402Version": 2
                 *     }
                 */
                "application/json": components["schemas"]["PaymentRequestBody"];
            };
        };
        responses: {
            /** @description The verdict. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "isValid": true,
                     *       "payer": "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKTL3"
                     *     }
                     */
                    "application/json": components["schemas"]["VerifyResponse"];
                };
            };
        };
    };
}
