"""Create all tables.

Revision: 0001, the first
"""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_DATASETS = """
CREATE TABLE datasets (
    id varchar(40) COLLATE "C" CONSTRAINT pk_datasets PRIMARY KEY,
    owner_id varchar(100) NOT NULL,
    name varchar(200),
    sha256 varchar(64) NOT NULL,
    format varchar(20) NOT NULL CONSTRAINT ck_datasets_format_known
        CHECK (format IN ('csv', 'jsonl', 'json', 'text', 'workbook', 'inline')),
    num_rows integer NOT NULL CONSTRAINT ck_datasets_not_empty CHECK (num_rows > 0),
    num_bytes bigint NOT NULL DEFAULT '0',
    label_counts jsonb NOT NULL, warnings jsonb NOT NULL,
    input jsonb,
    is_kept boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ix_datasets_owner_id_id ON datasets (owner_id, id);
CREATE INDEX ix_datasets_owner_id_sha256 ON datasets (owner_id, sha256);

CREATE TABLE examples (
    dataset_id varchar(40) COLLATE "C"
        CONSTRAINT fk_examples_dataset_id_datasets REFERENCES datasets (id) ON DELETE CASCADE,
    row integer CONSTRAINT ck_examples_row_not_negative CHECK (row >= 0),
    text text NOT NULL,
    label text NOT NULL,
    CONSTRAINT pk_examples PRIMARY KEY (dataset_id, row)
);
"""

# Room on each page for new versions of its rows, and long specs out of line, so that a renewed lease copies little. No
# index has `lease_until`: a renewal that changes no indexed column writes to no index.
_JOBS = """
CREATE TABLE jobs (
    id varchar(40) COLLATE "C" CONSTRAINT pk_jobs PRIMARY KEY,
    owner_id varchar(100) NOT NULL,
    name varchar(200),
    dataset_id varchar(40) COLLATE "C" NOT NULL CONSTRAINT fk_jobs_dataset_id_datasets REFERENCES datasets (id),
    test_dataset_id varchar(40) COLLATE "C" CONSTRAINT fk_jobs_test_dataset_id_datasets REFERENCES datasets (id),
    spec jsonb NOT NULL,
    model text GENERATED ALWAYS AS (spec ->> 'model') STORED,
    num_labels integer,
    reserved_bytes bigint NOT NULL DEFAULT '0',
    request_id varchar(64),
    warnings jsonb NOT NULL DEFAULT '[]',
    status varchar(20) NOT NULL DEFAULT 'queued' CONSTRAINT ck_jobs_status_known
        CHECK (status IN ('queued', 'running', 'cancelling', 'cancelled', 'succeeded', 'failed')),
    phase varchar(20) CONSTRAINT ck_jobs_phase_known
        CHECK (phase IN ('filter', 'search', 'judge', 'fit', 'test')),
    progress jsonb,
    partial boolean, dtype varchar(20), digest varchar(64),
    stop_reason varchar(20) CONSTRAINT ck_jobs_stop_reason_known
        CHECK (stop_reason IN ('completed', 'budget', 'cancelled')),
    error jsonb, figures jsonb, provenance jsonb,
    attempt integer NOT NULL DEFAULT 0, crashes integer NOT NULL DEFAULT 0,
    holder varchar(32), lease_until timestamptz,
    not_before timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now(),
    queued_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz, cancel_requested_at timestamptz, cancelled_at timestamptz,
    succeeded_at timestamptz, failed_at timestamptz,
    CONSTRAINT ck_jobs_leased_while_running CHECK ((status IN ('running', 'cancelling')) = (lease_until IS NOT NULL)),
    CONSTRAINT ck_jobs_error_when_failed CHECK ((status = 'failed') = (error IS NOT NULL))
) WITH (fillfactor = 70, toast_tuple_target = 512);
CREATE INDEX ix_jobs_owner_id_id ON jobs (owner_id, id);
CREATE INDEX ix_jobs_owner_id_status_id ON jobs (owner_id, status, id);
CREATE INDEX ix_jobs_in_queue ON jobs (created_at, id) WHERE status = 'queued';
CREATE INDEX ix_jobs_held ON jobs (id) WHERE status IN ('running', 'cancelling');
CREATE INDEX ix_jobs_dataset_id ON jobs (dataset_id);
CREATE INDEX ix_jobs_test_dataset_id ON jobs (test_dataset_id);
"""

