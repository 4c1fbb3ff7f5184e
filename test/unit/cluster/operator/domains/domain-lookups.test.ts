import { beforeEach, describe, expect, test } from 'vitest';
import { DomainLookups } from '../../../../../src/cluster/operator/domains/domain-lookups.ts';
import type { HostQuestion } from '../../../../../src/cluster/operator/domains/lookup.ts';

const KEY = 'shop/web';
const MINUTE = 60_000;

let now: number;
let answered: string[];
let asked: string[];
let inFlight: number;
let mostInFlight: number;
/** Ends the lookups that are running; null: they end at once. */
let held: (() => void)[] | null;
/** Addresses of each host. null: no answer. */
let addresses: (host: string) => readonly string[] | null;
let texts: readonly string[] | null;

beforeEach(() => {
  now = 0;
  answered = [];
  asked = [];
  inFlight = 0;
  mostInFlight = 0;
  held = null;
  addresses = () => ['203.0.113.7'];
  texts = [];
});

function lookups(): DomainLookups {
  const reply = async <T>(name: string, value: () => T, signal: AbortSignal): Promise<T> => {
    asked.push(name);
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    try {
      if (held !== null) {
        await new Promise<void>((resolve, reject) => {
          held?.push(resolve);
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      }
      return value();
    } finally {
      inFlight -= 1;
    }
  };
  return new DomainLookups({
    dns: {
      addresses: (name, signal) => reply(name, () => addresses(name), signal),
      texts: (name, signal) => reply(name, () => texts, signal),
    },
    client: { find: async () => undefined },
    clock: { now: () => now },
    answered: (key) => answered.push(key),
    signal: new AbortController().signal,
  });
}

const plain = (host: string): HostQuestion => ({ host, challenge: null, certificate: null });
const withProof = (host: string, value: string): HostQuestion => ({
  ...plain(host),
  challenge: { name: `_berth-challenge.${host}`, value },
});
const hostsOf = (count: number) => Array.from({ length: count }, (_, index) => `h${index}.example.org`);
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Ends the running lookups, and those that start then. */
async function release(): Promise<void> {
  const waiting = held ?? [];
  held = null;
  for (const end of waiting) end();
  await settle();
}

describe('a changed question', () => {
  test('starts no second lookup while one is waiting or running', async () => {
    held = [];
    const made = lookups();
    const hosts = hostsOf(20);
    for (let change = 0; change < 1_000; change += 1) {
      made.of(
        KEY,
        'shop',
        hosts.map((host) => withProof(host, `token-${change}`)),
      );
    }
    await settle();
    // Four hosts of a namespace at once, each with two names.
    expect(mostInFlight).toBe(8);
    await release();
    expect(asked.length).toBe(40);
    texts = ['token-999'];
    const questions = hosts.map((host) => withProof(host, 'token-999'));
    now += 5_000;
    made.of(KEY, 'shop', questions);
    await settle();
    expect(asked.length).toBeLessThanOrEqual(80);
    for (const host of hosts) expect(made.hasFound(KEY, host, 'token-999')).toBe(true);
  });

  test('does not count the result of the former question', async () => {
    held = [];
    texts = ['former'];
    const made = lookups();
    made.of(KEY, 'shop', [withProof('a.example.org', 'former')]);
    await settle();
    made.of(KEY, 'shop', [withProof('a.example.org', 'next')]);
    await release();
    expect(answered).toEqual([KEY]);
    expect(made.hasFound(KEY, 'a.example.org', 'former')).toBe(false);
    expect(made.hasFound(KEY, 'a.example.org', 'next')).toBe(false);
    made.of(KEY, 'shop', [withProof('a.example.org', 'next')]);
    await settle();
    expect(
      made.of(KEY, 'shop', [withProof('a.example.org', 'next')]).facts.get('a.example.org')?.proven,
    ).toBe(false);
  });

  test('waits after several changes, however fast the DNS server answers', async () => {
    const made = lookups();
    for (let change = 0; change < 100; change += 1) {
      made.of(KEY, 'shop', [withProof('a.example.org', `token-${change}`)]);
      await settle();
    }
    expect(asked.length).toBeLessThanOrEqual(8);
    now += 5_000;
    made.of(KEY, 'shop', [withProof('a.example.org', 'token-99')]);
    await settle();
    expect(asked.length).toBeLessThanOrEqual(10);
  });
});

test('lookups that wait or run are cancelled when the custom resource or the host is gone', async () => {
  held = [];
  const made = lookups();
  made.of(KEY, 'shop', hostsOf(20).map(plain));
  await settle();
  expect(inFlight).toBe(4);
  made.forget(KEY);
  await settle();
  expect([inFlight, asked.length, answered]).toEqual([0, 4, []]);
  made.of(KEY, 'shop', hostsOf(20).map(plain));
  made.of(KEY, 'shop', [plain('h0.example.org')]);
  await settle();
  expect(inFlight).toBe(1);
});

describe('facts', () => {
  test('become unknown when they are older than two intervals, although no lookup has ended', async () => {
    const made = lookups();
    const question = [plain('a.example.org')];
    made.of(KEY, 'shop', question);
    await settle();
    held = [];
    now += 5 * MINUTE;
    made.of(KEY, 'shop', question);
    now += 4 * MINUTE;
    const before = made.of(KEY, 'shop', question);
    expect(before.facts.get('a.example.org')?.hasAddress).toBe(true);
    expect(before.pauseMs).toBeLessThanOrEqual(MINUTE);
    now += MINUTE + 1;
    expect(made.of(KEY, 'shop', question).facts.get('a.example.org')?.hasAddress).toBeNull();
  });

  test('are unknown when the first lookup does not end for two intervals', async () => {
    held = [];
    const made = lookups();
    made.of(KEY, 'shop', [plain('a.example.org')]);
    now += 10 * MINUTE + 1;
    const { facts } = made.of(KEY, 'shop', [plain('a.example.org')]);
    expect(facts.get('a.example.org')?.hasAddress).toBeNull();
  });
});

describe('an outage of the DNS server', () => {
  test('postpones the lookups of a namespace after four failures, and not those of another one', async () => {
    addresses = (host) => (host.startsWith('h') ? null : ['203.0.113.7']);
    const made = lookups();
    const questions = hostsOf(20).map(plain);
    made.of(KEY, 'shop', questions);
    await settle();
    expect(asked.length).toBeLessThanOrEqual(8);
    const before = asked.length;
    expect(made.of(KEY, 'shop', questions).pauseMs).toBe(5_000);
    await settle();
    expect(asked.length).toBe(before);
    made.of('other/web', 'other', [plain('a.example.org')]);
    await settle();
    expect(asked.length).toBe(before + 1);
  });

  test('ends with the first answer, and every host gets its turn', async () => {
    addresses = (host) => (host === 'h19.example.org' ? ['203.0.113.7'] : null);
    const made = lookups();
    const questions = hostsOf(20).map(plain);
    for (let second = 0; second < 300; second += 1) {
      made.of(KEY, 'shop', questions);
      await settle();
      now += 1_000;
    }

    expect(asked).toContain('h19.example.org');
    addresses = () => ['203.0.113.7'];
    for (let second = 0; second < 120; second += 1) {
      made.of(KEY, 'shop', questions);
      await settle();
      now += 1_000;
    }
    const { facts } = made.of(KEY, 'shop', questions);
    for (const { host } of questions) expect(facts.get(host)?.hasAddress).toBe(true);
  });
});

describe('answers that rotate', () => {
  test('are looked up less often, and reported once', async () => {
    let turn = 0;
    addresses = () => {
      turn += 1;
      return [`203.0.113.${turn}`];
    };
    const made = lookups();
    const question = [withProof('a.example.org', 'token')];
    for (let second = 0; second < 300; second += 1) {
      made.of(KEY, 'shop', question);
      await settle();
      now += 1_000;
    }
    // 0, 5, 15, 35, 75, 135, 195 and 255 s
    expect(turn).toBe(8);
    expect(answered).toEqual([KEY]);
  });

  test('are looked up again when the caller returns only at the given time', async () => {
    const made = lookups();
    const question = [plain('a.example.org')];
    let calls = 0;
    while (now < 60 * MINUTE) {
      const { pauseMs } = made.of(KEY, 'shop', question);
      calls += 1;
      const before = answered.length;
      await settle();
      if (answered.length === before) now += pauseMs ?? Number.POSITIVE_INFINITY;
    }
    expect(asked.length).toBe(12);
    expect(calls).toBeLessThanOrEqual(14);
  });
});
