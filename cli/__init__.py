"""The command line ``crystal-eval``."""
