"""FlipTest: the rows whose output changes when they are moved to another group."""
