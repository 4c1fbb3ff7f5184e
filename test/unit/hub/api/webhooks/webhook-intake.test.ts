import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, test } from 'vitest';
import type { GitProvider } from '../../../../../src/domain/builds/git-host.ts';
import type { ApiDeps } from '../../../../../src/hub/api/core/deps.ts';
import { ApiError } from '../../../../../src/hub/api/core/errors.ts';
import { createLimiter } from '../../../../../src/hub/api/core/rate-limit.ts';
import { WEBHOOK_TYPES, webhookBody } from '../../../../../src/hub/api/webhooks/webhook-body.ts';
import {
  GrowingBuffer,
  type IntakeLimits,
  WebhookIntake,
} from '../../../../../src/hub/api/webhooks/webhook-intake.ts';
import { fakeDrizzle } from '../../fake-drizzle.ts';

/** The memory that a sender without a secret can use. */

const LIMITS: IntakeLimits = {
  total: { count: 3, bytes: 100 },
  integration: { count: 2, bytes: 60 },
  network: { count: 2, bytes: 60 },
};

describe('the intake of webhooks', () => {
  test('limits the number of deliveries for each name and in total', () => {
    const intake = new WebhookIntake(LIMITS);
    const shares = [intake.begin(['a', '1']), intake.begin(['a', '2'])];
    expect(() => intake.begin(['a', '3'])).toThrow(ApiError);
    expect(() => intake.begin(['b', '1'])).not.toThrow();
    expect(() => intake.begin(['c', '4'])).toThrow(ApiError);
    shares[0]?.end();
    expect(() => intake.begin(['a', '1'])).not.toThrow();
  });

  test('leaves most places to other networks, whatever integrations one network names', () => {
    const intake = new WebhookIntake();
    const hold = (network: number) => {
      let held = 0;
      try {
        for (; ; held += 1) intake.begin([`integration ${held}`, `network ${network}`]);
      } catch {
        return held;
      }
    };
    const ofOne = hold(0);
    expect(ofOne).toBeLessThanOrEqual(64);
    for (let network = 1; network < 16; network += 1) expect(hold(network)).toBe(ofOne);
  });

  test('limits the bytes for each name and in total, and does not count rejected bytes', () => {
    const intake = new WebhookIntake(LIMITS);
    const [one, two] = [intake.begin(['a', '1']), intake.begin(['b', '2'])];
    one.grow(60);
    expect(() => one.grow(1)).toThrow(ApiError);
    two.grow(40);
    expect(() => two.grow(1)).toThrow(ApiError);
    one.end();
    two.grow(20);
    expect(() => two.grow(1)).toThrow(ApiError);
  });

  test('forgets a delivery and its names when the delivery ends', () => {
    const intake = new WebhookIntake(LIMITS);
    for (let n = 0; n < 100; n += 1) {
      const share = intake.begin([`a ${n}`, `b ${n}`]);
      share.grow(60);
      share.end();
    }
    expect(intake.size).toBe(0);
  });

  test('uses at most twice the size of a body, however small its pieces are', () => {
    let room = 0;
    const buffer = new GrowingBuffer((bytes) => {
      room += bytes;
    });
    for (let n = 0; n < 100_000; n += 1) buffer.add(Buffer.from([n % 251]));
    expect(buffer.bytes.length).toBe(100_000);
    expect(buffer.bytes.every((byte, index) => byte === index % 251)).toBe(true);
    expect(room).toBeLessThanOrEqual(200_000);
  });
});

const KNOWN = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';
const OTHER = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a79';
const UNKNOWN = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a78';
const SECRET = 'whsec_AAAA';
const SIGNED = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
const TOKEN = { 'x-gitlab-token': 'wrong' };

const apps: FastifyInstance[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) {
    app.server.closeAllConnections();
    await app.close();
  }
});

/** The route alone, on loopback, with two integrations. */
async function serve(provider: GitProvider, intake = new WebhookIntake(), failures = 1_000, bodyMs?: number) {
  const drizzle = fakeDrizzle(async (_text, [id]) =>
    id === KNOWN || id === OTHER ? [[id, 't', 'n', provider, 'k', Buffer.alloc(1)]] : [],
  );
  const deps = {
    database: {
      platform: {
        read: (work: (reader: object) => unknown) => work({ drizzle }),
      },
    },
    secretBox: { open: () => Buffer.from(JSON.stringify({ secret: SECRET })) },
  } as unknown as ApiDeps;
  const limiter = createLimiter({ perKey: null, failures: { perSecond: 0.001, burst: failures } });
  const app = fastify();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(WEBHOOK_TYPES, webhookBody(deps, limiter, intake, bodyMs));
  app.post('/v2/webhooks/:integration_id', async () => ({}));
  await app.listen({ port: 0, host: '127.0.0.1' });
  apps.push(app);
  return (app.server.address() as AddressInfo).port;
}

