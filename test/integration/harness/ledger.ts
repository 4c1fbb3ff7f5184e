/** Every change of a revision's status and of active_revision_id in a database, as a trigger saw it: none sampled. */
import pg from 'pg';

export interface Change {
  readonly deploymentId: string;
  /** null: of the deployment's active_revision_id, as numbers. */
  readonly revision: number | null;
  readonly before: string | null;
  readonly after: string | null;
}

const TRIGGERS = `
CREATE TABLE ledger (nr bigserial, deployment_id uuid, revision int, before text, after text);
CREATE FUNCTION note_revision() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
  INSERT INTO public.ledger (deployment_id, revision, before, after)
    VALUES (NEW.deployment_id, NEW.number, CASE WHEN TG_OP = 'UPDATE' THEN OLD.status END, NEW.status);
  RETURN NULL;
END $$;
CREATE FUNCTION note_active() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
  INSERT INTO public.ledger (deployment_id, before, after) SELECT NEW.id,
    (SELECT number FROM public.revisions WHERE id = OLD.active_revision_id),
    (SELECT number FROM public.revisions WHERE id = NEW.active_revision_id);
  RETURN NULL;
END $$;
CREATE TRIGGER made AFTER INSERT ON revisions FOR EACH ROW EXECUTE FUNCTION note_revision();
CREATE TRIGGER moved AFTER UPDATE ON revisions FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION note_revision();
CREATE TRIGGER activated AFTER UPDATE ON deployments FOR EACH ROW
  WHEN (OLD.active_revision_id IS DISTINCT FROM NEW.active_revision_id) EXECUTE FUNCTION note_active();`;

const READ = `
SELECT deployment_id AS "deploymentId", revision, before, after FROM ledger WHERE deployment_id = $1 ORDER BY nr`;

export interface Ledger {
  changes(deploymentId: string): Promise<Change[]>;
  stop(): Promise<void>;
}

/** @param databaseUrl of a user who may create triggers and is above row security */
export async function startLedger(databaseUrl: string): Promise<Ledger> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(TRIGGERS);
  return {
    changes: async (deploymentId) => (await client.query<Change>(READ, [deploymentId])).rows,
    stop: () => client.end(),
  };
}
