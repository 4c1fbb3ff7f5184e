import { describe, expect, test } from 'vitest';
import type { Credentials } from '../../../../../src/cluster/image-registry/docker-config.ts';
import type { ImageAnswer } from '../../../../../src/cluster/image-registry/look-up.ts';
import { RegistryError } from '../../../../../src/cluster/image-registry/registry-error.ts';
import { KubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import { DigestResolver } from '../../../../../src/cluster/operator/images/digest-resolver.ts';
import type { ImageQuery } from '../../../../../src/cluster/operator/images/image-lookup.ts';
import { untilPasses } from '../../../until-passes.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const PINNED = `r.example/app:1@${DIGEST}`;

interface Question {
  image: string;
  credentials: readonly Credentials[];
  signal: AbortSignal;
  answer(answer: ImageAnswer): void;
  fail(error: Error): void;
}

/** Looks whose questions the test answers. */
function world(secrets: Record<string, object> = {}) {
  const questions: Question[] = [];
  const answered: string[] = [];
  const faults: Error[] = [];
  const time = { now: 0 };
  const ending = new AbortController();
  const resolver = new DigestResolver({
    client: {
      find: async (_resource, { name }) => {
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        return secrets[name] === undefined
          ? undefined
          : ({
              apiVersion: 'v1',
              kind: 'Secret',
              metadata: { name, namespace: 'shop' },
              data: {
                '.dockerconfigjson': Buffer.from(JSON.stringify({ auths: secrets[name] })).toString('base64'),
              },
            } as never);
      },
    },
    lookUp: (image, credentials, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        questions.push({ image, credentials, signal, answer: resolve, fail: reject });
      }),
    timeoutMs: 5_000,
    clock: { now: () => time.now, date: () => new Date(0) },
    answered: (key) => answered.push(key),
    signal: ending.signal,
  });
  return { resolver, questions, answered, faults, time, ending };
}