/** Sends headers and `sent` bytes of a body of `length`; gives the answer's status, which may come before the rest. */
function deliver(port: number, id: string, headers: Record<string, string>, length: number, sent = length) {
  const call = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: `/v2/webhooks/${id}`,
    agent: false,
    headers: { ...headers, 'content-type': 'application/json', 'content-length': length },
  });
  const status = new Promise<number | undefined>((resolve) => {
    call.on('response', (response) => resolve(response.statusCode)).on('error', () => resolve(undefined));
  });
  if (sent === length) call.end(Buffer.alloc(sent, ' '));
  else if (sent > 0) call.write(Buffer.alloc(sent, ' '));
  else call.flushHeaders();
  return { status, abort: () => call.destroy() };
}

describe('a delivery without the secret', () => {
  test.each(['github', 'gitlab', 'git'] as const)(
    'is rejected before its body arrives when its headers are wrong: %s',
    async (provider) => {
      const port = await serve(provider);
      for (const id of [KNOWN, UNKNOWN, 'none']) {
        expect(await deliver(port, id, {}, 8 * 1024 * 1024, 0).status).toBe(404);
        expect(await deliver(port, id, TOKEN, 8 * 1024 * 1024, 0).status).toBe(404);
      }
    },
  );

  test('is rejected before its body arrives when its length is too large', async () => {
    const port = await serve('github');
    for (const id of [KNOWN, UNKNOWN])
      expect(await deliver(port, id, SIGNED, 9 * 1024 * 1024, 0).status).toBe(413);
  });

  test('is rejected when others at the same time hold the maximum number of bytes', async () => {
    const bytes = 1024 * 1024;
    const each = { count: 100, bytes: 4 * bytes };
    const port = await serve('github', new WebhookIntake({ total: each, integration: each, network: each }));
    const open = Array.from({ length: 12 }, () => deliver(port, KNOWN, SIGNED, 8 * bytes, bytes));
    const refused: (number | undefined)[] = [];
    for (const { status } of open) void status.then((answer) => refused.push(answer));
    await expect.poll(() => refused.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(8);
    expect(refused.every((status) => status === 429)).toBe(true);
    for (const { abort } of open) abort();
    await expect.poll(() => deliver(port, KNOWN, SIGNED, bytes).status, { timeout: 20_000 }).toBe(404);
  });

  test('gets a 408 and releases its place when its body does not arrive', async () => {
    const intake = new WebhookIntake();
    const port = await serve('github', intake, 3, 50);
    for (const id of [KNOWN, UNKNOWN]) {
      expect(await deliver(port, id, SIGNED, 1_000, 10).status).toBe(408);
      expect(intake.size).toBe(0);
    }
  });

  test('counts as a failure of its address when it never ends, and further ones are rejected unread', async () => {
    const intake = new WebhookIntake();
    const port = await serve('github', intake, 3);
    for (let n = 0; n < 3; n += 1) {
      const { abort } = deliver(port, KNOWN, SIGNED, 1_000, 10);
      await expect.poll(() => intake.size, { timeout: 20_000 }).toBe(2);
      abort();
      await expect.poll(() => intake.size, { timeout: 20_000 }).toBe(0);
    }
    expect(await deliver(port, KNOWN, SIGNED, 8_000, 0).status).toBe(429);
  });

  test('counts only against its integration, because a git host delivers for every tenant', async () => {
    const port = await serve('gitlab', new WebhookIntake(), 3);
    for (let n = 0; n < 3; n += 1) expect(await deliver(port, KNOWN, TOKEN, 2).status).toBe(404);
    expect(await deliver(port, KNOWN, TOKEN, 2).status).toBe(429);
    // It is read, and what it holds is no JSON.
    const right = { 'x-gitlab-token': SECRET };
    expect(await deliver(port, OTHER, right, 2).status).toBe(422);
    // Unknown ids count together.
    for (let n = 0; n < 3; n += 1) expect(await deliver(port, UNKNOWN, TOKEN, 2).status).toBe(404);
    expect(await deliver(port, 'none', TOKEN, 2).status).toBe(429);
  });
});
