import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../../src/domain/core/id.ts';
import { SecretBoxError } from '../../../../../src/hub/store/core/errors.ts';
import {
  createSecretBox,
  openSecrets,
  sealSecrets,
} from '../../../../../src/hub/store/secrets/secret-box.ts';

const one = { id: 'one', key: randomBytes(32) };
const two = { id: 'two', key: randomBytes(32) };
const box = createSecretBox({ keys: [one, two], primary: 'one' });
const [tenant, deployment] = [uuidv7(), uuidv7()];
const secrets = [
  { name: 'B', value: 'zwei\n"2"' },
  { name: 'A', value: '' },
  { name: '__proto__', value: 'x' },
];

function seal() {
  const sealed = sealSecrets(box, tenant, deployment, secrets);
  if (sealed === null) throw new Error('nothing was sealed');
  return sealed;
}

describe('secrets', () => {
  test('are opened in their order, and the same ones are sealed differently each time', () => {
    const [first, second] = [seal(), seal()];
    expect(openSecrets(box, first)).toEqual(secrets);
    expect(openSecrets(box, second)).toEqual(secrets);
    expect(first.sealed.equals(second.sealed)).toBe(false);
    expect(first.sealed.includes('zwei')).toBe(false);
  });

  test('are an empty list when nothing was sealed', () => {
    expect(sealSecrets(box, tenant, deployment, [])).toBeNull();
    expect(openSecrets(box, null)).toEqual([]);
  });

  test('are rejected when any byte has changed', () => {
    const sealed = seal();
    for (let index = 0; index < sealed.sealed.length; index += 1) {
      const changed = Buffer.from(sealed.sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(() => openSecrets(box, { ...sealed, sealed: changed })).toThrow(SecretBoxError);
    }
    expect(() => openSecrets(box, { ...sealed, sealed: sealed.sealed.subarray(0, 20) })).toThrow(
      SecretBoxError,
    );
  });

  test.each(['id', 'tenantId', 'deploymentId'] as const)(
    'are rejected after a move to another %s',
    (field) => {
      expect(() => openSecrets(box, { ...seal(), [field]: uuidv7() })).toThrow('belongs to another row');
    },
  );

  test('are rejected with the id of another key, and the error names an unknown key', () => {
    expect(() => openSecrets(box, { ...seal(), keyId: 'two' })).toThrow(SecretBoxError);
    expect(() => openSecrets(box, { ...seal(), keyId: 'three' })).toThrow('encryption key three');
  });

  test('are opened by a box with a new primary key after a rotation', () => {
    const rotated = createSecretBox({ keys: [two, one], primary: 'two' });
    expect(openSecrets(rotated, seal())).toEqual(secrets);
    expect(sealSecrets(rotated, tenant, deployment, secrets)?.keyId).toBe('two');
  });
});

test('matches a fingerprint only with its own text and its key, also after a rotation', () => {
  const fingerprint = box.fingerprint('body');
  expect(box.matches('body', fingerprint)).toBe(true);
  expect(box.matches('bodY', fingerprint)).toBe(false);
  expect(createSecretBox({ keys: [two, one], primary: 'two' }).matches('body', fingerprint)).toBe(true);
  expect(createSecretBox({ keys: [two], primary: 'two' }).matches('body', fingerprint)).toBe(false);
  expect(box.matches('body', 'one:')).toBe(false);
  expect(box.matches('body', '')).toBe(false);
});

test('rejects a key that is missing or too short at once', () => {
  expect(() => createSecretBox({ keys: [one], primary: 'two' })).toThrow(SecretBoxError);
  expect(() => createSecretBox({ keys: [{ id: 'short', key: Buffer.alloc(16) }], primary: 'short' })).toThrow(
    'not 32 bytes',
  );
});
