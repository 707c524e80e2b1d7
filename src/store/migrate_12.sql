-- Version 12 to 13: what Slurm says of a run's energy.
ALTER TABLE run ADD COLUMN slurm_plugin TEXT;
ALTER TABLE run ADD COLUMN slurm_steps TEXT;
ALTER TABLE run ADD COLUMN slurm_j REAL;
ALTER TABLE run ADD COLUMN slurm_period_s REAL;
ALTER TABLE run ADD COLUMN slurm_why TEXT;
