"""Networks of one hidden layer: bounds by unit, and a local search."""
