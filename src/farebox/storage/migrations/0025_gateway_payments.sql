SET LOCAL lock_timeout = '5s';

-- Paid requests of a wrapper in its present minute and month (UTC), and those in progress.
CREATE TABLE wrapper_counters (
    wrapper_id text PRIMARY KEY REFERENCES wrappers (id) ON DELETE CASCADE,
    minute timestamptz NOT NULL,
    minute_count integer NOT NULL,
    month timestamptz NOT NULL,
    month_count integer NOT NULL,
    in_progress integer NOT NULL CHECK (in_progress >= 0)
);

-- Payments at the gateway: each is bound to the request that presented it first.
CREATE TABLE gateway_payments (
    network text NOT NULL,
    payer text NOT NULL,
    nonce bigint NOT NULL,
    wrapper_id text NOT NULL,                             -- a deleted wrapper's payments stay
    owner text NOT NULL,
    slug text NOT NULL,
    binding bytea NOT NULL CHECK (octet_length(binding) = 32),
    request_digest bytea NOT NULL,                        -- as in settlements
    method text NOT NULL,
    path text NOT NULL,
    asset text NOT NULL,
    amount numeric(39, 0) NOT NULL,
    pay_to text NOT NULL,
    state text NOT NULL CHECK (state IN ('reserved', 'paid', 'delivered', 'owed', 'refunded')),
    minute timestamptz NOT NULL,                          -- the windows that it was counted in
    month timestamptz NOT NULL,
    tx_hash bytea,                                        -- known once it is paid
    attempts smallint NOT NULL DEFAULT 0,
    attempt_until timestamptz,                            -- an attempt is in progress until then
    may_repeat boolean NOT NULL DEFAULT true,             -- the upstream may get it again
    status smallint,                                      -- of the last upstream response
    reserved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    paid_at timestamptz,
    ended_at timestamptz,                                 -- delivered, owed or refunded

    PRIMARY KEY (network, payer, nonce),
    CHECK ((state = 'reserved') = (paid_at IS NULL)),
    CHECK (state = 'reserved' OR tx_hash IS NOT NULL)
);

CREATE INDEX gateway_payments_hash ON gateway_payments (tx_hash) WHERE tx_hash IS NOT NULL;
CREATE INDEX gateway_payments_open ON gateway_payments (reserved_at)
    WHERE state IN ('reserved', 'paid');
CREATE INDEX gateway_payments_wrapper ON gateway_payments (wrapper_id, reserved_at DESC);

-- Responses that were delivered, sealed, to be replayed to the same request.
CREATE TABLE gateway_responses (
    network text NOT NULL,
    payer text NOT NULL,
    nonce bigint NOT NULL,
    status smallint NOT NULL,
    sealed bytea NOT NULL,                                -- headers and body
    expires_at timestamptz NOT NULL,

    PRIMARY KEY (network, payer, nonce),
    FOREIGN KEY (network, payer, nonce) REFERENCES gateway_payments ON DELETE CASCADE
);

CREATE INDEX gateway_responses_expiry ON gateway_responses (expires_at);
