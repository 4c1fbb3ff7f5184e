import { expect, it } from 'vitest';
import type { ReflectorHandlers } from '../../../../../src/cluster/kube/cache/reflector.ts';
import { EnvSecrets } from '../../../../../src/cluster/listener/apply/env-secrets.ts';
import { PullSecrets } from '../../../../../src/cluster/listener/apply/pull-secret.ts';
import { followResources } from '../../../../../src/cluster/listener/report/follow-resources.ts';
import { Outbox } from '../../../../../src/cluster/listener/report/outbox.ts';
import type { Resource } from '../../../../../src/cluster/listener/resource-view.ts';
import { contentHash } from '../../../../../src/domain/core/hash.ts';
import { recordingLogger } from '../../kube/support.ts';
import { applyWork, FakeCluster, NAME, NAMESPACE, specOf, workSpec } from '../fixtures.ts';

/** A custom resource as applied by a listener, or by an account that can compute the hash. */
function resource(generation: number, more: object = {}, metadata: object = {}): Resource {
  const spec = specOf(1, more);
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: {
      name: NAME,
      namespace: NAMESPACE,
      uid: 'uid',
      generation,
      labels: { ...applyWork().labels, 'berth.dev/tenant-id': spec.tenantId ?? '' },
      annotations: { 'berth.dev/spec-hash': contentHash(workSpec(spec)) },
      ...metadata,
    },
    spec,
  };
}

/** Keys that the hub must compare after this change. */
function compared(old: Resource, changed: Resource, isOwnWrite = false): string[] {
  const { client } = new FakeCluster();
  const outbox = new Outbox();
  let handlers: ReflectorHandlers<Resource> = {};
  const view = {
    isOwnWrite: () => isOwnWrite,
    addHandlers: (added: ReflectorHandlers<Resource>) => {
      handlers = added;
      return () => undefined;
    },
  };
  const secrets = new EnvSecrets({ client, logger: recordingLogger() });
  followResources({ view: view as never, secrets, pullSecrets: new PullSecrets(client) }, outbox);
  handlers.updated?.(changed, old);
  return [...outbox.takeTouched().touched.keys()];
}

const KEY = `${NAMESPACE}/${NAME}`;

it('the hub compares a spec that another account has edited, even if the annotation has its hash', () => {
  const forged = resource(2, { revision: { id: 'r1', number: 1, image: 'evil:1' } });
  expect(compared(resource(1), forged)).toEqual([KEY]);
  const ahead = resource(2, { recordGeneration: 2_000_000_000 });
  expect(compared(resource(1), ahead)).toEqual([KEY]);
});

it('the hub compares nothing after a write of this listener, or of a status', () => {
  expect(compared(resource(1), resource(2, { suspend: true }), true)).toEqual([]);
  const status = { observedRecordGeneration: 1, conditions: [] };
  expect(compared(resource(1), { ...resource(1), status })).toEqual([]);
});

it('the hub compares a resource that has lost its labels', () => {
  expect(compared(resource(1), resource(1, {}, { labels: {} }))).toEqual([KEY]);
});
