-- Version 21 to 22: requests to campaigns.
CREATE TABLE control(
  id              INTEGER PRIMARY KEY,
  campaign        INTEGER NOT NULL REFERENCES campaign,
  action          TEXT NOT NULL CHECK (action IN ('pause', 'resume', 'cancel', 'retry')),
  run             INTEGER REFERENCES run,
  asked_wall_ns   INTEGER NOT NULL,
  asked_by        TEXT NOT NULL,
  acted_wall_ns   INTEGER,
  outcome         TEXT
) STRICT;
CREATE INDEX control_by_campaign ON control(campaign);
CREATE INDEX control_by_run ON control(run);
