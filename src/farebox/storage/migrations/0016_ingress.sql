-- How often each address and key has asked within a minute, and what each caller has used.
CREATE UNLOGGED TABLE ingress_counts (
    name text NOT NULL,
    window_start timestamptz NOT NULL,
    asked integer NOT NULL,
    PRIMARY KEY (name, window_start)
) WITH (fillfactor = 50);

CREATE TABLE usage_counts (
    owner text NOT NULL,
    used_on date NOT NULL,
    network text NOT NULL,
    metered text NOT NULL,                                -- what was counted
    amount bigint NOT NULL,
    PRIMARY KEY (owner, used_on, network, metered)
) WITH (fillfactor = 70);
