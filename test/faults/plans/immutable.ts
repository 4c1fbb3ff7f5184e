/** Immutable fields have changed, or a foreign object has the name: Berth rejects or replaces it, without loss of data. */

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { apiVersionOf, RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import { appName, FIELD_MANAGERS } from '../../../src/contract/resource/names.ts';
import type { Reason } from '../../../src/domain/conditions/conditions.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import {
  broken,
  change,
  imageChange,
  live,
  restartWithoutWaiting,
  runningDeployment,
  within,
} from './steps.ts';

const REPORTED_WITHIN_S = 30;
const POD = { containers: [{ name: 'main', image: 'registry.example/foreign:1' }] };
const LABELS = { app: 'foreign' };
const WORKLOAD = {
  selector: { matchLabels: LABELS },
  template: { metadata: { labels: LABELS }, spec: POD },
};

/** By kind: the suffix of the name of Berth's object, and the foreign object. */
const FOREIGN: readonly (readonly [Resource, string, object])[] = [
  [RESOURCES.Deployment, '-api', { spec: WORKLOAD }],
  [RESOURCES.StatefulSet, '-db', { spec: { ...WORKLOAD, serviceName: 'foreign' } }],
  [RESOURCES.Service, '', { spec: { selector: LABELS, ports: [{ port: 80 }] } }],
  [RESOURCES.ServiceAccount, '', {}],
  [RESOURCES.Secret, '-db', { stringData: { password: 'not-of-berth' } }],
  [
    RESOURCES.PersistentVolumeClaim,
    '-db',
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
  ],
];

/** Whether Berth has written the fields: the operator's applies, its scaling, or the listener. The plan's manager differs. */
const isBerths = ({ manager = '' }: { manager?: string }) =>
  Object.values(FIELD_MANAGERS).some((own) => manager.startsWith(own));

const objectOf = (world: FaultWorld, resource: Resource, name: string, body: object) =>
  ({
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name, namespace: world.namespace },
    ...body,
  }) as unknown as UntypedObject;

const conditionsOf = async (world: FaultWorld, id: string) =>
  (await world.call('GET', `/v2/deployments/${id}`)).body.conditions;

function foreignPlan([resource, suffix, body]: (typeof FOREIGN)[number]): FaultPlan {
  return {
    name: `immutable/foreign/${resource.plural}`,
    says: `A foreign ${resource.kind} has the name: it is left alone and reported as a conflict. Berth's is created when it is deleted.`,
    run: async (world): Promise<Violation[]> => {
      await world.kill('operator');
      const { id } = await world.create(smallDeployment('shop'));
      const app = appName('shop', id);
      const name = `${app}${suffix}`;
      const made = await world.admin.create(objectOf(world, resource, name, body));
      await restartWithoutWaiting(world, 'operator');
      const reported = await within(REPORTED_WITHIN_S, 'the conflict to be reported', async () =>
        (await conditionsOf(world, id)).some(
          ({ reason, message }) => reason === 'Conflict' && message.includes(name),
        ),
      );
      const now = await live(world, resource, name);
      // Writes of Berth to the foreign object are visible in the managers of its fields.
      const managers = (now.metadata as { managedFields?: { manager?: string }[] }).managedFields ?? [];
      const touched = now.metadata.uid !== made.metadata.uid || managers.some(isBerths);
      await world.kubectl('delete', resource.plural, name, '--wait=false');
      await world.until(
        id,
        'READY after the foreign object is gone',
        ({ status }) => status === 'READY',
        90_000,
      );
      await world.ready(id);
      return touched ? [...reported, broken(`the foreign ${resource.kind} was changed`)] : reported;
    },
  };
}

/** Reasons by which the operator reports a rejection. Other reasons, such as those of a failure, may name the object too. */
const REJECTIONS: ReadonlySet<string> = new Set<Reason>(['Refused', 'Conflict']);

interface Replaced {
  readonly name: string;
  readonly says: string;
  readonly resource: Resource;
  readonly suffix: string;
  /** Whether Berth does not set the changed field. Berth then keeps the object and continues to use it. */
  readonly isUnmanaged?: boolean;
  /** Changes the spec of the object before it is created again. */
  readonly change: (spec: Record<string, unknown>) => void;
}

