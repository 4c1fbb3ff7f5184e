import { EventEmitter } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import {
  createOpenStreams,
  endBySignal,
  KEY_ENDED,
  type OpenStream,
} from '../../../../../src/hub/api/core/open-streams.ts';
import { recordingLogger } from '../../../cluster/kube/support.ts';
import { untilPasses } from '../../../until-passes.ts';

class Raw extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const requestOf = (keyId: string | null) =>
  ({
    caller: { keyId, keyName: 'k', scopes: ['deployments:read'], tenantId: 't' },
  }) as unknown as FastifyRequest;

function streams(check: (open: readonly OpenStream[]) => Promise<readonly OpenStream[]>) {
  const logger = recordingLogger();
  const open = createOpenStreams({ checks: { api_key: check }, logger, checkMs: 50 });
  const enter = (keyId: string | null) => {
    const raw = new Raw();
    return { raw, ended: open.enter(requestOf(keyId), { raw } as unknown as FastifyReply) };
  };
  return { open, enter, logger };
}

test('ends the stream of a revoked key, and cuts the connection when the client does not read', async () => {
  const { enter } = streams(async (open) => open.filter(({ id }) => id === 'revoked'));
  const [kept, ended, internal] = [enter('valid'), enter('revoked'), enter(null)];
  await untilPasses(() => expect(ended.ended.aborted).toBe(true));
  expect(endBySignal(ended.ended)).toBe(KEY_ENDED);
  await untilPasses(() => expect(ended.raw.destroyed).toBe(true));
  expect([kept, internal].map(({ ended: { aborted } }) => aborted)).toEqual([false, false]);
  kept.raw.destroy();
});

test('asks once for all streams, and stops to ask when the last one is closed', async () => {
  const asked: number[] = [];
  const { enter } = streams(async (open) => {
    asked.push(open.length);
    return [];
  });
  const [first, second] = [enter('a'), enter('b')];
  await untilPasses(() => expect(asked).toEqual([2]));
  first.raw.destroy();
  second.raw.destroy();
  await new Promise((resolve) => setTimeout(resolve, 120));
  expect(asked).toEqual([2]);
});

test('keeps streams when a check fails, because the next one may succeed', async () => {
  let checks = 0;
  const { enter, logger } = streams(async (open) => {
    checks += 1;
    if (checks === 1) throw new Error('no database');
    return open;
  });
  const { ended } = enter('a');
  await untilPasses(() => expect(logger.lines).toHaveLength(1));
  expect(ended.aborted).toBe(false);
  await untilPasses(() => expect(ended.aborted).toBe(true));
});

test('ends selected streams at once when this process ends their session', () => {
  const { open, enter } = streams(async () => []);
  const [one, other] = [enter('a'), enter('b')];
  open.end(({ id }) => id === 'a');
  expect([one.ended.aborted, other.ended.aborted]).toEqual([true, false]);
  other.raw.destroy();
});
