"""From the folders that the harness wrote to tables that people read."""
