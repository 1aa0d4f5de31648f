"""Folders of ``crystal-eval train`` in a report: what was trained, how it went, and whether it got better."""
