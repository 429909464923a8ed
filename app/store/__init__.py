"""What Postgres holds: tables, SQL of rows, datasets, prompts and pools, and what an owner may store."""