_OF_JOBS = """
CREATE TABLE events (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_events PRIMARY KEY,
    job_id varchar(40) COLLATE "C" NOT NULL CONSTRAINT fk_events_job_id_jobs REFERENCES jobs (id) ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT now(),
    type varchar(30) NOT NULL, data jsonb NOT NULL
);
CREATE INDEX ix_events_job_id_id ON events (job_id, id);

CREATE TABLE checkpoints (
    job_id varchar(40) COLLATE "C" CONSTRAINT pk_checkpoints PRIMARY KEY
        CONSTRAINT fk_checkpoints_job_id_jobs REFERENCES jobs (id) ON DELETE CASCADE,
    attempt integer NOT NULL, phase varchar(20) NOT NULL, step integer NOT NULL,
    data bytea NOT NULL,
    best jsonb,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE reports (
    job_id varchar(40) COLLATE "C" CONSTRAINT pk_reports PRIMARY KEY
        CONSTRAINT fk_reports_job_id_jobs REFERENCES jobs (id) ON DELETE CASCADE,
    result jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE classifiers (
    job_id varchar(40) COLLATE "C" CONSTRAINT pk_classifiers PRIMARY KEY
        CONSTRAINT fk_classifiers_job_id_jobs REFERENCES jobs (id) ON DELETE CASCADE,
    classifier jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE pools (
    job_id varchar(40) COLLATE "C" CONSTRAINT pk_pools PRIMARY KEY
        CONSTRAINT fk_pools_job_id_jobs REFERENCES jobs (id) ON DELETE CASCADE,
    digest varchar(64) NOT NULL,
    num_rows integer NOT NULL, data bytea NOT NULL
);
"""

_PROMPTS = """
CREATE TABLE prompts (
    owner_id varchar(100), name varchar(100) COLLATE "C",
    version integer NOT NULL, is_deleted boolean NOT NULL,
    CONSTRAINT pk_prompts PRIMARY KEY (owner_id, name)
);

CREATE TABLE prompt_versions (
    owner_id varchar(100), name varchar(100) COLLATE "C",
    version integer,
    selection_id varchar(40) COLLATE "C",
    digest varchar(64),
    summary jsonb NOT NULL,
    note varchar(500), key_name varchar(100),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pk_prompt_versions PRIMARY KEY (owner_id, name, version),
    CONSTRAINT fk_prompt_versions_owner_id_name_prompts FOREIGN KEY (owner_id, name) REFERENCES prompts,
    CONSTRAINT ck_prompt_versions_deletion_has_neither CHECK ((selection_id IS NULL) = (digest IS NULL))
);

CREATE TABLE prompt_contents (
    owner_id varchar(100), name varchar(100) COLLATE "C",
    digest varchar(64),
    result jsonb NOT NULL, classifier jsonb, pool_digest varchar(64),
    CONSTRAINT pk_prompt_contents PRIMARY KEY (owner_id, name, digest),
    CONSTRAINT fk_prompt_contents_owner_id_name_prompts FOREIGN KEY (owner_id, name) REFERENCES prompts
);

CREATE TABLE prompt_pools (
    owner_id varchar(100), name varchar(100) COLLATE "C",
    digest varchar(64),
    num_rows integer NOT NULL, first_added integer NOT NULL, data bytea NOT NULL,
    CONSTRAINT pk_prompt_pools PRIMARY KEY (owner_id, name, digest),
    CONSTRAINT fk_prompt_pools_owner_id_name_prompts FOREIGN KEY (owner_id, name) REFERENCES prompts
);

CREATE TABLE prompt_examples (
    owner_id varchar(100), name varchar(100) COLLATE "C",
    row integer, since integer, until integer,
    text text, label text,
    CONSTRAINT pk_prompt_examples PRIMARY KEY (owner_id, name, row, since),
    CONSTRAINT fk_prompt_examples_owner_id_name_prompts FOREIGN KEY (owner_id, name) REFERENCES prompts,
    CONSTRAINT ck_prompt_examples_text_has_label CHECK ((text IS NULL) = (label IS NULL))
);

CREATE TABLE prompt_evaluations (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_prompt_evaluations PRIMARY KEY,
    owner_id varchar(100) NOT NULL, name varchar(100) COLLATE "C" NOT NULL,
    version integer NOT NULL,
    title varchar(200),
    result jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT fk_prompt_evaluations_owner_id_name_prompts FOREIGN KEY (owner_id, name) REFERENCES prompts
);
CREATE INDEX ix_prompt_evaluations_owner_id_name_id ON prompt_evaluations (owner_id, name, id);
"""

