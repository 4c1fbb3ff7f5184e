/** What the real API server itself fills in is no addition: nothing of it is named or removed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKubeClient, type KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { KubeObject, UntypedObject } from '../../../../src/cluster/kube/client/object.ts';
import { withHash } from '../../../../src/cluster/kube/compare/compare.ts';
import { additionsOf } from '../../../../src/cluster/operator/changes/added-fields.ts';
import { ADDITION_RULES } from '../../../../src/cluster/operator/changes/added-rules.ts';
import { ANNOTATIONS } from '../../../../src/contract/resource/names.ts';
import { FIELD_CASES, GOLDEN_CASES } from '../../../unit/workloads/golden-cases.ts';
import { render, SELF_HOSTED } from '../../../unit/workloads/render-request.ts';
import { createNamespace, deleteNamespace, environment } from '../../harness/environment.ts';

let namespace: string;
let client: KubeClient;
beforeAll(async () => {
  namespace = await createNamespace('additions');
  client = await createKubeClient({
    kubeconfigPath: environment().kubeconfigPath,
    userAgent: 'berth-test',
    requestTimeoutMs: 30_000,
  });
});
afterAll(async () => {
  await deleteNamespace(namespace);
});

const CASES = [
  ...GOLDEN_CASES.map(({ name, request, config }) => [name, request, config] as const),
  ...FIELD_CASES.map(({ field, request }) => [`field ${field}`, request, SELF_HOSTED] as const),
];

test.each(CASES)('finds no addition in the stored objects of %s', async (_, request, config) => {
  const objects = render(request, config)
    .objects.map(({ object }) => object as KubeObject)
    .filter(({ kind }) => ADDITION_RULES[kind] !== undefined);
  expect(objects).not.toEqual([]);
  const found = await Promise.all(
    objects.map(async (object) => {
      const placed = { ...object, metadata: { ...object.metadata, namespace } };
      const sent = withHash(placed, ANNOTATIONS.appliedHash);
      const options = { dryRun: true, fieldManager: 'berth-operator' };
      const { kept, refused } = additionsOf(placed, await client.apply<UntypedObject>(sent, options));
      return [...kept, ...refused].map(({ path }) => `${object.kind}: ${path}`);
    }),
  );
  expect(found.flat()).toEqual([]);
});
