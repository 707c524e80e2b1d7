-- Version 10 to 11: how runs waited for their GPUs to cool down.
ALTER TABLE run ADD COLUMN cooldown_c REAL;
ALTER TABLE run ADD COLUMN cooldown_s REAL;
ALTER TABLE run ADD COLUMN begin_c REAL;
ALTER TABLE run ADD COLUMN not_cool TEXT;
