"""`lens answers`: a process that holds models, and answers at once what the API asks over HTTP. It has no store."""
