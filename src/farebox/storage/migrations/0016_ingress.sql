-- replaces 9902245bccd586f8818887ef7159b4ea2158a14f75caca9d141810796395e4ff
SET LOCAL lock_timeout = '5s';

-- How often each asker has asked within a minute. Nothing of worth: it may be lost.
CREATE UNLOGGED TABLE ingress_counts (
    name text NOT NULL,                                   -- what is limited, and who asks
    window_start timestamptz NOT NULL,
    asked integer NOT NULL,                               -- refused ones included
    PRIMARY KEY (name, window_start)
) WITH (fillfactor = 50);

CREATE INDEX ingress_counts_window ON ingress_counts (window_start);

-- They take the place of validation_turns, which a process of the version before may still count in.

-- What each caller was answered. Every process writes what it has counted itself that day, as a
-- whole: written twice it counts once.
CREATE TABLE usage_counts (
    owner text NOT NULL,
    used_on date NOT NULL,                                -- UTC
    network text NOT NULL,
    metered text NOT NULL,                                -- what was counted
    counted_by uuid NOT NULL,                             -- the process
    amount bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (owner, used_on, network, metered, counted_by)
) WITH (fillfactor = 70);

CREATE INDEX usage_counts_day ON usage_counts (used_on);

-- The index of a caller's settlements is made by 0022, without keeping anybody from writing.
