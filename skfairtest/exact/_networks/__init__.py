"""Networks, and linear models of several classes: bounds refined by splitting."""
