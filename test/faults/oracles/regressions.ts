/** O3: records every generation and active revision that decreases, in the database and in the cluster. */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import type { FaultWorld } from '../world.ts';

const SYNC_MS = 30_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const TRIGGERS = `
CREATE TABLE IF NOT EXISTS fault_ledger (nr bigserial, what text);
CREATE OR REPLACE FUNCTION note_regression() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE former int; latter int;
BEGIN
  SELECT number INTO former FROM public.revisions WHERE id = OLD.active_revision_id;
  SELECT number INTO latter FROM public.revisions WHERE id = NEW.active_revision_id;
  IF NEW.generation < OLD.generation THEN
    INSERT INTO public.fault_ledger (what) VALUES (format('generation %s -> %s', OLD.generation, NEW.generation));
  END IF;
  IF NEW.observed_generation < OLD.observed_generation THEN
    INSERT INTO public.fault_ledger (what)
      VALUES (format('observed_generation %s -> %s', OLD.observed_generation, NEW.observed_generation));
  END IF;
  IF latter < former THEN
    INSERT INTO public.fault_ledger (what) VALUES (format('active revision %s -> %s', former, latter));
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER regression AFTER UPDATE ON deployments FOR EACH ROW EXECUTE FUNCTION note_regression();`;

/** Numbers of a custom resource that never decrease while it is the same object. */
function numbersOf(object: UntypedObject): Record<string, number | undefined> {
  const { metadata, spec, status } = object as unknown as ManagedDeployment;
  return {
    generation: metadata.generation,
    'spec.recordGeneration': spec.recordGeneration,
    'status.observedGeneration': status?.observedGeneration,
    'status.observedRecordGeneration': status?.observedRecordGeneration,
    'status.activeRevision.number': status?.activeRevision?.number,
  };
}

export interface Regressions {
  /** The values that decreased since the last call, one line each. */
  seen(): Promise<string[]>;
  stop(): Promise<void>;
}

/** Records from now on, for every deployment of this world. */
export async function watchRegressions(world: FaultWorld): Promise<Regressions> {
  await world.sql(TRIGGERS);
  let decreases: string[] = [];
  const { admin: client, namespace } = world;
  const reflector = new Reflector<UntypedObject>({
    client,
    resource: RESOURCES.ManagedDeployment,
    namespace,
    logger: silent,
  });
  reflector.addHandlers({
    updated: (object, former) => {
      if (former.metadata.uid !== object.metadata.uid) return;
      const before = numbersOf(former);
      for (const [name, now] of Object.entries(numbersOf(object))) {
        const then = before[name];
        if (now !== undefined && then !== undefined && now < then)
          decreases.push(`${object.metadata.name} ${name} ${then} -> ${now}`);
      }
    },
  });
  reflector.start();
  await reflector.waitForSync(AbortSignal.timeout(SYNC_MS));
  return {
    seen: async () => {
      const rows = await world.sql<{ what: string }>('DELETE FROM fault_ledger RETURNING what');
      const seen = [...decreases, ...rows.map(({ what }) => `in the database: ${what}`)];
      decreases = [];
      return seen;
    },
    stop: () => reflector.stop(),
  };
}
