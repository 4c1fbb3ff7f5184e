import { randomBytes } from 'node:crypto';
import {
  type Certificate,
  issue,
  selfSigned as selfSignedFor,
} from '../../../cluster/build-node/certificate.ts';

export type { Certificate };

/** A self-signed certificate for 127.0.0.1, with its key. */
export function selfSigned(): Certificate {
  return selfSignedFor(['127.0.0.1'], true);
}

/** A private authority: its own certificate, and those that it issues for names. */
export function authority(): {
  cert: string;
  issue(names: readonly string[], notAfter?: string): Certificate;
} {
  const subject = `test authority ${randomBytes(4).toString('hex')}`;
  const root = issue({ subject, names: ['authority.test'], isAuthority: true });
  return {
    cert: root.cert,
    issue: (names, notAfter) => {
      const content = { subject: 'hub', names, isAuthority: false };
      const { cert, key } = issue(notAfter === undefined ? content : { ...content, notAfter }, {
        subject,
        privateKey: root.privateKey,
      });
      return { cert, key };
    },
  };
}
