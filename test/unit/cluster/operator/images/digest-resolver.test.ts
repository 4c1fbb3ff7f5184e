import { describe, expect, test, vi } from 'vitest';
import type { Credentials } from '../../../../../src/cluster/image-registry/docker-config.ts';
import type { ImageAnswer } from '../../../../../src/cluster/image-registry/look-up.ts';
import { RegistryError } from '../../../../../src/cluster/image-registry/registry-error.ts';
import { KubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import { DigestResolver } from '../../../../../src/cluster/operator/images/digest-resolver.ts';
import type { ImageQuery } from '../../../../../src/cluster/operator/images/image-lookup.ts';

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
  const looks = new DigestResolver({
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
  return { looks, questions, answered, faults, time, ending };
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

describe('a look', () => {
  test('is pending until there is an answer, which wakes its resource, and is asked once', async () => {
    const { looks, questions, answered } = world();
    expect(looks.resolve('shop/web', asked())).toEqual({ kind: 'pending', until: 55_000 });
    await settled();
    expect(looks.resolve('shop/web', asked())).toMatchObject({ kind: 'pending' });
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(answered).toEqual(['shop/web']);
    expect(looks.resolve('shop/web', asked())).toEqual({ kind: 'resolved', image: PINNED });
    expect(questions).toHaveLength(1);
  });

  test('of the same image by many is one question', async () => {
    const { looks, questions, answered } = world();
    for (let n = 0; n < 100; n += 1) looks.resolve(`shop/web-${n}`, asked());
    await settled();
    expect(questions).toHaveLength(1);
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(answered).toHaveLength(100);
  });

  test('with other credentials is another question', async () => {
    const entry = (username: string) => ({ 'r.example': { username, password: 'x' } });
    const { looks, questions } = world({
      ann: entry('ann'),
      bob: entry('bob'),
      other: { 'o.example': entry('o') },
    });
    looks.resolve('shop/one', asked(undefined, ['ann']));
    looks.resolve('shop/two', asked(undefined, ['bob']));
    looks.resolve('shop/three', asked(undefined, ['missing', 'other']));
    looks.resolve('shop/four', asked());
    await settled();
    const users = questions.map(({ credentials }) => credentials.map(({ username }) => username).join());
    expect(users.sort()).toEqual(['', 'ann', 'bob']);
  });

  test('is begun anew for another wish, and an answer to the former one is not taken for it', async () => {
    const { looks, questions, answered } = world();
    looks.resolve('shop/web', asked('r.example/app:1'));
    await settled();
    looks.resolve('shop/web', asked('r.example/app:2'));
    await settled();
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(answered).toEqual([]);
    expect(looks.resolve('shop/web', asked('r.example/app:2'))).toMatchObject({ kind: 'pending' });
  });

  test('is forgotten when nothing is asked any more', async () => {
    const { looks, questions } = world();
    looks.resolve('shop/web', asked());
    await settled();
    expect(looks.resolve('shop/web', null)).toBeUndefined();
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(looks.resolve('shop/web', asked())).toMatchObject({ kind: 'pending' });
  });

  test('of one registry does not wait for another one that is slow', async () => {
    const { looks, questions } = world();
    for (let n = 0; n < 200; n += 1) looks.resolve(`shop/slow-${n}`, asked(`slow.example/app:${n}`));
    looks.resolve('shop/web', asked());
    await settled();
    const images = questions.map(({ image }) => image);
    expect(images.filter((image) => image.startsWith('slow.example'))).toHaveLength(8);
    expect(images).toContain('r.example/app:1');
  });
});

describe('a registry that does not answer', () => {
  const silent = new RegistryError('unavailable', 'r.example did not answer within 5 s');

  test('is left alone for a while, and who waits for it is told at once', async () => {
    const { looks, questions, time } = world();
    for (let n = 0; n < 100; n += 1) looks.resolve(`shop/web-${n}`, asked(`r.example/app:${n}`));
    await settled();
    expect(questions).toHaveLength(8);
    for (const question of questions) question.fail(silent);
    await settled();
    expect(questions).toHaveLength(8);
    const unresolved = { kind: 'unresolved', why: 'r.example did not answer within 5 s' };
    expect(looks.resolve('shop/web-99', asked('r.example/app:99'))).toEqual(unresolved);
    looks.resolve('shop/late', asked('r.example/late:1'));
    await settled();
    expect(looks.resolve('shop/late', asked('r.example/late:1'))).toEqual(unresolved);
    time.now = 30_000;
    looks.resolve('shop/later', asked('r.example/later:1'));
    await settled();
    expect(questions).toHaveLength(9);
  });

  test('is left alone as long as it asks for', async () => {
    const { looks, questions, time } = world();
    looks.resolve('shop/web', asked());
    await settled();
    questions[0]?.fail(new RegistryError('unavailable', 'r.example takes no more requests for now', 90_000));
    await settled();
    time.now = 89_000;
    looks.resolve('shop/other', asked('r.example/other:1'));
    await settled();
    expect(questions).toHaveLength(1);
    time.now = 90_000;
    looks.resolve('shop/third', asked('r.example/third:1'));
    await settled();
    expect(questions).toHaveLength(2);
  });

  test('is not asked in vain by an operator that ends: no answer of it is made up', async () => {
    const { looks, questions, ending, answered } = world();
    looks.resolve('shop/web', asked());
    await settled();
    ending.abort();
    questions[0]?.fail(new Error('aborted'));
    await settled();
    expect(looks.resolve('shop/web', asked())).toMatchObject({ kind: 'pending' });
    expect(answered).toEqual([]);
  });

  test.each(['refused', 'failing'] as const)(
    'is not left alone for what it is with one image: %s',
    async (kind) => {
      const { looks, questions } = world();
      looks.resolve('shop/web', asked());
      await settled();
      questions[0]?.fail(new RegistryError(kind, 'r.example answers so'));
      await settled();
      expect(looks.resolve('shop/web', asked())).toEqual({
        kind: 'unresolved',
        why: 'r.example answers so',
      });
      looks.resolve('shop/other', asked('r.example/other:1'));
      await settled();
      expect(questions).toHaveLength(2);
    },
  );
});

test('one that is slow is left alone by that namespace with those credentials, and by nobody else', async () => {
  const { looks, questions } = world();
  looks.resolve('shop/web', asked());
  await settled();
  questions[0]?.fail(new RegistryError('slow', 'r.example did not answer all that was asked within 5 s'));
  await settled();
  looks.resolve('shop/other', asked('r.example/other:1'));
  await settled();
  expect(questions).toHaveLength(1);
  looks.resolve('stranger/web', { ...asked('r.example/other:1'), namespace: 'stranger' });
  await settled();
  expect(questions).toHaveLength(2);
});

describe('one that takes no more requests', () => {
  const limited = new RegistryError('limited', 'r.example takes no more requests for now', 90_000);
  const entry = (username: string) => ({ 'r.example': { username, password: 'x' } });

  test('of some credentials is asked with others all the same, and with those only when it is time', async () => {
    const { looks, questions, time } = world({ ann: entry('ann'), bob: entry('bob') });
    looks.resolve('shop/one', asked('r.example/app:1', ['ann']));
    await settled();
    questions[0]?.fail(limited);
    await settled();
    looks.resolve('shop/two', asked('r.example/app:2', ['bob']));
    looks.resolve('shop/three', asked('r.example/app:3'));
    looks.resolve('shop/four', asked('r.example/app:4', ['ann']));
    await settled();
    expect(questions.map(({ image }) => image).toSorted()).toEqual([
      'r.example/app:1',
      'r.example/app:2',
      'r.example/app:3',
    ]);
    expect(looks.resolve('shop/four', asked('r.example/app:4', ['ann']))).toEqual({
      kind: 'unresolved',
      why: 'r.example takes no more requests for now',
    });
    time.now = 90_000;
    looks.resolve('shop/five', asked('r.example/app:5', ['ann']));
    await settled();
    expect(questions).toHaveLength(4);
  });
});

describe('a look that nobody waits for', () => {
  test('ends: another wish, no wish, and a resource that is gone', async () => {
    const { looks, questions } = world();
    looks.resolve('shop/a', asked('r.example/a:1'));
    looks.resolve('shop/b', asked('r.example/b:1'));
    looks.resolve('shop/c', asked('r.example/c:1'));
    await settled();
    looks.resolve('shop/a', asked('r.example/a:2'));
    looks.resolve('shop/b', null);
    looks.forget('shop/c');
    await settled();
    expect(questions.map(({ signal }) => signal.aborted)).toEqual([true, true, true, false]);
  });

  test('goes on while somebody else waits for the same', async () => {
    const { looks, questions, answered } = world();
    looks.resolve('shop/a', asked());
    looks.resolve('shop/b', asked());
    await settled();
    looks.forget('shop/a');
    questions[0]?.answer({ kind: 'found', digest: DIGEST });
    await settled();
    expect(answered).toEqual(['shop/b']);
  });

  test('takes nobody’s turn: of a wish that changes without end only the last is asked for', async () => {
    const { looks, questions } = world();
    for (let n = 0; n < 400; n += 1) {
      looks.resolve('shop/evil', asked(`h${n}.example/app:1`));
      if (n % 50 === 0) await settled();
    }
    looks.resolve('shop/web', asked());
    await settled();
    const open = questions.filter(({ signal }) => !signal.aborted).map(({ image }) => image);
    expect(open).toEqual(['h399.example/app:1', 'r.example/app:1']);
  });
});

test('a namespace that asks for much waits behind itself: another one begins at once', async () => {
  const { looks, questions } = world();
  for (let n = 0; n < 400; n += 1)
    looks.resolve(`evil/${n}`, asked(`h${n}.example/a:1`, [], { namespace: 'evil' }));
  looks.resolve('shop/web', asked());
  await settled();
  expect(questions).toHaveLength(17);
  expect(questions.at(-1)?.image).toBe('r.example/app:1');
});

test('of one registry, the next turn is that of the namespace with the fewest', async () => {
  const { looks, questions } = world();
  for (let n = 0; n < 50; n += 1)
    looks.resolve(`evil/${n}`, asked(`r.example/a:${n}`, [], { namespace: 'evil' }));
  looks.resolve('shop/web', asked());
  await settled();
  expect(questions).toHaveLength(8);
  questions[0]?.answer({ kind: 'found', digest: DIGEST });
  await settled();
  expect(questions.at(-1)?.image).toBe('r.example/app:1');
});

describe('what is not there', () => {
  test('is absent where a digest was asked for and the registry is sure', async () => {
    const { looks, questions } = world();
    looks.resolve('shop/web', asked(PINNED));
    await settled();
    questions[0]?.answer({ kind: 'absent', definite: true });
    await settled();
    const look = looks.resolve('shop/web', asked(PINNED));
    expect(look).toMatchObject({ kind: 'absent' });
    expect(look).toHaveProperty('why', expect.stringContaining(PINNED));
  });

  test.each([
    ['the registry is not sure', { kind: 'absent', definite: false } as const],
    ['the registry does not answer', new RegistryError('unavailable', 'silent')],
    ['the registry refuses', new RegistryError('refused', 'no')],
  ])('is used with its digest where %s', async (_, answer) => {
    const { looks, questions } = world();
    looks.resolve('shop/web', asked(PINNED));
    await settled();
    if (answer instanceof Error) questions[0]?.fail(answer);
    else questions[0]?.answer(answer);
    await settled();
    expect(looks.resolve('shop/web', asked(PINNED))).toEqual({ kind: 'resolved', image: PINNED });
  });

  test('may be pushed yet where a tag was asked for', async () => {
    const { looks, questions } = world();
    looks.resolve('shop/web', asked());
    await settled();
    questions[0]?.answer({ kind: 'absent', definite: true });
    await settled();
    expect(looks.resolve('shop/web', asked())).toMatchObject({ kind: 'unresolved' });
  });
});

test('a Secret that cannot be read for a moment leaves no revision without its digest', async () => {
  const { looks, questions, faults } = world({ pull: {} });
  faults.push(new KubeError({ kind: 'server', message: 'etcd is away' }));
  looks.resolve('shop/web', asked('r.example/app:1', ['pull']));
  await vi.waitFor(() => expect(questions).toHaveLength(1));
  questions[0]?.answer({ kind: 'found', digest: DIGEST });
  await settled();
  expect(looks.resolve('shop/web', asked('r.example/app:1', ['pull']))).toEqual({
    kind: 'resolved',
    image: PINNED,
  });
  faults.push(new KubeError({ kind: 'forbidden', message: 'no' }));
  looks.resolve('shop/other', asked('r.example/app:2', ['pull']));
  await settled();
  expect(looks.resolve('shop/other', asked('r.example/app:2', ['pull']))).toEqual({
    kind: 'unresolved',
    why: 'a pull Secret could not be read',
  });
});

test('errors of any kind tell nothing that they hold', async () => {
  const { looks, questions } = world();
  looks.resolve('shop/web', asked());
  await settled();
  questions[0]?.fail(new Error('ann:secret@r.example'));
  await settled();
  expect(looks.resolve('shop/web', asked())).toEqual({ kind: 'unresolved', why: 'the lookup failed' });
});
