"""One job, made safe: the RQ worker that runs selections."""
