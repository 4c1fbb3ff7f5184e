/** The owner switches the database on again while its volume is being removed: the volume stays. */
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import { Checks, change, live, runningDeployment } from './steps.ts';

const HELD_MS = 60_000;
const APPLIED_MS = 30_000;

/** With the first list, the listener notes the claim to which the confirmation applies. With the second, it starts the removal. */
const READ_OF_REMOVAL = 2;

const isListOfClaims = ({ client, verb, resource }: KubernetesRequest) =>
  client === 'listener' && verb === 'list' && resource === 'persistentvolumeclaims';

interface Fields {
  readonly spec?: { readonly database?: { readonly removeVolume?: boolean } };
}

const databaseReturns: FaultPlan = {
  name: 'deletion/volume/database-returns',
  says: 'The owner removes the volume of the database. The database is switched on again while the listener reads the claim: the claim stays.',
  recreates: ['StatefulSet', 'Service', 'NetworkPolicy'],
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const { id, app } = await runningDeployment(world);
    const claim = () => live(world, RESOURCES.PersistentVolumeClaim, `${app}-db`);
    const before = await claim();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await change(world, id, { source_config: { database: { enabled: false } } });
    await world.ready(id);
    let lists = 0;
    const rule = world.kubernetes.add({
      match: (request) => isListOfClaims(request) && ++lists === READ_OF_REMOVAL,
      fault: { kind: 'before', run: () => released },
      times: 1,
    });
    await change(world, id, { source_config: { database: { enabled: false, remove_volume: true } } });
    await rule.waitTaken(1, HELD_MS);
    await change(world, id, { source_config: { database: { enabled: true } } });
    const isApplied = async () => {
      const { spec } = (await live(world, RESOURCES.ManagedDeployment, app)) as Fields;
      return spec?.database?.removeVolume !== true;
    };
    await waitFor('the change to be applied', isApplied, { timeoutMs: APPLIED_MS, intervalMs: 50 });
    release();
    await world.ready(id);
    const { metadata } = await claim();
    checks.that(metadata.uid === before.metadata.uid, 'the volume claim was deleted and created again');
    checks.that(metadata.deletionTimestamp === undefined, 'the volume claim is being deleted');
    return checks.violations;
  },
};

export const volumeRemovalPlans: readonly FaultPlan[] = [databaseReturns];
