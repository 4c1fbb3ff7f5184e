/** Somebody deletes a Secret of a deployment. Nobody may watch Secrets: their witness tells it (decision 0023). */

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { appName, LABELS } from '../../../src/contract/resource/names.ts';
import { SENTINEL_LABEL } from '../../../src/workloads/objects/secret-sentinel.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import type { FaultWorld } from '../world.ts';
import { broken, live, type RunningDeployment, within } from './steps.ts';

const WITHIN_S = 5;
const WITNESS_S = 30;

/** By what their names end in: the password, its copy, the environment of the first revision. */
const SECRETS = ['db', 'db-copy', 'env-1'] as const;

async function standingWithSecrets(world: FaultWorld): Promise<RunningDeployment> {
  const body = smallDeployment('shop', { secrets: [{ name: 'TOKEN', value: 'first' }] });
  const { id } = await world.create(body);
  await world.ready(id);
  await world.quiet({ forMs: SETTLED_MS });
  return { id, app: appName('shop', id) };
}

/** From then on it is noticed. */
const hasWitness = async (world: FaultWorld, { app }: RunningDeployment): Promise<boolean> => {
  const { items } = await world.admin.listAll<UntypedObject>(RESOURCES.ControllerRevision, {
    namespace: world.namespace,
    labelSelector: `${LABELS.instance}=${app},${SENTINEL_LABEL}`,
  });
  return items.length === 1 && items[0]?.metadata.ownerReferences?.length === SECRETS.length;
};

async function podsOf(world: FaultWorld, { app }: RunningDeployment): Promise<string> {
  const labelSelector = `${LABELS.instance}=${app}`;
  const { items } = await world.admin.listAll(RESOURCES.Pod, { namespace: world.namespace, labelSelector });
  return items
    .map(({ metadata }) => metadata.uid)
    .sort()
    .join();
}

function deletedPlan(suffix: string): FaultPlan {
  return {
    name: `kubectl/deleted/secrets-${suffix}`,
    says: `Somebody deletes a Secret (*-${suffix}): it is there again within ${WITHIN_S} s with what it held, and no pod is another.`,
    run: async (world): Promise<Violation[]> => {
      const shop = await standingWithSecrets(world);
      const name = `${shop.app}-${suffix}`;
      const unwitnessed = await within(WITNESS_S, 'a witness of all', () => hasWitness(world, shop));
      if (unwitnessed.length > 0) return unwitnessed;
      const before = await live(world, RESOURCES.Secret, name);
      const pods = await podsOf(world, shop);
      await world.kubectl('delete', 'secrets', name, '--wait=false');
      const late = await within(WITHIN_S, `another Secret ${name}`, async () => {
        const { metadata } = await live(world, RESOURCES.Secret, name);
        return metadata.uid !== before.metadata.uid;
      });
      if (late.length > 0) return late;
      await world.ready(shop.id);
      const now = await live(world, RESOURCES.Secret, name);
      const isSame = JSON.stringify(now['data']) === JSON.stringify(before['data']);
      return [
        ...(isSame ? [] : [broken('it holds something else')]),
        ...((await podsOf(world, shop)) === pods ? [] : [broken('pods were replaced')]),
      ];
    },
  };
}

export const kubectlSecretPlans: readonly FaultPlan[] = SECRETS.map(deletedPlan);
