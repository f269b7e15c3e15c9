"""The benchmark on the user's own machine: how well search finds, how fast, and a model fitted anew."""
