-- What was done to keys, sessions, secrets and wrappers, and by whom; nothing secret is in it.
CREATE TABLE audit_trail (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner text NOT NULL,
    actor text NOT NULL,                                  -- session, key or operator
    actor_id text,                                        -- which key or session; no secret
    action text NOT NULL,
    subject text NOT NULL,                                -- the id of the record it was done to
    request_id text NOT NULL,
    done_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX audit_trail_owner ON audit_trail (owner, id DESC);