const asked = (
  image = 'r.example/app:1',
  pullSecrets: string[] = [],
  { id = image, namespace = 'shop' } = {},
): ImageQuery => ({
  namespace,
  image,
  pullSecrets,
  id,
});
/** Everything that is only waited for has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a lookup', () => {
  test('is pending until the response, which requeues its resource, and sends one request', async () => {
    const { resolver, questions, answered } = world();
    expect(resolver.resolve('shop/web', asked())).toEqual({ kind: 'pending', until: 55_000 });
    await settled();
    expect(resolver.resolve('shop/web', asked())).toMatchObject({ kind: 'pending' });
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(answered).toEqual(['shop/web']);
    expect(resolver.resolve('shop/web', asked())).toEqual({ kind: 'resolved', image: PINNED });
    expect(questions).toHaveLength(1);
  });

  test('sends one request for several resources with the same image', async () => {
    const { resolver, questions, answered } = world();
    for (let n = 0; n < 100; n += 1) resolver.resolve(`shop/web-${n}`, asked());
    await settled();
    expect(questions).toHaveLength(1);
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(answered).toHaveLength(100);
  });

  test('sends another request for other credentials', async () => {
    const entry = (username: string) => ({ 'r.example': { username, password: 'x' } });
    const { resolver, questions } = world({
      ann: entry('ann'),
      bob: entry('bob'),
      other: { 'o.example': entry('o') },
    });
    resolver.resolve('shop/one', asked(undefined, ['ann']));
    resolver.resolve('shop/two', asked(undefined, ['bob']));
    resolver.resolve('shop/three', asked(undefined, ['missing', 'other']));
    resolver.resolve('shop/four', asked());
    await settled();
    const users = questions.map(({ credentials }) => credentials.map(({ username }) => username).join());
    expect(users.sort()).toEqual(['', 'ann', 'bob']);
  });

  test('starts again for a changed spec, and ignores the response to the former one', async () => {
    const { resolver, questions, answered } = world();
    resolver.resolve('shop/web', asked('r.example/app:1'));
    await settled();
    resolver.resolve('shop/web', asked('r.example/app:2'));
    await settled();
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(answered).toEqual([]);
    expect(resolver.resolve('shop/web', asked('r.example/app:2'))).toMatchObject({ kind: 'pending' });
  });

  test('is forgotten when it is no longer needed', async () => {
    const { resolver, questions } = world();
    resolver.resolve('shop/web', asked());
    await settled();
    expect(resolver.resolve('shop/web', null)).toBeUndefined();
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(resolver.resolve('shop/web', asked())).toMatchObject({ kind: 'pending' });
  });

  test('does not wait for a slow lookup at another registry', async () => {
    const { resolver, questions } = world();
    for (let n = 0; n < 200; n += 1) resolver.resolve(`shop/slow-${n}`, asked(`slow.example/app:${n}`));
    resolver.resolve('shop/web', asked());
    await settled();
    const images = questions.map(({ image }) => image);
    expect(images.filter((image) => image.startsWith('slow.example'))).toHaveLength(4);
    expect(images).toContain('r.example/app:1');
  });
});

describe('a registry that does not respond', () => {
  const silent = new RegistryError('unavailable', 'r.example did not respond within 5 s');

  test('is skipped for a while, and waiting lookups fail at once', async () => {
    const { resolver, questions, time } = world();
    for (let n = 0; n < 100; n += 1) resolver.resolve(`shop/web-${n}`, asked(`r.example/app:${n}`));
    await settled();
    expect(questions).toHaveLength(4);
    for (const question of questions) question.fail(silent);
    await settled();
    expect(questions).toHaveLength(4);
    const unresolved = { kind: 'unresolved', why: 'r.example did not respond within 5 s' };
    expect(resolver.resolve('shop/web-99', asked('r.example/app:99'))).toEqual(unresolved);
    resolver.resolve('shop/late', asked('r.example/late:1'));
    await settled();
    expect(resolver.resolve('shop/late', asked('r.example/late:1'))).toEqual(unresolved);
    time.now = 30_000;
    resolver.resolve('shop/later', asked('r.example/later:1'));
    await settled();
    expect(questions).toHaveLength(5);
  });

  test('is skipped as long as its response requests', async () => {
    const { resolver, questions, time } = world();
    resolver.resolve('shop/web', asked());
    await settled();
    questions[0]?.fail(new RegistryError('unavailable', 'r.example limits the rate of requests', 90_000));
    await settled();
    time.now = 89_000;
    resolver.resolve('shop/other', asked('r.example/other:1'));
    await settled();
    expect(questions).toHaveLength(1);
    time.now = 90_000;
    resolver.resolve('shop/third', asked('r.example/third:1'));
    await settled();
    expect(questions).toHaveLength(2);
  });

  test('has no result when the operator stops', async () => {
    const { resolver, questions, ending, answered } = world();
    resolver.resolve('shop/web', asked());
    await settled();
    ending.abort();
    questions[0]?.fail(new Error('aborted'));
    await settled();
    expect(resolver.resolve('shop/web', asked())).toMatchObject({ kind: 'pending' });
    expect(answered).toEqual([]);
  });

  test.each(['refused', 'failing'] as const)(
    'is still called for other images when the lookup of one image is %s',
    async (kind) => {
      const { resolver, questions } = world();
      resolver.resolve('shop/web', asked());
      await settled();
      questions[0]?.fail(new RegistryError(kind, 'r.example answers so'));
      await settled();
      expect(resolver.resolve('shop/web', asked())).toEqual({
        kind: 'unresolved',
        why: 'r.example answers so',
      });
      resolver.resolve('shop/other', asked('r.example/other:1'));
      await settled();
      expect(questions).toHaveLength(2);
    },
  );
});

test('skips a slow registry only for the same namespace and credentials', async () => {
  const { resolver, questions } = world();
  resolver.resolve('shop/web', asked());
  await settled();
  questions[0]?.fail(
    new RegistryError('slow', 'r.example responded, but the lookup did not finish within 5 s'),
  );
  await settled();
  resolver.resolve('shop/other', asked('r.example/other:1'));
  await settled();
  expect(questions).toHaveLength(1);
  resolver.resolve('other/web', { ...asked('r.example/other:1'), namespace: 'other' });
  await settled();
  expect(questions).toHaveLength(2);
});

describe('a registry with a rate limit', () => {
  const limited = new RegistryError('limited', 'r.example limits the rate of requests', 90_000);
  const entry = (username: string) => ({ 'r.example': { username, password: 'x' } });

  test('is queried with other credentials, and with the limited ones only after the pause', async () => {
    const { resolver, questions, time } = world({ ann: entry('ann'), bob: entry('bob') });
    resolver.resolve('shop/one', asked('r.example/app:1', ['ann']));
    await settled();
    questions[0]?.fail(limited);
    await settled();
    resolver.resolve('shop/two', asked('r.example/app:2', ['bob']));
    resolver.resolve('shop/three', asked('r.example/app:3'));
    resolver.resolve('shop/four', asked('r.example/app:4', ['ann']));
    await settled();
    expect(questions.map(({ image }) => image).toSorted()).toEqual([
      'r.example/app:1',
      'r.example/app:2',
      'r.example/app:3',
    ]);
    expect(resolver.resolve('shop/four', asked('r.example/app:4', ['ann']))).toEqual({
      kind: 'unresolved',
      why: 'r.example limits the rate of requests',
    });
    time.now = 90_000;
    resolver.resolve('shop/five', asked('r.example/app:5', ['ann']));
    await settled();
    expect(questions).toHaveLength(4);
  });
});

describe('a lookup that is no longer needed', () => {
  test('is aborted for a changed spec, an empty one and a deleted resource', async () => {
    const { resolver, questions } = world();
    resolver.resolve('shop/a', asked('r.example/a:1'));
    resolver.resolve('shop/b', asked('r.example/b:1'));
    resolver.resolve('shop/c', asked('r.example/c:1'));
    await settled();
    resolver.resolve('shop/a', asked('r.example/a:2'));
    resolver.resolve('shop/b', null);
    resolver.forget('shop/c');
    await settled();
    expect(questions.map(({ signal }) => signal.aborted)).toEqual([true, true, true, false]);
  });

  test('continues while another resource waits for the same image', async () => {
    const { resolver, questions, answered } = world();
    resolver.resolve('shop/a', asked());
    resolver.resolve('shop/b', asked());
    await settled();
    resolver.forget('shop/a');
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(answered).toEqual(['shop/b']);
  });

  test('frees its slot, so that only the last of many changes is requested', async () => {
    const { resolver, questions } = world();
    for (let n = 0; n < 400; n += 1) {
      resolver.resolve('shop/evil', asked(`h${n}.example/app:1`));
      if (n % 50 === 0) await settled();
    }
    resolver.resolve('shop/web', asked());
    await settled();
    const open = questions.filter(({ signal }) => !signal.aborted).map(({ image }) => image);
    expect(open).toEqual(['h399.example/app:1', 'r.example/app:1']);
  });
});

test('limits the lookups of a namespace, so that another namespace starts at once', async () => {
  const { resolver, questions } = world();
  for (let n = 0; n < 400; n += 1)
    resolver.resolve(`evil/${n}`, asked(`h${n}.example/a:1`, [], { namespace: 'evil' }));
  resolver.resolve('shop/web', asked());
  await settled();
  expect(questions).toHaveLength(17);
  expect(questions.at(-1)?.image).toBe('r.example/app:1');
});

test('lets namespaces take turns at a registry that has no free place', async () => {
  const { resolver, questions } = world();
  for (const namespace of ['evil', 'worse'])
    for (let n = 0; n < 50; n += 1)
      resolver.resolve(`${namespace}/${n}`, asked(`r.example/${namespace}:${n}`, [], { namespace }));
  resolver.resolve('shop/web', asked());
  await settled();
  expect(questions).toHaveLength(8);
  for (const question of questions.slice(0, 3)) question.answer({ kind: 'found', digest: DIGEST });
  await settled();
  expect(questions.slice(8).map(({ image }) => image)).toContain('r.example/app:1');
});

test('leaves places at a registry to others when lookups of a namespace wait for its other lookups', async () => {
  const { resolver, questions } = world();
  const resolveAll = (host: string, count: number) => {
    for (let n = 0; n < count; n += 1)
      resolver.resolve(`evil/${host}-${n}`, asked(`${host}/a:${n}`, [], { namespace: 'evil' }));
  };
  for (let n = 0; n < 4; n += 1) resolveAll(`slow-${n}.example`, 8);
  await settled();
  resolveAll('r.example', 8);
  await settled();
  expect(questions).toHaveLength(16);
  resolver.resolve('shop/web', asked());
  await settled();
  expect(questions.at(-1)?.image).toBe('r.example/app:1');
});

test('keeps the limit of a registry while its last lookups end and new lookups begin', async () => {
  const pass = async (ticks: number) => {
    for (let n = 0; n < ticks; n += 1) await Promise.resolve();
  };
  // With one of these delays, a lookup begins after one lookup has ended and before another ends.
  for (let delay = 0; delay < 20; delay += 1) {
    const { resolver, questions } = world();
    const resolveAll = (name: string, count: number) => {
      for (let n = 0; n < count; n += 1)
        resolver.resolve(`shop/${name}${n}`, asked(`r.example/${name}:${n}`));
    };
    resolveAll('first', 2);
    await settled();
    void pass(10).then(() => questions[0]?.answer({ kind: 'found', digest: DIGEST }));
    void pass(delay).then(() => resolveAll('next', 10));
    void pass(10).then(() => questions[1]?.answer({ kind: 'found', digest: DIGEST }));
    await settled();
    resolveAll('last', 10);
    await settled();
    expect({ delay, running: questions.length - 2 }).toEqual({ delay, running: 4 });
  }
});

describe('a missing image', () => {
  test('is absent if the spec has a digest and the registry is definite', async () => {
    const { resolver, questions } = world();
    resolver.resolve('shop/web', asked(PINNED));
    await settled();
    questions[0]?.answer({ kind: 'absent', definite: true });
    await settled();
    const result = resolver.resolve('shop/web', asked(PINNED));
    expect(result).toMatchObject({ kind: 'absent' });
    expect(result).toHaveProperty('why', expect.stringContaining(PINNED));
  });

  test.each([
    ['the registry is uncertain', { kind: 'absent', definite: false } as const],
    ['the registry does not respond', new RegistryError('unavailable', 'silent')],
    ['the registry rejects the lookup', new RegistryError('refused', 'no')],
  ])('is used with its digest when %s', async (_, answer) => {
    const { resolver, questions } = world();
    resolver.resolve('shop/web', asked(PINNED));
    await settled();
    if (answer instanceof Error) questions[0]?.fail(answer);
    else questions[0]?.answer(answer);
    await settled();
    expect(resolver.resolve('shop/web', asked(PINNED))).toEqual({ kind: 'resolved', image: PINNED });
  });

  test('is unresolved if the spec has a tag, because it may be pushed later', async () => {
    const { resolver, questions } = world();
    resolver.resolve('shop/web', asked());
    await settled();
    questions[0]?.answer({ kind: 'absent', definite: true });
    await settled();
    expect(resolver.resolve('shop/web', asked())).toMatchObject({ kind: 'unresolved' });
  });
});

test('resolves the digest although a Secret temporarily cannot be read', async () => {
  const { resolver, questions, faults } = world({ pull: {} });
  faults.push(new KubeError({ kind: 'server', message: 'etcd is away' }));
  resolver.resolve('shop/web', asked('r.example/app:1', ['pull']));
  await untilPasses(() => expect(questions).toHaveLength(1));
  questions[0]?.answer({ kind: 'found', digest: DIGEST });
  await settled();
  expect(resolver.resolve('shop/web', asked('r.example/app:1', ['pull']))).toEqual({
    kind: 'resolved',
    image: PINNED,
  });
  faults.push(new KubeError({ kind: 'forbidden', message: 'no' }));
  resolver.resolve('shop/other', asked('r.example/app:2', ['pull']));
  await settled();
  expect(resolver.resolve('shop/other', asked('r.example/app:2', ['pull']))).toEqual({
    kind: 'unresolved',
    why: 'a pull Secret could not be read',
  });
});

test('hides the content of an unknown error', async () => {
  const { resolver, questions } = world();
  resolver.resolve('shop/web', asked());
  await settled();
  questions[0]?.fail(new Error('ann:secret@r.example'));
  await settled();
  expect(resolver.resolve('shop/web', asked())).toEqual({ kind: 'unresolved', why: 'the lookup failed' });
});
