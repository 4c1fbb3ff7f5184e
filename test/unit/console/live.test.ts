import { describe, expect, test } from 'vitest';
import { deploymentKey, fleetKey, tenantKey } from '../../../src/console/api/keys.ts';
import { combined, isAffected } from '../../../src/console/live/affected.ts';
import { freshnessOf } from '../../../src/console/live/freshness.ts';
import { chunksOf, isEnd, isHint, linesOf } from '../../../src/console/live/watch-items.ts';

const change = (deployment_id: string | null) => ({ type: 'change', key: 'k', deployment_id }) as const;
const reset = { type: 'reset' } as const;

describe('isAffected', () => {
  const shop = deploymentKey('t1', 'shop', 'revisions');
  const fleet = fleetKey('t1', {});
  const listeners = tenantKey('t1', 'listeners');

  test('selects the queries of a deployment that has changed', () => {
    const chosen = [shop, deploymentKey('t1', 'other'), fleet, listeners].filter((key) =>
      isAffected(key, 't1', change('shop')),
    );
    expect(chosen).toEqual([shop]);
  });

  test('selects everything but single deployments when something else of the tenant has changed', () => {
    expect([shop, fleet, listeners].filter((key) => isAffected(key, 't1', change(null)))).toEqual([
      fleet,
      listeners,
    ]);
  });

  test('selects everything of the tenant, and nothing else, after a reset', () => {
    const keys = [shop, fleet, listeners, fleetKey('t2'), ['session']];
    expect(keys.filter((key) => isAffected(key, 't1', reset))).toEqual([shop, fleet, listeners]);
  });
});

test('combined keeps one hint for each deployment, or one reset', () => {
  expect(combined([change('a'), change('b'), change('a')])).toHaveLength(2);
  expect(combined([change('a'), reset, change('b')])).toEqual([reset]);
});

test('chunksOf reads a body to its end, and cancels the rest', async () => {
  let isCancelled = false;
  const bodyOf = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(Uint8Array.of(1));
        controller.enqueue(Uint8Array.of(2));
      },
      pull: (controller) => controller.close(),
      cancel() {
        isCancelled = true;
      },
    });
  const chunks: Uint8Array[] = [];
  for await (const chunk of chunksOf(bodyOf())) chunks.push(chunk);
  expect(chunks).toEqual([Uint8Array.of(1), Uint8Array.of(2)]);
  for await (const chunk of chunksOf(bodyOf())) {
    expect(chunk).toEqual(Uint8Array.of(1));
    break;
  }
  expect(isCancelled).toBe(true);
});

test('linesOf reads lines that arrive in pieces, and reports empty lines', async () => {
  async function* body() {
    for (const part of ['{"type":"re', 'set"}\n\n{"type":"change","key":"ü', '"}\n'])
      yield new TextEncoder().encode(part);
  }
  const items: unknown[] = [];
  for await (const item of linesOf(body())) items.push(item);
  expect(items).toEqual([{ type: 'reset' }, undefined, { type: 'change', key: 'ü' }]);
  expect(items.map(isHint)).toEqual([true, false, true]);
  expect(isEnd({ end: 'x', reason: 'continue' })).toBe(true);
});

describe('freshnessOf', () => {
  const now = 1_000_000;
  test.each([
    ['fresh while changes arrive, however old', { dataUpdatedAt: 0, isRefetchError: false }, true, false],
    [
      'fresh for a minute without changes',
      { dataUpdatedAt: now - 59_000, isRefetchError: false },
      false,
      false,
    ],
    [
      'stale after a minute without changes',
      { dataUpdatedAt: now - 61_000, isRefetchError: false },
      false,
      true,
    ],
    ['stale when the last request failed', { dataUpdatedAt: now, isRefetchError: true }, true, true],
  ])('%s', (_, query, isLive, isStale) => {
    expect(freshnessOf(query, { isLive, now })).toEqual({ isStale, at: query.dataUpdatedAt });
  });
});
