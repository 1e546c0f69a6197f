-- When a lease was given, or last renewed; null where a server of before did. One that was given
-- later than now, since the clock has been set back, is over after its length.

ALTER TABLE agui_threads ADD COLUMN lease_given_at DOUBLE PRECISION;
ALTER TABLE agui_threads ADD COLUMN lease_doubted_until DOUBLE PRECISION;
