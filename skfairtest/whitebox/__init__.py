"""What a fitted model says of itself: read by certificates and by gradient testers alike."""
