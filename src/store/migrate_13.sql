-- Version 13 to 14: the CPU that a run's measuring was bound to.
ALTER TABLE run ADD COLUMN sampler_cpu INTEGER;
