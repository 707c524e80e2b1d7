-- Version 9 to 10: power limits of modules of CPU and GPU, in watts of their own.
ALTER TABLE trial ADD COLUMN module_cap_w REAL;
ALTER TABLE actual ADD COLUMN module_cap_w REAL;
ALTER TABLE total ADD COLUMN module_cap_acted_pct REAL;
