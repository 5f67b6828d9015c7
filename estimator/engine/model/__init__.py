"""What a model is to the estimator: layer groups, exact parameter counts, cache rules, and their stored form."""
