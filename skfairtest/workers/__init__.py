"""Work sent to threads, processes and clusters, and what is said where these fail."""
