import { expect, it } from 'vitest';
import { createAdmission } from '../../../../../src/cluster/listener/session/admission.ts';
import type { HubClient } from '../../../../../src/cluster/listener/session/hub-client.ts';
import type { LeaseRequest } from '../../../../../src/contract/protocol/lease-protocol.ts';
import { settle } from '../fixtures.ts';

const request = (reachable: boolean): LeaseRequest => ({
  holder: 'me',
  version: '1',
  cluster_version: '',
  rendering: null,
  epoch: null,
  cluster_reachable: reachable,
});

it('a lease admits the listener only when it was requested while the cluster responded', async () => {
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
