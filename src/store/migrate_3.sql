-- Version 3 to 4: how often sensors move, and for how long GPU clocks were held down.
ALTER TABLE channel ADD COLUMN update_s REAL;
ALTER TABLE total ADD COLUMN power_capped_pct REAL;
ALTER TABLE total ADD COLUMN thermal_capped_pct REAL;
