import type { UntypedObject } from '../../kube/client/object.ts';

/** What cert-manager reports of a certificate. */
export interface CertificateFacts {
  readonly ready: boolean;
  /** Why the certificate is not ready, or that it is. */
  readonly message: string;
}

interface Certificate {
  spec?: { dnsNames?: string[] };
  status?: {
    conditions?: { type?: string; status?: string; message?: string; observedGeneration?: number }[];
  };
}

/** Maximum length of a message of cert-manager. */
const MAX_MESSAGE = 300;

/**
 * The state of a Certificate.
 * @param found undefined: it does not exist
 */
export function certificateFacts(
  found: UntypedObject | undefined,
  name: string,
  host: string,
): CertificateFacts {
  if (found === undefined)
    return { ready: false, message: `cert-manager has created no Certificate ${name} yet` };
  const { spec, status } = found as UntypedObject & Certificate;
  if (spec?.dnsNames?.includes(host) !== true)
    return { ready: false, message: `the Certificate ${name} is not for ${host}` };
  const { generation = 0 } = found.metadata;
  const condition = status?.conditions?.find(({ type }) => type === 'Ready');
  const isCurrent = (condition?.observedGeneration ?? generation) >= generation;
  if (condition?.status === 'True' && isCurrent)
    return { ready: true, message: `the Certificate ${name} is ready` };
  const { message = 'it is being issued' } = condition ?? {};
  return { ready: false, message: `the Certificate ${name} is not ready: ${message.slice(0, MAX_MESSAGE)}` };
}
