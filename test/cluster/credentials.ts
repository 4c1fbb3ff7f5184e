import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { componentNames } from './layout.ts';

/** A user of the static token file. */
export interface ComponentUser {
  name: string;
  /** Name of its kubeconfig. */
  kubeconfig: string;
  groups: string;
}

/** Users of the static token file. Components have separate names, so that the audit log can exclude them. */
const users: readonly ComponentUser[] = [
  { name: 'admin', kubeconfig: 'admin', groups: 'system:masters' },
  {
    name: 'system:kube-controller-manager',
    kubeconfig: componentNames.controllerManager,
    groups: 'system:masters',
  },
  { name: 'system:kube-scheduler', kubeconfig: componentNames.scheduler, groups: '' },
  { name: 'kwok', kubeconfig: componentNames.kwok, groups: 'system:masters' },
];

export interface Credentials {
  /** Token file of the API server. */
  tokenFile: string;
  /** Path of the private key that signs service account tokens. */
  serviceAccountKey: string;
  /** Tokens, by the name of the kubeconfig. */
  tokens: Record<string, string>;
}

/** Creates the tokens and the service account key of a new cluster. @param more additional users */
export function writeCredentials(stateDir: string, more: readonly ComponentUser[] = []): Credentials {
  const pki = join(stateDir, 'pki');
  mkdirSync(pki, { recursive: true, mode: 0o700 });
  const tokens: Record<string, string> = {};
  const rows = [...users, ...more].map(({ name, kubeconfig, groups }) => {
    const token = randomBytes(24).toString('hex');
    tokens[kubeconfig] = token;
    return `${token},${name},${name},"${groups}"\n`;
  });
  const tokenFile = join(pki, 'tokens.csv');
  writeFileSync(tokenFile, rows.join(''), { mode: 0o600 });
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const serviceAccountKey = join(pki, 'service-account.key');
  writeFileSync(serviceAccountKey, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  return { tokenFile, serviceAccountKey, tokens };
}

export interface KubeconfigContent {
  server: string;
  /** CA certificates of the server, PEM. */
  caPem: string;
  user: string;
  token: string;
}

/** Writes a self-contained kubeconfig as JSON, which is valid YAML. Only its owner can read it. */
export function writeKubeconfig(path: string, content: KubeconfigContent): void {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'local',
        cluster: {
          server: content.server,
          'certificate-authority-data': Buffer.from(content.caPem).toString('base64'),
        },
      },
    ],
    users: [{ name: content.user, user: { token: content.token } }],
    contexts: [{ name: 'local', context: { cluster: 'local', user: content.user } }],
    'current-context': 'local',
  };
  writeFileSync(path, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
}
