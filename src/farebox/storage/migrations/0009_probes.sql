SET LOCAL lock_timeout = '5s';

-- The concrete place that the payment was for whose text stands in the listing: what is asked whose
-- it is, where `url` shows a route template. Never shown.
ALTER TABLE listings ADD COLUMN asked_url text;

-- What resources said for themselves when nobody paid, one row a listing that is probed. A state
-- changes only after several equal results in a row. `due_at` is the lease as well: who takes a row
-- moves it on, so whoever dies with one loses it with its time.
CREATE TABLE listing_probes (
    listing_id bigint PRIMARY KEY REFERENCES listings ON DELETE CASCADE,
    pay_to text NOT NULL,                          -- the recipient the results are about
    state text NOT NULL DEFAULT 'unknown',
    seen text,                                     -- the last result, and how often in a row
    times smallint NOT NULL DEFAULT 0,
    checked_at timestamptz,
    changed_at timestamptz,
    due_at timestamptz NOT NULL
) WITH (fillfactor = 80);

CREATE INDEX listing_probes_due ON listing_probes (due_at);
