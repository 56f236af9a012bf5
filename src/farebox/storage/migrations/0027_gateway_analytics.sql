SET LOCAL lock_timeout = '5s';

-- Requests to wrappers, for thirty days.
CREATE TABLE gateway_requests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    wrapper_id text NOT NULL,
    at timestamptz NOT NULL,
    request_id text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,                                   -- below the wrapper's URL, without query
    status smallint NOT NULL,                             -- of our response
    outcome text NOT NULL,
    error_code text,
    duration_ms integer NOT NULL,
    request_bytes bigint NOT NULL,
    response_bytes bigint NOT NULL,
    tx_hash bytea
);

CREATE INDEX gateway_requests_wrapper ON gateway_requests (wrapper_id, at DESC, id DESC);
CREATE INDEX gateway_requests_at ON gateway_requests (at);

-- The same by wrapper, UTC day and outcome, for ever. Latencies are counted in classes.
CREATE TABLE wrapper_days (
    wrapper_id text NOT NULL,
    day date NOT NULL,
    outcome text NOT NULL,
    error_code text NOT NULL,                             -- '' without one
    requests bigint NOT NULL,
    duration_ms bigint NOT NULL,
    request_bytes bigint NOT NULL,
    response_bytes bigint NOT NULL,
    latencies bigint[] NOT NULL CHECK (array_length(latencies, 1) = 76),

    PRIMARY KEY (wrapper_id, day, outcome, error_code)
);
