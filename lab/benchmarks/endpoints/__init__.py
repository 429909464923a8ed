"""A model behind a server: agreement with the same model here, and what the client costs."""
