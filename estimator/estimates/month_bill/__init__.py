"""The bill of a month of usage: by model, day and channel, and what other ways would have cost."""
