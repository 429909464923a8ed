"""The web page: what the service knows, to look at. It decides nothing; the same services answer the API."""