function otherSelector(spec: Record<string, unknown>): void {
  const { selector, template } = spec as {
    selector: { matchLabels: Record<string, string> };
    template: { metadata: { labels: Record<string, string> } };
  };
  selector.matchLabels['faults.example/more'] = 'yes';
  template.metadata.labels['faults.example/more'] = 'yes';
}

const REPLACED: readonly Replaced[] = [
  {
    name: 'selector',
    says: 'another selector',
    resource: RESOURCES.Deployment,
    suffix: '-api',
    change: otherSelector,
  },
  {
    name: 'selector-of-database',
    says: 'another selector',
    resource: RESOURCES.StatefulSet,
    suffix: '-db',
    change: otherSelector,
  },
  {
    name: 'volume-claim-templates',
    says: 'claims of its own (volumeClaimTemplates)',
    resource: RESOURCES.StatefulSet,
    suffix: '-db',
    isUnmanaged: true,
    change: (spec) => {
      spec['volumeClaimTemplates'] = [
        {
          metadata: { name: 'more' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ];
    },
  },
];

/** Replaces the object by one with Berth's labels and owner, but with another value in an immutable field. */
async function replace(world: FaultWorld, name: string, { resource, change: alter }: Replaced) {
  const found = await live(world, resource, name);
  const { labels, annotations, ownerReferences } = found.metadata;
  const spec = structuredClone(found['spec']) as Record<string, unknown>;
  alter(spec);
  await world.kubectl('delete', resource.plural, name, '--cascade=orphan', '--wait=true');
  await world.admin.create(
    objectOf(world, resource, name, {
      metadata: { name, namespace: world.namespace, labels, annotations, ownerReferences },
      spec,
    }),
  );
}

function replacedPlan(replaced: Replaced): FaultPlan {
  const { name, says, resource, suffix, isUnmanaged = false } = replaced;
  const outcome = isUnmanaged ? 'the next change is applied' : 'replaced, or reported as rejected';
  return {
    name: `immutable/replaced/${name}`,
    says: `A user has replaced a ${resource.kind} by one with ${says} and Berth's labels: ${outcome}. The volume stays the same.`,
    run: async (world): Promise<Violation[]> => {
      const { id, app } = await runningDeployment(world);
      const object = `${app}${suffix}`;
      const volume = await live(world, RESOURCES.PersistentVolumeClaim, `${app}-db`);
      const wanted = await live(world, resource, object);
      await world.kill('operator');
      await replace(world, object, replaced);
      await restartWithoutWaiting(world, 'operator');
      await change(world, id, imageChange('2.0.0'));
      const outcomes = await within(REPORTED_WITHIN_S, outcome, async () => {
        const { status, remote_reconciled, conditions } = (await world.call('GET', `/v2/deployments/${id}`))
          .body;
        if (isUnmanaged && !(status === 'READY' && remote_reconciled))
          throw new Error(`${status}: ${JSON.stringify(conditions)}`);
        if (isUnmanaged) return true;
        const isReplaced = immutableFields(await live(world, resource, object)) === immutableFields(wanted);
        const isReported = conditions.some(
          ({ reason, message }) => REJECTIONS.has(reason) && message.includes(object),
        );
        return isReplaced || isReported;
      });
      // A rejected write is not retried at once. The object is deleted, and the next change creates it again.
      await world.kubectl('delete', resource.plural, object, '--ignore-not-found', '--wait=true');
      await change(world, id, imageChange('3.0.0'));
      await world.ready(id);
      const after = await live(world, RESOURCES.PersistentVolumeClaim, `${app}-db`);
      const kept = after.metadata.uid === volume.metadata.uid ? [] : [broken('the claim was replaced')];
      await world.kubectl('delete', 'pvc', `more-${object}-0`, '--ignore-not-found', '--wait=false');
      return [...outcomes, ...kept];
    },
  };
}

/** The fields of a workload that cannot be changed. */
function immutableFields(object: UntypedObject): string {
  const { selector, volumeClaimTemplates } = object['spec'] as Record<string, unknown>;
  return JSON.stringify([selector, volumeClaimTemplates ?? []]);
}

export const immutablePlans: readonly FaultPlan[] = [
  ...FOREIGN.map(foreignPlan),
  ...REPLACED.map(replacedPlan),
];
