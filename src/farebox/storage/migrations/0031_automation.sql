SET LOCAL lock_timeout = '5s';

-- Plans of owners, from the proposal to the last run. What a plan calls is never changed after it
-- was proposed. Times are the database's.
CREATE TABLE automation_proposals (
    id text PRIMARY KEY,                                  -- auto_…
    owner text NOT NULL,
    network text NOT NULL,
    account text,                                         -- whose tokens move; NULL: an operator's open plan
    account_kind text NOT NULL DEFAULT 'unknown'
        CHECK (account_kind IN ('g', 'oz_b', 'oz_c', 'oz_d', 'passkey1', 'unknown')),
    kind text NOT NULL CHECK (kind IN ('contract_call', 'dca', 'rebalance', 'disbursement')),
    title text NOT NULL,
    authority_mode text NOT NULL CHECK (authority_mode IN ('session', 'mandate', 'presigned', 'open')),
    spec text NOT NULL,                                   -- the payload, canonical JSON
    calls text NOT NULL,                                  -- what a run calls: `authority/stored_calls`
    session_spec bytea,                                   -- XDR; NULL in the modes presigned and open
    intent_hash bytea NOT NULL CHECK (octet_length(intent_hash) = 32),
    policy_id bytea NOT NULL UNIQUE CHECK (octet_length(policy_id) = 32),
    target_wasm_hash bytea CHECK (octet_length(target_wasm_hash) = 32),
    delegate bytea NOT NULL CHECK (octet_length(delegate) = 32),    -- the public key
    delegate_key bytea,                                   -- sealed; NULL once shredded

    schedule text NOT NULL,                               -- JSON as the caller sent it
    missed_runs text NOT NULL CHECK (missed_runs IN ('skip', 'catch_up_one', 'catch_up_all')),
    lateness_s integer NOT NULL CHECK (lateness_s >= 0),
    session_interval_s integer NOT NULL DEFAULT 1 CHECK (session_interval_s >= 0),
    not_before timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    legs smallint NOT NULL DEFAULT 1 CHECK (legs BETWEEN 1 AND 100),  -- transactions of one run
    on_leg_error text NOT NULL DEFAULT 'stop' CHECK (on_leg_error IN ('stop', 'continue')),
    max_fee bigint NOT NULL CHECK (max_fee > 0),          -- stroops of one transaction

    run_limit integer NOT NULL CHECK (run_limit > 0),
    runs_credited integer NOT NULL DEFAULT 0,
    runs_consumed integer NOT NULL DEFAULT 0,             -- succeeded and partial ones
    runs_succeeded integer NOT NULL DEFAULT 0,
    auth_limit integer NOT NULL,
    auths_used integer NOT NULL DEFAULT 0,

    status text NOT NULL DEFAULT 'proposed' CHECK (status IN (
        'proposed', 'payment_pending', 'paid', 'active', 'paused',
        'completed', 'cancelled', 'failed', 'expired')),
    status_reason text,
    is_cancelling boolean NOT NULL DEFAULT false,         -- cancelled once its open run is resolved
    failures_in_row smallint NOT NULL DEFAULT 0,
    ceilings_hit smallint NOT NULL DEFAULT 0,             -- runs in a row that the fee ceiling refused
    overdue_at timestamptz,                               -- when its state expires; NULL: final
    events bigint NOT NULL DEFAULT 0,                     -- the number of its last event
    version integer NOT NULL DEFAULT 1,                   -- counts the changes of its status
    idempotency_key text,
    request_digest bytea,                                 -- of the request with that key
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),

    UNIQUE (owner, idempotency_key),
    CHECK (runs_succeeded <= runs_consumed AND runs_consumed <= runs_credited
        AND runs_credited <= run_limit),
    CHECK (auths_used <= auth_limit),
    CHECK (account IS NOT NULL OR authority_mode = 'open'),
    CHECK (not_before < expires_at)
);

CREATE INDEX automation_proposals_owner ON automation_proposals (owner, created_at DESC, id DESC);
CREATE INDEX automation_proposals_intent ON automation_proposals (owner, intent_hash)
    WHERE status IN ('proposed', 'payment_pending', 'paid', 'active', 'paused');
CREATE INDEX automation_proposals_overdue ON automation_proposals (network, overdue_at)
    WHERE overdue_at IS NOT NULL;
