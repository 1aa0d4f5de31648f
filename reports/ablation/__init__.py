"""Runs scored again with other encoders and thresholds: how much of a result hangs on those choices."""