_OWNERS = """
CREATE TABLE api_keys (
    id varchar(40) COLLATE "C" CONSTRAINT pk_api_keys PRIMARY KEY,
    owner_id varchar(100) NOT NULL, name varchar(100) NOT NULL, prefix varchar(20) NOT NULL,
    sha256 varchar(64) NOT NULL CONSTRAINT uq_api_keys_sha256 UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz
);

CREATE TABLE idempotency_keys (
    owner_id varchar(100),
    key varchar(255),
    body_sha256 varchar(64) NOT NULL,
    job_id varchar(40) COLLATE "C" NOT NULL,
    answer json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (owner_id, key)
);
CREATE INDEX ix_idempotency_keys_created_at ON idempotency_keys (created_at);

CREATE TABLE counters (
    name varchar(40), label varchar(40), value double precision NOT NULL,
    CONSTRAINT pk_counters PRIMARY KEY (name, label)
);
"""

# Triggers write the history, so that no code path can forget an event.
_NOTED = ("phase", "step", "steps", "survivors", "expected_accuracy")
_STEP = ", ".join(f"'{name}', {{0}}.progress -> '{name}'" for name in _NOTED)
_HISTORY = f"""
CREATE FUNCTION record_job_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR OLD.status IS DISTINCT FROM NEW.status THEN
        INSERT INTO events (job_id, at, type, data)
        VALUES (NEW.id, clock_timestamp(), 'status', jsonb_build_object(
            'from', CASE WHEN TG_OP = 'UPDATE' THEN OLD.status END, 'to', NEW.status, 'attempt', NEW.attempt));
    END IF;
    IF NEW.phase IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.phase IS DISTINCT FROM NEW.phase) THEN
        INSERT INTO events (job_id, at, type, data)
        VALUES (NEW.id, clock_timestamp(), 'phase', jsonb_build_object(
            'from', CASE WHEN TG_OP = 'UPDATE' THEN OLD.phase END, 'to', NEW.phase, 'attempt', NEW.attempt));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER record_job_change AFTER INSERT OR UPDATE OF status, phase ON jobs
FOR EACH ROW EXECUTE FUNCTION record_job_change();

CREATE FUNCTION note_step() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    noted jsonb := jsonb_build_object({_STEP.format("NEW")});
BEGIN
    IF OLD.progress IS NULL OR noted <> jsonb_build_object({_STEP.format("OLD")}) THEN
        INSERT INTO events (job_id, at, type, data) VALUES (NEW.id, clock_timestamp(), 'progress',
            noted || jsonb_build_object('pairs_done', NEW.progress -> 'pairs_done', 'attempt', NEW.attempt));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER note_step AFTER UPDATE OF progress ON jobs
FOR EACH ROW WHEN (NEW.progress IS NOT NULL) EXECUTE FUNCTION note_step();
"""


def upgrade() -> None:
    for part in (_DATASETS, _JOBS, _OF_JOBS, _PROMPTS, _OWNERS, _HISTORY):
        op.execute(part)
