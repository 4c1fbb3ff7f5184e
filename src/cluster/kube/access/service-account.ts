import { readFile } from 'node:fs/promises';
import type { ClusterAccess } from './cluster-access.ts';
import { readCredentialFile, TokenFile } from './token-file.ts';

export const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The API server and the service account of this pod. The kubelet renews the files. */
export async function serviceAccountAccess(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<ClusterAccess> {
  const host = environment['KUBERNETES_SERVICE_HOST'] ?? 'kubernetes.default.svc';
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  const namespace = await readFile(`${folder}/namespace`, 'utf8').catch(() => undefined);
  const token = new TokenFile(`${folder}/token`);
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    namespace: namespace?.trim(),
    headers: async () => ({ authorization: `Bearer ${await token.read()}` }),
    tls: async () => ({
      ca: await readCredentialFile(`${folder}/ca.crt`, 'certificate-authority'),
      rejectUnauthorized: true,
    }),
    invalidate: () => token.invalidate(),
  };
}
