"""The RQ worker that runs jobs and survives crashes, shutdowns and outages."""
