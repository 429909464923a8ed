"""Language models: loaded, fine-tuned, or spread over several devices."""
