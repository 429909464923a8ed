"""Note each step of a selection as an event: survivors of filtering, the best accuracies so far, pairs spent.

Revision: 0007, after 0006
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_NOTED = ("phase", "step", "steps", "survivors", "best_validation_accuracy", "best_random_accuracy")
_LIST = ", ".join(f"'{name}', {{0}}.progress -> '{name}'" for name in _NOTED)
_NOTE_STEP = f"""
CREATE FUNCTION note_step() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    noted jsonb := jsonb_build_object({_LIST.format("NEW")});
BEGIN
    IF OLD.progress IS NULL OR noted <> jsonb_build_object({_LIST.format("OLD")}) THEN
        INSERT INTO events (selection_id, at, type, data) VALUES (NEW.id, clock_timestamp(), 'progress',
            noted || jsonb_build_object('pairs_done', NEW.progress -> 'pairs_done', 'attempt', NEW.attempt));
    END IF;
    RETURN NULL;
END $$
"""
_CALL_IT = """
CREATE TRIGGER note_step AFTER UPDATE OF progress ON selections
FOR EACH ROW WHEN (NEW.kind = 'selection' AND NEW.progress IS NOT NULL) EXECUTE FUNCTION note_step()
"""


def upgrade() -> None:
    op.execute(_NOTE_STEP)
    op.execute(_CALL_IT)


def downgrade() -> None:
    op.execute("DROP TRIGGER note_step ON selections")
    op.execute("DROP FUNCTION note_step")
