-- Owners by what they have stored (bytes), with jobs under way and device time (seconds).
WITH stored (owner_id, part, bytes) AS (
    SELECT owner_id, 'datasets', num_bytes + 150 * num_rows FROM datasets
    UNION ALL SELECT owner_id, 'names', pg_column_size(result) + coalesce(pg_column_size(classifier), 0) FROM prompt_contents
    UNION ALL SELECT owner_id, 'names', pg_column_size(data) FROM prompt_pools
    UNION ALL SELECT owner_id, 'names', 150 + coalesce(octet_length(text) + octet_length(label), 0) FROM prompt_examples
    UNION ALL SELECT owner_id, 'jobs', reserved_bytes FROM jobs
    UNION ALL SELECT owner_id, 'results', pg_column_size(result) FROM reports JOIN jobs ON jobs.id = job_id
    UNION ALL SELECT owner_id, 'results', pg_column_size(classifier) FROM classifiers JOIN jobs ON jobs.id = job_id
    UNION ALL SELECT owner_id, 'results', pg_column_size(data) FROM pools JOIN jobs ON jobs.id = job_id
    UNION ALL SELECT owner_id, 'checkpoints', pg_column_size(data) + coalesce(pg_column_size(best), 0)
        FROM checkpoints JOIN jobs ON jobs.id = job_id
    UNION ALL SELECT label, '', 0 FROM counters WHERE name = 'device_seconds'
), parts AS (SELECT owner_id, sum(bytes) AS stored, sum(bytes) FILTER (WHERE part = 'datasets') AS datasets,
    sum(bytes) FILTER (WHERE part = 'results') AS results, sum(bytes) FILTER (WHERE part = 'checkpoints') AS checkpoints
    FROM stored GROUP BY owner_id
)
SELECT *, (SELECT count(*) FROM prompts WHERE owner_id = parts.owner_id AND NOT is_deleted) AS names,
    (SELECT count(*) FROM jobs WHERE owner_id = parts.owner_id) AS jobs,
    (SELECT count(*) FROM jobs WHERE owner_id = parts.owner_id AND status IN ('queued', 'running', 'cancelling')) AS under_way,
    (SELECT value FROM counters WHERE name = 'device_seconds' AND label = owner_id) AS device_seconds
FROM parts ORDER BY stored DESC, owner_id;
