import { z } from 'zod';

/** Public keys of issuers (JWK Set, RFC 7517), and the algorithms that use such keys. */

/**
 * Algorithms that verify with a public key. `none` and symmetric algorithms cannot be configured: with a symmetric algorithm,
 * everyone who knows the client secret could sign.
 */
export const SIGNATURE_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

/** Members of a JWK that only a private or symmetric key has. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'] as const;

const part = z.string().regex(/^[A-Za-z0-9_-]+$/, { error: 'must be base64url' });
const common = { kid: z.string().min(1).max(256).optional() };

const keySchema = z
  .discriminatedUnion('kty', [
    z.looseObject({ kty: z.literal('RSA'), n: part, e: part, ...common }),
    z.looseObject({ kty: z.literal('EC'), crv: z.string(), x: part, y: part, ...common }),
    z.looseObject({ kty: z.literal('OKP'), crv: z.string(), x: part, ...common }),
  ])
  .superRefine((key, ctx) => {
    // The message never quotes the member.
    const secret = PRIVATE_MEMBERS.find((name) => Object.hasOwn(key, name));
    if (secret !== undefined)
      ctx.addIssue({
        code: 'custom',
        path: [secret],
        message: 'must not be set, because only private keys have it: use the public key',
      });
  });

export const publicKeySetSchema = z.looseObject({ keys: z.array(keySchema).min(1).max(100) });
