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

-- What is counted of a listing's use under its present binding.
CREATE TABLE listing_quality (
    listing_id bigint PRIMARY KEY REFERENCES listings ON DELETE CASCADE,
    payers integer NOT NULL,                       -- independent ones, see decision 21
    settlements bigint NOT NULL,                   -- by payers that count
    counted_at timestamptz NOT NULL
) WITH (fillfactor = 70);
