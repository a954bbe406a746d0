"""What a fitted model says of itself: features, links, trees, layers; reads, bounds nothing."""
