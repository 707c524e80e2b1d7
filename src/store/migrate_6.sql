-- Version 6 to 7: whether what is known of a sensor was found by a calibration, and when.
ALTER TABLE channel ADD COLUMN calibrated TEXT;
