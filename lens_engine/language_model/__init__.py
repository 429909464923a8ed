"""Language models: loaded, or spread over several devices."""
