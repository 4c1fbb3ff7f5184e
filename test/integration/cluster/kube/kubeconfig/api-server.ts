/** An API server that accepts client certificates, static tokens and ID tokens of an issuer. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiRequest } from '../../../../cluster/api-probe.ts';
import { type Certificate, issue } from '../../../../cluster/build-node/certificate.ts';
import { paths, readRecord } from '../../../../cluster/layout.ts';
import { freePorts } from '../../../../cluster/ports.ts';
import { startProcess, stopProcess } from '../../../../cluster/processes.ts';
import { waitFor } from '../../../../cluster/wait.ts';
import { cluster } from '../../../harness/environment.ts';
import { AUDIENCE, type Issuer } from './issuer.ts';

const NAME = 'kubeconfig-api-server';
const HOST = '127.0.0.1';

export interface TestApiServer {
  readonly url: string;
  readonly caPem: string;
  readonly token: string;
  certificateOf(user: string): Certificate;
  stop(): Promise<void>;
}

/** Starts the API server next to the one of the run, with its own objects in the same etcd. */
export async function startApiServer(folder: string, issuer: Issuer): Promise<TestApiServer> {
  const { stateDir } = cluster();
  const record = readRecord(stateDir);
  if (record === undefined) throw new Error('failed to find the cluster of the run');
  const pki = join(folder, 'pki');
  mkdirSync(pki, { recursive: true });
  const file = (name: string, content: string) => {
    const path = join(pki, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const subject = 'client authority';
  const authority = issue({ subject, names: ['authority.test'], isAuthority: true });
  const token = randomBytes(24).toString('hex');
  const [port = 0] = await freePorts(1);
  const serviceAccountKey = join(stateDir, 'pki', 'service-account.key');
  const authentication = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: { url: issuer.url, certificateAuthority: issuer.caPem, audiences: [AUDIENCE] },
        claimMappings: { username: { claim: 'sub', prefix: '' } },
      },
    ],
  };
  await startProcess(folder, {
    name: NAME,
    command: record.binaries['kube-apiserver'],
    args: [
      `--etcd-servers=http://${HOST}:${record.ports.etcd}`,
      '--etcd-prefix=/kubeconfig-test',
      `--bind-address=${HOST}`,
      `--advertise-address=${HOST}`,
      `--secure-port=${port}`,
      `--cert-dir=${pki}`,
      `--client-ca-file=${file('clients.crt', authority.cert)}`,
      `--token-auth-file=${file('tokens.csv', `${token},token-user,token-user\n`)}`,
      `--authentication-config=${file('authentication.json', JSON.stringify(authentication))}`,
      '--authorization-mode=RBAC',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${serviceAccountKey}`,
      `--service-account-signing-key-file=${serviceAccountKey}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--endpoint-reconciler-type=none',
    ],
  });
  const url = `https://${HOST}:${port}`;
  const caPem = await waitFor(
    'the certificate of the API server',
    async () => {
      const pem = readFileSync(paths.serverCertificate(folder), 'utf8');
      return pem.split('-----END CERTIFICATE-----').length > 2 ? pem : undefined;
    },
    { timeoutMs: 60_000 },
  );
  await waitFor(
    'the API server to be ready',
    async () => (await apiRequest({ server: url, caPem, token }, '/readyz')).status === 200,
    { timeoutMs: 60_000 },
  );
  return {
    url,
    caPem,
    token,
    certificateOf: (user) => {
      const content = { subject: user, names: ['client.test'], isAuthority: false };
      const { cert, key } = issue(content, { subject, privateKey: authority.privateKey });
      return { cert, key };
    },
    stop: () => stopProcess(folder, NAME, { timeoutMs: 10_000 }),
  };
}
