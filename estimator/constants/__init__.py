"""Constants of the estimates, as rows with evidence: value, unit, where it acts, basis, n, error, source, date."""
