-- Version 11 to 12: the power limit of a channel's device, which bounds what its sensor does not see.
ALTER TABLE channel ADD COLUMN most_w REAL;
