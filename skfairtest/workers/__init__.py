"""Work sent to threads, processes and clusters, and the errors that say why these failed."""
