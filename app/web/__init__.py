"""HTTP concerns of every route: authentication, limits, request ids, ETags, errors."""
