/** What of a state is compared with that of another run (O1). */
import { expect, test } from 'vitest';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { withoutVersions, withValues } from '../../faults/state.ts';

const secret = (name: string, values: Readonly<Record<string, string>>): UntypedObject =>
  ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels: { [LABELS.instance]: 'shop-1' } },
    data: Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    ),
  }) as UntypedObject;

test('of an environment the values are compared, of credentials all but what is generated', () => {
  expect(withValues(secret('shop-1-env-2', { TOKEN: 'second', password: 'mine' }))['data']).toEqual({
    TOKEN: 'second',
    password: 'mine',
  });
  for (const name of ['shop-1-db', 'shop-1-db-copy'])
    expect(
      withValues(secret(name, { host: 'shop-1-db', password: 'a7', uri: 'postgres://x:a7@y' }))['data'],
    ).toEqual({ host: 'shop-1-db', password: '<password>', uri: 'postgres://x:<password>@y' });
});

test('the generation counts where nobody but Berth writes what is wanted', () => {
  const object = (kind: string) =>
    ({ apiVersion: 'v1', kind, metadata: { name: 'shop-1', generation: 3 } }) as unknown as UntypedObject;
  expect(withoutVersions(object('Deployment')).metadata).toEqual({ name: 'shop-1', generation: 3 });
  expect(withoutVersions(object('ReplicaSet')).metadata).toEqual({ name: 'shop-1' });
});
