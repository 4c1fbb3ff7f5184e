import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** Creates X.509 certificates. Node can parse them, but not create them. */

/** A length in the fewest possible bytes: Go rejects a certificate with a longer encoding. */
function derLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  return length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff]);
}

/** One DER element. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), derLength(body.length), body]);
}

const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const utcTime = (text: string) => der(0x17, Buffer.from(text));

const ED25519 = sequence(oid('2b6570'));
const COMMON_NAME = '550403';
const SUBJECT_ALT_NAME = '551d11';
const BASIC_CONSTRAINTS = '551d13';

/** A certificate with its key, both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateContent {
  readonly subject: string;
  /** DNS names and IPv4 addresses. */
  readonly names: readonly string[];
  readonly isAuthority: boolean;
  /** UTCTime: `491231235959Z`. */
  readonly notAfter?: string;
}

export interface Issuer {
  readonly subject: string;
  readonly privateKey: KeyObject;
}

const nameOf = (subject: string) =>
  sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(subject)))));

function alternativeName(name: string): Buffer {
  return isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name));
}

/** Creates a certificate. Without `issuer` it is self-signed. */
export function issue(
  { subject, names, isAuthority, notAfter = '491231235959Z' }: CertificateContent,
  issuer?: Issuer,
): Certificate & { privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const constraints = isAuthority ? sequence(der(0x01, Buffer.from([0xff]))) : sequence();
  const extensions = sequence(
    sequence(oid(BASIC_CONSTRAINTS), der(0x04, constraints)),
    sequence(oid(SUBJECT_ALT_NAME), der(0x04, sequence(...names.map(alternativeName)))),
  );
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ED25519,
    nameOf(issuer?.subject ?? subject),
    sequence(utcTime('200101000000Z'), utcTime(notAfter)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.from([0]), sign(null, content, issuer?.privateKey ?? privateKey));
  const base64 = sequence(content, ED25519, signature).toString('base64').replace(/.{64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    privateKey,
  };
}

/** Creates a self-signed certificate for these names and addresses. */
export function selfSigned(names: readonly string[], isAuthority = false): Certificate {
  const { cert, key } = issue({ subject: 'berth-test', names, isAuthority });
  return { cert, key };
}
