import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../../../src/domain/core/id.ts';
import { masking } from '../../../../../src/hub/store/core/masking.ts';
import { createSecretBox, sealSecrets } from '../../../../../src/hub/store/secrets/secret-box.ts';

const box = createSecretBox({ keys: [{ id: 'one', key: randomBytes(32) }], primary: 'one' });
const otherBox = createSecretBox({ keys: [{ id: 'two', key: randomBytes(32) }], primary: 'two' });

function seal(...values: string[]) {
  const secrets = values.map((value, index) => ({ name: `SECRET_${index}`, value }));
  const sealed = sealSecrets(box, uuidv7(), uuidv7(), secrets);
  if (sealed === null) throw new Error('nothing was sealed');
  return sealed;
}

describe('texts', () => {
  test('are masked with the secrets of all sets and with other values', () => {
    const mask = masking(box, [seal('hunter22'), seal('hunter33')], () => ['token-44']);
    expect(mask('hunter22, hunter33, token-44, hunter44')).toBe('***, ***, ***, hunter44');
  });

  test('are withheld, with the reason, when the secrets are too long together', () => {
    const mask = masking(box, [
      seal(...Array.from({ length: 3 }, () => randomBytes(45_000).toString('hex'))),
    ]);
    expect(mask('hello')).toMatch(
      /^withheld: .* have more than 131072 characters, .*; next: use fewer or shorter/,
    );
  });

  test('are withheld, with the reason, when the secrets cannot be decrypted', () => {
    expect(masking(otherBox, [seal('hunter22')])('hello')).toMatch(/^withheld: .* cannot be decrypted/);
  });
});
