"""What every request meets: authentication, limits, request ids, ETags, errors, OpenAPI. No resource is known here."""
