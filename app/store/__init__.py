"""What Postgres holds: tables, SQL of rows, keys, datasets, prompts, pools; the queue in Redis. No route comes in."""
