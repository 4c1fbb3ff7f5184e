import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_INVENTORY, MAX_REPORTS } from '../../../../src/contract/protocol/report-protocol.ts';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { type ApiFixture, type Client, startApi } from '../../harness/api.ts';
import { observedReport } from '../../harness/hub.ts';

/** The whole API, whose body limits are those of production. */

let api: ApiFixture;
let listener: Client;
let epoch: number;

const path = `/v2/listeners/${PLATFORM_LISTENER_ID}`;

beforeAll(async () => {
  api = await startApi({ hosting: 'cloud' });
  listener = await api.client(null, ['listeners:run']);
  const lease = { holder: 'a', version: '1', cluster_version: 'v1.36.0', rendering: null, epoch: null };
  const answer = await listener.call<{ epoch: number }>('PUT', `${path}/lease`, lease);
  epoch = answer.body.epoch;
});
afterAll(() => api.stop());

const hash = 'f'.repeat(64);

describe('the size limit of a listener call', () => {
  it('accepts an inventory with the largest number of resources', async () => {
    const items = Array.from({ length: MAX_INVENTORY }, () => ({
      deployment_id: randomUUID(),
      name: `a-name-of-a-deployment-as-they-are-given-${randomUUID()}`.slice(0, 63),
      namespace: `berth-${randomUUID()}`,
      uid: randomUUID(),
      generation: 12_345,
      spec_hash: hash,
      applied_hash: hash,
    }));
    const answer = await listener.call<{ due: number; unknown: string[] }>('POST', `${path}/inventory`, {
      epoch,
      complete: true,
      items,
    });
    expect(answer.status, JSON.stringify(answer.body).slice(0, 500)).toBe(200);
    expect(answer.body.unknown).toHaveLength(MAX_INVENTORY);
  });

  it('accepts the largest number of reports, each with ten conditions of maximum length', async () => {
    const conditions = Array.from({ length: 10 }, (_, index) => ({
      type: `Condition${index}`,
      status: 'False',
      reason: 'RolloutInProgress',
      message: 'm'.repeat(1024),
      lastTransitionTime: new Date().toISOString(),
    }));
    const reports = Array.from({ length: MAX_REPORTS }, () =>
      observedReport({ id: randomUUID(), appName: 'shop', namespace: 'apps', generation: 1 }, { conditions }),
    );
    const answer = await listener.call('POST', `${path}/reports`, { epoch, seq: 1, reports });
    expect(answer).toMatchObject({ status: 200, body: { accepted_seq: 1 } });
  });

  it('is 1 MiB for any other call', async () => {
    const holder = 'a'.repeat(1024 * 1024);
    const answer = await listener.call('PUT', `${path}/lease`, { holder });
    expect(answer.status).toBe(413);
  });
});
