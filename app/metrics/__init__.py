"""What Prometheus reads: numbers of this process, and numbers of the whole service out of Postgres and Redis."""