CREATE INDEX automation_proposals_key_version
    ON automation_proposals (substring(delegate_key FROM 1 FOR 4), id) WHERE delegate_key IS NOT NULL;

-- What the owner authorized on the chain for a plan.
CREATE TABLE automation_sessions (
    proposal_id text PRIMARY KEY REFERENCES automation_proposals (id) ON DELETE CASCADE,
    mode text NOT NULL CHECK (mode IN ('session', 'mandate', 'presigned', 'open')),
    state text NOT NULL DEFAULT 'material_issued' CHECK (state IN (
        'material_issued', 'installed', 'revoked', 'expired', 'closed_by_service')),
    rule_ids integer[] NOT NULL DEFAULT '{}',             -- context rules of a smart account
    guard_id text,
    verifier_id text,
    mandate_id text,
    installer_tx bytea CHECK (octet_length(installer_tx) = 32),
    installed_ledger bigint,
    valid_until_ledger bigint,
    valid_until timestamptz,
    onchain_uses integer,                                 -- as read in `onchain_checked_ledger`
    onchain_checked_ledger bigint,
    presigned_total smallint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Authorization entries that the owner signed in advance, one for each leg of each run.
CREATE TABLE automation_presigned (
    proposal_id text NOT NULL REFERENCES automation_proposals (id) ON DELETE CASCADE,
    run_index integer NOT NULL CHECK (run_index >= 0),
    leg_index smallint NOT NULL DEFAULT 0 CHECK (leg_index >= 0),
    nonce bigint NOT NULL,
    expiration_ledger bigint NOT NULL,
    entry bytea,                                          -- sealed XDR; NULL once destroyed
    state text NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'used', 'destroyed')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),

    PRIMARY KEY (proposal_id, run_index, leg_index),
    UNIQUE (proposal_id, nonce),
    CHECK ((state = 'ready') = (entry IS NOT NULL))
);

CREATE INDEX automation_presigned_key_version
    ON automation_presigned (substring(entry FROM 1 FOR 4), proposal_id) WHERE entry IS NOT NULL;

-- Runs, and legs of runs. Only one row of a plan is due: `due_at` of the others is NULL.
CREATE TABLE automation_runs (
    id text PRIMARY KEY,                                  -- run_…
    proposal_id text NOT NULL REFERENCES automation_proposals (id),
    run_index integer NOT NULL CHECK (run_index >= 0),
    leg_index smallint NOT NULL DEFAULT 0 CHECK (leg_index >= 0),
    network text NOT NULL,                                -- these three as in the proposal, for claims
    owner text NOT NULL,
    account text,
    scheduled_for timestamptz NOT NULL,
    deadline_at timestamptz NOT NULL,                     -- the last moment in which it may land
    state text NOT NULL DEFAULT 'scheduled' CHECK (state IN (
        'scheduled', 'claimed', 'checking', 'building', 'submitted', 'deferred', 'retry_wait',
        'reconciling', 'succeeded', 'partial', 'failed', 'missed', 'skipped', 'abandoned')),
    state_reason text,
    error_class text,                                     -- of the last error, as in 3.9
    error_code text,
    due_at timestamptz,                                   -- when it may be claimed; NULL: final, or after another
    attempts smallint NOT NULL DEFAULT 0,                 -- tries, those before anything was sent included
    lease_epoch bigint NOT NULL DEFAULT 0,                -- only grows: an earlier holder cannot write
    checked_ledger bigint,                                -- in which a condition held last
    auth_nonce bigint,                                    -- of every authorization of this row
    channel text,                                         -- kept with its number until resolved
    channel_sequence bigint,
    tx_hash bytea CHECK (octet_length(tx_hash) = 32),
    ledger bigint,
    fee_charged bigint NOT NULL DEFAULT 0,                -- stroops, of all attempts
    effects text,                                         -- JSON: token movements of the account
    result bytea,                                         -- XDR: what the call returned
    executed_by text CHECK (executed_by IN ('service', 'third_party')),
    receipt text,                                         -- a signed JSON line
    finished_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),

    UNIQUE (proposal_id, run_index, leg_index),
    CHECK ((state IN ('succeeded', 'partial', 'failed', 'missed', 'skipped', 'abandoned'))
        = (finished_at IS NOT NULL)),
    CHECK (finished_at IS NULL OR due_at IS NULL)
) WITH (fillfactor = 80);                                 -- a claim changes no indexed column (HOT)

