"""One room for each estimate: what is asked, how it is computed, its working, its answer, its examples."""
