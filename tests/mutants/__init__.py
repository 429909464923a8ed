"""Whether a test notices when a mechanism that keeps selections from being lost, stuck or run twice is gone."""
