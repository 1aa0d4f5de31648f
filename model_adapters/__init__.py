"""Models that the harness can call by id; ``manifests`` lists them, the classes load only when they are asked for."""
