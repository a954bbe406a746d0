"""MAFT, EIDIG and ADF: gradient-guided testing."""
