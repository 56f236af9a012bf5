-- replaces 18db5e7cc9982d9212cef0dc512f7179ae69e6195dd0a5414564a87b285893d3
SET LOCAL lock_timeout = '5s';

-- How many listings are shown, by stretches of 1,024 ids: a total and a deep offset are read from
-- here, never by counting listings. Kept by triggers, so that whoever writes a listing counts it.
CREATE TABLE listing_counts (
    stretch bigint NOT NULL,                       -- listings.id >> 10
    network text NOT NULL,
    type text NOT NULL,
    extension_keys text[] NOT NULL,
    shown integer NOT NULL,

    PRIMARY KEY (stretch, network, type, extension_keys)
) WITH (fillfactor = 50);

-- One statement may bring a million rows: they are counted together.
CREATE FUNCTION count_new_listings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO listing_counts AS held (stretch, network, type, extension_keys, shown)
    SELECT id >> 10, network, type, extension_keys, count(*)
    FROM added WHERE removed_at IS NULL
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (stretch, network, type, extension_keys)
        DO UPDATE SET shown = held.shown + excluded.shown;
    RETURN NULL;
END $$;

-- What was not counted is not taken off: whoever empties both tables, in any order, is left with none.
CREATE FUNCTION recount_listing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.removed_at IS NULL THEN
        UPDATE listing_counts SET shown = shown - 1
        WHERE (stretch, network, type, extension_keys)
            = (OLD.id >> 10, OLD.network, OLD.type, OLD.extension_keys);
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.removed_at IS NULL THEN
        INSERT INTO listing_counts AS held (stretch, network, type, extension_keys, shown)
        VALUES (NEW.id >> 10, NEW.network, NEW.type, NEW.extension_keys, 1)
        ON CONFLICT (stretch, network, type, extension_keys)
            DO UPDATE SET shown = held.shown + 1;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION forget_listing_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM listing_counts;
    RETURN NULL;
END $$;

CREATE TRIGGER listings_added AFTER INSERT ON listings
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_new_listings();
CREATE TRIGGER listings_changed AFTER UPDATE ON listings
    FOR EACH ROW
    WHEN ((OLD.network, OLD.type, OLD.extension_keys, OLD.removed_at IS NULL)
        IS DISTINCT FROM (NEW.network, NEW.type, NEW.extension_keys, NEW.removed_at IS NULL))
    EXECUTE FUNCTION recount_listing();
CREATE TRIGGER listings_gone AFTER DELETE ON listings
    FOR EACH ROW EXECUTE FUNCTION recount_listing();
CREATE TRIGGER listings_emptied AFTER TRUNCATE ON listings
    FOR EACH STATEMENT EXECUTE FUNCTION forget_listing_counts();

-- The only scheme there is: the filter by scheme rests on it.
ALTER TABLE listing_terms ADD CONSTRAINT listing_terms_scheme CHECK (scheme = 'exact');

-- What is counted of a listing's use under its present binding. See decision 21.
CREATE TABLE listing_quality (
    listing_id bigint PRIMARY KEY REFERENCES listings ON DELETE CASCADE,
    payers integer NOT NULL,                       -- independent ones
    settlements bigint NOT NULL,                   -- by payers that count
    weighed integer NOT NULL,                      -- payers looked at: what the count has cost
    counted_at timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX listing_quality_oldest ON listing_quality (counted_at);

-- Listings whose payers have changed since they were counted. Nothing refers to a listing here: one
-- that is gone leaves its line with the next count.
CREATE TABLE listing_recounts (
    listing_id bigint PRIMARY KEY,
    changes bigint NOT NULL,                       -- a count takes the line off if this has stayed
    due_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);

CREATE INDEX listing_recounts_due ON listing_recounts (due_at);

CREATE FUNCTION ask_for_recount() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO listing_recounts AS asked (listing_id, changes)
    SELECT DISTINCT listing_id, 1 FROM changed ORDER BY listing_id
    ON CONFLICT (listing_id) DO UPDATE SET changes = asked.changes + 1;
    RETURN NULL;
END $$;

CREATE TRIGGER listing_payers_added AFTER INSERT ON listing_payers
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ask_for_recount();
CREATE TRIGGER listing_payers_changed AFTER UPDATE ON listing_payers
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ask_for_recount();
CREATE TRIGGER listing_payers_gone AFTER DELETE ON listing_payers
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ask_for_recount();

CREATE INDEX listing_payers_payer ON listing_payers (payer);

-- Who has paid whom at all, from every confirmed settlement, and how much went through each account.
CREATE TABLE payment_links (
    network text NOT NULL,
    payer text NOT NULL,
    pay_to text NOT NULL,

    PRIMARY KEY (network, pay_to, payer)
);

CREATE TABLE payment_flows (
    network text NOT NULL,
    account text NOT NULL,
    asset text NOT NULL,
    spent numeric NOT NULL DEFAULT 0,              -- base units, to others
    received numeric NOT NULL DEFAULT 0,           -- from others
    -- half of what it spent in this asset may be what it was paid here: less than that is not
    -- what it lives on, and would let anybody mark a stranger with a trifle
    is_funding boolean GENERATED ALWAYS AS (received > 0 AND received * 2 >= spent) STORED,

    PRIMARY KEY (network, account, asset)
);

CREATE INDEX payment_flows_funding ON payment_flows (network, account) WHERE is_funding;

-- How far the settlements are read: in the order in which they ended.
CREATE TABLE payment_reading (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    finished_at timestamptz NOT NULL,
    network text NOT NULL,
    payer text NOT NULL,
    nonce bigint NOT NULL
);

-- The index that this reads by is made by 0022, without keeping anybody from writing.
