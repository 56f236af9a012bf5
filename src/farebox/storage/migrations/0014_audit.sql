SET LOCAL lock_timeout = '5s';

-- What was done to keys, sessions, secrets and wrappers, and by whom; nothing secret is in it.
CREATE TABLE audit_trail (
    id text PRIMARY KEY,                                  -- random: it counts nobody's deeds
    owner text NOT NULL,
    actor text NOT NULL,                                  -- session, key or operator
    actor_id text,                                        -- which key or session; no secret
    action text NOT NULL,
    subject text NOT NULL,                                -- the id of the record it was done to
    request_id text NOT NULL,
    done_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX audit_trail_owner ON audit_trail (owner, done_at DESC, id DESC);
CREATE INDEX audit_trail_age ON audit_trail (done_at);
