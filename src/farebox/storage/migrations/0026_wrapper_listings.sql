SET LOCAL lock_timeout = '5s';

-- The wrapper that a listing with source 'wrapper' shows; its terms come from the wrapper, with
-- ledger 0.
ALTER TABLE listings ADD COLUMN wrapper_id text;

CREATE INDEX listings_wrapper ON listings (wrapper_id) WHERE wrapper_id IS NOT NULL;
