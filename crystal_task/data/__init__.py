"""The data set that ships in the package: ``crystal_mini.parquet``, described in README.md, made by ``mini``."""

from pathlib import Path

MINI_FILE = Path(__file__).with_name("crystal_mini.parquet")
