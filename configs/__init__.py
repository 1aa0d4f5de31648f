"""YAML and CSV: encoders, and the tables of the paper."""
