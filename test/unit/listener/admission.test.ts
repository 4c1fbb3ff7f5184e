import { expect, it } from 'vitest';
import type { LeaseRequest } from '../../../src/contract/lease-protocol.ts';
import { createAdmission } from '../../../src/listener/admission.ts';
import type { HubClient } from '../../../src/listener/hub-client.ts';
import { settle } from './fixtures.ts';

const request = (reachable: boolean): LeaseRequest => ({
  holder: 'me',
  version: '1',
  cluster_version: '',
  rendering: null,
  epoch: null,
  cluster_reachable: reachable,
});

it('a lease that was granted while the cluster did not answer admits nobody; the next one with its word does', async () => {
  const hub = { lease: async () => ({ epoch: 1, ttl_seconds: 15 }) } as unknown as HubClient;
  const admission = createAdmission(hub);
  let admitted = false;
  const waiting = admission.wait(new AbortController().signal).then(() => {
    admitted = true;
  });
  await admission.hub.lease(request(false));
  await settle();
  expect(admitted).toBe(false);
  await admission.hub.lease(request(true));
  await waiting;
  await admission.wait(AbortSignal.abort());
});