CREATE UNIQUE INDEX automation_runs_one_open ON automation_runs (proposal_id)
    WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX automation_runs_nonce ON automation_runs (network, account, auth_nonce)
    WHERE auth_nonce IS NOT NULL;
CREATE INDEX automation_runs_due ON automation_runs (network, due_at, id)
    WHERE due_at IS NOT NULL;                             -- those in progress are few, and passed over

-- Who works on a run, and until when. In a table of its own, which stays small.
CREATE TABLE automation_leases (
    run_id text PRIMARY KEY,                              -- no reference: a claim is to be cheap
    network text NOT NULL,
    holder text NOT NULL,
    until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- How many runs of an owner are in progress, so that no claim counts them.
CREATE TABLE automation_owners (
    network text NOT NULL,
    owner text NOT NULL,
    running smallint NOT NULL DEFAULT 0 CHECK (running >= 0),
    account_running smallint NOT NULL DEFAULT 0 CHECK (account_running >= 0),  -- of the owner's account

    PRIMARY KEY (network, owner)
) WITH (fillfactor = 70);

CREATE FUNCTION count_automation_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO automation_owners (network, owner) VALUES (NEW.network, NEW.owner)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE TRIGGER automation_proposals_owner AFTER INSERT ON automation_proposals
    FOR EACH ROW EXECUTE FUNCTION count_automation_owner();

CREATE FUNCTION count_automation_running() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change smallint := CASE WHEN NEW.state IN (
        'claimed', 'checking', 'building', 'submitted', 'reconciling') THEN 1 ELSE -1 END;
BEGIN
    UPDATE automation_owners
    SET running = running + change,
        account_running = account_running + CASE WHEN NEW.account IS NULL THEN 0 ELSE change END
    WHERE network = NEW.network AND owner = NEW.owner;
    RETURN NULL;
END $$;

CREATE TRIGGER automation_runs_running AFTER UPDATE OF state ON automation_runs
    FOR EACH ROW WHEN (
        (OLD.state IN ('claimed', 'checking', 'building', 'submitted', 'reconciling'))
        <> (NEW.state IN ('claimed', 'checking', 'building', 'submitted', 'reconciling')))
    EXECUTE FUNCTION count_automation_running();

-- Envelopes of runs, each written before the network sees it.
CREATE TABLE automation_attempts (
    run_id text NOT NULL REFERENCES automation_runs (id),
    number smallint NOT NULL CHECK (number > 0),
    network text NOT NULL,
    tx_hash bytea NOT NULL UNIQUE CHECK (octet_length(tx_hash) = 32),   -- of the fee bump
    inner_hash bytea NOT NULL UNIQUE CHECK (octet_length(inner_hash) = 32),
    envelope bytea,                                       -- sealed; NULL once its outcome is known
    source text NOT NULL,
    source_sequence bigint NOT NULL,
    max_time timestamptz NOT NULL,
    auth_expiration_ledger bigint,                        -- NULL without an authorization
    fee_limit bigint NOT NULL,                            -- stroops: reserved until the outcome is known
    simulated_ledger bigint NOT NULL,
    sent_after_ledger bigint NOT NULL,
    budget_on date NOT NULL,                              -- the UTC day it counts on
    owner text NOT NULL,                                  -- whose budget
    outcome text NOT NULL DEFAULT 'prepared'
        CHECK (outcome IN ('prepared', 'sent', 'success', 'failed', 'dead', 'unknown')),
    error_code text,
    fee_charged bigint,
    prepared_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    sent_at timestamptz,                                  -- when a node took it
    finished_at timestamptz,

    PRIMARY KEY (run_id, number),
    CHECK ((outcome IN ('success', 'failed', 'dead', 'unknown')) = (finished_at IS NOT NULL))
);

-- A channel carries one envelope at a time, and so does a run.
CREATE UNIQUE INDEX automation_attempts_in_flight ON automation_attempts (network, source)
    WHERE outcome IN ('prepared', 'sent');
CREATE UNIQUE INDEX automation_attempts_of_run ON automation_attempts (run_id)
    WHERE outcome IN ('prepared', 'sent');
CREATE INDEX automation_attempts_key_version
    ON automation_attempts (substring(envelope FROM 1 FOR 4), run_id) WHERE envelope IS NOT NULL;

-- Payments for runs, through settlement.
CREATE TABLE automation_payments (
    id text PRIMARY KEY,                                  -- apay_…
    proposal_id text NOT NULL REFERENCES automation_proposals (id),
    quote_revision integer NOT NULL,
    runs integer NOT NULL CHECK (runs > 0),
    network text NOT NULL,
    asset text NOT NULL,
    amount numeric(39, 0) NOT NULL CHECK (amount >= 0),
    pay_to text NOT NULL,
    payment_identifier text NOT NULL UNIQUE,              -- auto_…_<revision>
    is_top_up boolean NOT NULL DEFAULT false,
    state text NOT NULL CHECK (state IN ('quoted', 'pending', 'confirmed', 'failed')),
    payer text,                                           -- with `nonce` the payment's identity
    nonce bigint,
    request_digest bytea CHECK (octet_length(request_digest) = 32),
    tx_hash bytea CHECK (octet_length(tx_hash) = 32),     -- a stranger's may carry several payments
    receipt text,
    valid_until timestamptz NOT NULL,                     -- of the quote
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),

    UNIQUE (proposal_id, quote_revision),
    UNIQUE (network, payer, nonce),
    CHECK (state <> 'confirmed' OR tx_hash IS NOT NULL OR amount = 0)
);

