/** Transactions for logs, which rely on the current epoch, beside renewals and a new epoch. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PLATFORM_LISTENER_ID } from '../../../../src/domain/deployment/source.ts';
import { checkEpochOnly, StaleEpoch, takeLease } from '../../../../src/hub/store/listeners/listener-lease.ts';
import { type HubFixture, protocolClient, startHub } from '../../harness/hub.ts';
import { untilLockWait } from '../../harness/store.ts';

let hub: HubFixture;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub.stop());
beforeEach(() => hub.store.sql('UPDATE listeners SET lease_holder = NULL, lease_expires_at = NULL'));

describe('the lease of a listener', () => {
  it('is renewed while a transaction for logs is open, and passes to another holder only after its end', async () => {
    const [a, b] = [protocolClient(hub, 'a'), protocolClient(hub, 'b')];
    await a.lease();
    const epoch = a.epoch ?? 0;
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const logs = hub.store.database.platform.transaction(async (transaction) => {
      await checkEpochOnly(transaction, PLATFORM_LISTENER_ID, epoch);
      begun.resolve();
      await end.promise;
    });
    await begun.promise;
    expect((await a.lease()).status).toBe(200);
    expect((await a.report([])).status).toBe(200);
    await a.lease({ release: true });
    const taking = b.lease();
    await untilLockWait(hub.store, 'the new epoch to wait for the transaction');
    end.resolve();
    await logs;
    expect((await taking).body.epoch).toBe(epoch + 1);
  });

  it('rejects a transaction for logs that waited while another holder took the lease', async () => {
    const a = protocolClient(hub, 'a');
    await a.lease();
    const epoch = a.epoch ?? 0;
    // The row has several versions, as after renewals.
    await a.lease();
    await a.lease({ release: true });
    const [taken, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { platform } = hub.store.database;
    const claim = {
      ...{ holder: 'b', epoch: null, release: false, clusterReachable: true, version: '1' },
      ...{
        clusterVersion: 'v1.36.0',
        abilities: [],
        clusterId: null,
        rendering: null,
        unreadable: {},
        namespaces: null,
      },
    };
    const times = { observedSeconds: 60, heldSeconds: 15 };
    const taking = platform.transaction(async (transaction) => {
      await takeLease(transaction, PLATFORM_LISTENER_ID, claim, times);
      taken.resolve();
      await end.promise;
    });
    await taken.promise;
    const logs = platform.transaction((transaction) =>
      checkEpochOnly(transaction, PLATFORM_LISTENER_ID, epoch),
    );
    const rejected = expect(logs).rejects.toBeInstanceOf(StaleEpoch);
    await untilLockWait(hub.store, 'the transaction to wait for the new epoch');
    end.resolve();
    await taking;
    await rejected;
  });
});
