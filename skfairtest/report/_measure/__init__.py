"""The parts of an audit, one a file, and the course that runs them within its time."""
