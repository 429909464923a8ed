"""The RQ worker that runs selections and survives crashes, shutdowns and outages."""