CREATE UNIQUE INDEX automation_payments_in_flight ON automation_payments (proposal_id)
    WHERE state = 'pending';
CREATE INDEX automation_payments_pending ON automation_payments (network, updated_at)
    WHERE state = 'pending';

-- Paid runs that no plan holds; an owner's balance on a network is the sum of `runs`.
CREATE TABLE run_credits (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    owner text NOT NULL,
    network text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('purchase', 'consume', 'return', 'grant')),
    runs integer NOT NULL,                                -- below 0 for what a plan takes
    proposal_id text REFERENCES automation_proposals (id),
    payment_id text REFERENCES automation_payments (id),
    note text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),

    CHECK (runs <> 0 AND (kind = 'consume') = (runs < 0)),
    UNIQUE (payment_id)                                   -- a payment is credited once
);

CREATE INDEX run_credits_owner ON run_credits (owner, network, id);

-- What happened to a plan, for its owner; numbers rise by one within a plan.
CREATE TABLE automation_events (
    proposal_id text NOT NULL REFERENCES automation_proposals (id) ON DELETE CASCADE,
    number bigint NOT NULL,
    kind text NOT NULL,
    data text NOT NULL DEFAULT '{}',                      -- JSON without secrets
    at timestamptz NOT NULL DEFAULT clock_timestamp(),

    PRIMARY KEY (proposal_id, number)
);

-- Channel accounts of the paymaster, derived from its key; a run keeps its channel until resolved.
CREATE TABLE automation_channels (
    network text NOT NULL,
    address text NOT NULL,
    derivation_index integer NOT NULL CHECK (derivation_index >= 0),
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'draining', 'retired')),
    used_sequence bigint,                                 -- the last number used; NULL = read the chain
    run_id text REFERENCES automation_runs (id),          -- NULL = free
    freed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at timestamptz NOT NULL,

    PRIMARY KEY (network, address),
    UNIQUE (network, derivation_index),
    UNIQUE (run_id)
) WITH (fillfactor = 70);

CREATE INDEX automation_channels_free ON automation_channels (network, freed_at)
    WHERE state = 'active' AND run_id IS NULL;

-- Fees of runs, reserved and spent, by UTC day; `name` is '' for the whole network.
CREATE TABLE automation_spend (
    network text NOT NULL,
    day date NOT NULL,
    scope text NOT NULL CHECK (scope IN ('total', 'owner')),
    name text NOT NULL,
    stroops bigint NOT NULL CHECK (stroops >= 0),

    PRIMARY KEY (network, day, scope, name)
) WITH (fillfactor = 70);

-- A network on which the operator has stopped automation.
CREATE TABLE automation_stops (
    network text PRIMARY KEY,
    stopped_at timestamptz NOT NULL
);
