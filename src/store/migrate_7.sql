-- Version 7 to 8: whether caps acted, by what they limit: a power cap beside a locked clock says nothing of the other.
ALTER TABLE total DROP COLUMN caps_acted_pct;
ALTER TABLE total ADD COLUMN power_cap_acted_pct REAL;
ALTER TABLE total ADD COLUMN clock_acted_pct REAL;
ALTER TABLE total ADD COLUMN mem_clock_acted_pct REAL;
