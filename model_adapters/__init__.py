"""What the harness calls as a model: stand-ins, replays, and tiny models for tests."""
