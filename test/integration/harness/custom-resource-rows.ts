/** Bad custom resources beside the design's table: what a client of the API has no word for, and what is too large. */

export interface CustomResourceRow {
  readonly row: string;
  readonly what: string;
  readonly spec: Record<string, unknown>;
  /** Words that the refusal holds, in whatever letters. */
  readonly named: readonly string[];
  /**
   * Where in `spec` something stands that the custom resource has no field for: left out before it is stored. Said here
   * and not found out by sending: what is left out because a field has another name now would be none the wiser.
   */
  readonly unknown?: readonly Step[];
}

export type Step = string | number;

/** Nothing but the app: data services would be made, and harm nobody. */
export const BASE = {
  revision: { image: 'registry.test/web:1' },
  database: { external: true },
  cache: { external: true },
};

export const pods = (what: string, podTemplate: object, ...named: string[]): CustomResourceRow => ({
  row: 'pods',
  what,
  spec: { ...BASE, podTemplate },
  named,
});
export const spec = (row: string, what: string, more: object, ...named: string[]): CustomResourceRow => ({
  row,
  what,
  spec: { ...BASE, ...more },
  named,
});

export const helper = { name: 'helper', image: 'registry.test/helper:1' };
const revision = (more: object) => ({ revision: { ...BASE.revision, ...more } });
export const build = {
  revisionId: 'r',
  number: 1,
  repoUrl: 'https://git.example.com/a/b',
  configPath: 'app.json',
  repository: 'registry.test/a',
  secretName: 's',
};

/** Inputs that the API has no field for. */
export const NOT_IN_THE_API: readonly CustomResourceRow[] = [
  pods('a sidecar named as the app', { sidecars: [{ ...helper, name: 'app' }] }, 'app'),
  pods('an init container named as the app', { initContainers: [{ ...helper, name: 'app' }] }, 'app'),
  pods('two sidecars of one name', { sidecars: [helper, helper] }, 'sidecars'),
  pods('a sidecar named as an init container', { sidecars: [helper], initContainers: [helper] }, 'sidecars'),
  pods('a volume of a reserved name', { volumes: [{ name: 'berth-credentials' }] }, 'volumes', 'reserved'),
  pods(
    'a mount of no volume',
    { volumeMounts: [{ name: 'berth-credentials', mountPath: '/x' }] },
    'volumeMounts',
  ),
  pods(
    'a mount over everything',
    { volumes: [{ name: 'v' }], volumeMounts: [{ name: 'v', mountPath: '/' }] },
    'mountPath',
  ),
  pods(
    'mounts into the node',
    {
      volumes: [{ name: 'v' }],
      volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
    },
    'mountPropagation',
  ),
  pods(
    'an annotation of Berth',
    { annotations: { 'berth.dev/applied-hash': 'x' } },
    'berth.dev/applied-hash',
  ),
  pods('a label that is no label', { labels: { 'a b': 'x' } }, 'a b'),
  pods('NUL in an annotation', { annotations: { note: 'a\u0000b' } }, 'annotations'),
  pods('an annotation of 240 KiB and more', { annotations: { note: 'x'.repeat(245_761) } }, 'annotations'),
  pods(
    'arguments of 300 KiB',
    { sidecars: [{ ...helper, args: Array(10).fill('x'.repeat(30_000)) }] },
    'larger',
  ),
  pods(
    '257 labels',
    { labels: Object.fromEntries(Array.from({ length: 257 }, (_, n) => [`l${n}`, ''])) },
    'labels',
  ),
  pods('65 volumes', { volumes: Array.from({ length: 65 }, (_, n) => ({ name: `v${n}` })) }, 'volumes'),
  pods(
    'variables from another deployment',
    { sidecars: [{ ...helper, envFrom: [{ secretRef: { name: 'shop-0a1b2c3d-db-copy' } }] }] },
    'secretRef',
  ),
  spec(
    'revision',
    "another deployment's environment",
    revision({ envSecretName: 'shop-0a1b2c3d-env-1' }),
    'envSecretName',
  ),
  spec(
    'revision',
    "another deployment's credentials",
    revision({ envSecretName: 'shop-0a1b2c3d-db' }),
    'envSecretName',
  ),
  spec('revision', 'no image', revision({ image: '' }), 'image'),
  spec('revision', 'an image of two words', revision({ image: 'web:1 --privileged' }), 'image'),
  spec('revision', 'number 0', revision({ number: 0 }), 'number'),
  spec('revision', 'a number beyond all', revision({ number: 1e30 }), 'number'),
  spec('revision', 'a number that JSON loses', revision({ number: 2 ** 60 }), 'number'),
  spec('revision', 'a part of a number', revision({ number: 1.5 }), 'number'),
  spec('revision', 'an id of 65 letters', revision({ id: 'x'.repeat(65) }), 'revision.id'),
  spec('texts', 'a name of 129 letters', { displayName: 'x'.repeat(129) }, 'displayName'),
  spec('texts', 'an id of a deployment that is a list', { deploymentId: ['a'] }, 'deploymentId'),
  spec('numbers', 'a generation beyond all', { recordGeneration: 1e30 }, 'recordGeneration'),
  spec('numbers', 'a generation that JSON loses', { recordGeneration: 2 ** 62 }, 'recordGeneration'),
  spec(
    'numbers',
    'pods without end',
    { components: { api: { scale: { min: 1, max: 2 ** 40 } } } },
    'scale.max',
  ),
  spec(
    'numbers',
    'fewer pods than none',
    { components: { api: { scale: { min: -1, max: 1 } } } },
    'scale.min',
  ),
  spec('numbers', 'a pool without end', { database: { poolSize: 1e12 } }, 'poolSize'),
  spec('quantities', 'no quantity', { database: { storage: 'much' } }, 'storage'),
  spec('quantities', 'less than nothing', { database: { storage: '-1Gi' } }, 'storage'),
  spec('quantities', 'nothing', { database: { storage: '0' } }, 'storage'),
  spec('quantities', 'a thousand digits', { database: { storage: '9'.repeat(1000) } }, 'storage'),
  spec(
    'quantities',
    'cores that are none',
    { components: { api: { resources: { limits: { cpu: '1 core' } } } } },
    'cpu',
  ),
  spec(
    'quantities',
    'memory of the cache beyond all',
    { cache: { resources: { limits: { memory: '5Ti' } } } },
    'limits.memory',
  ),
  spec(
    'quantities',
    'cores of the database beyond all',
    { database: { resources: { requests: { cpu: '256001m' } } } },
    'requests.cpu',
  ),
  spec('URL', 'a wildcard', { routing: { url: 'https://*.example.com' } }, 'url'),
  spec('URL', 'a host of quotes', { routing: { url: 'https://a";b.example.com' } }, 'url'),
  spec('URL', 'a path of another syntax', { routing: { url: 'https://a.example.com/{x:.*}' } }, 'url'),
  spec('build', 'a command as a repository', { build: { ...build, repoUrl: 'ext::sh -c id' } }, 'repoUrl'),
  spec(
    'build',
    'a password in a URL',
    { build: { ...build, repoUrl: 'https://a:b@git.example.com/a' } },
    'repoUrl',
  ),
  spec('build', 'a commit that is none', { build: { ...build, commit: '--upload-pack=id' } }, 'commit'),
];

const MIB = 'x'.repeat(2 ** 20);
/** Below fields of Kubernetes, into which the rules of the custom resource do not look. */
const deep = (levels: number): object => {
  let nested = {};
  for (let level = 0; level < levels; level += 1) nested = { a: nested };
  return nested;
};
/** Far more than any field has; some thousands more, and what copies it by recursion runs out of stack: test/unit/operator. */
const LEVELS = 1_000;

export const LARGE: readonly CustomResourceRow[] = [
  spec('1 MiB', 'a name', { displayName: MIB }, 'displayName'),
  spec('1 MiB', 'an image', revision({ image: MIB }), 'image'),
  spec('1 MiB', 'a URL', { routing: { url: `https://a.example.com/${MIB}` } }, 'url'),
  pods('an annotation of 1 MiB', { annotations: { note: MIB } }, 'annotations'),
  pods('a label of 1 MiB', { labels: { team: MIB } }, 'labels'),
  pods('a variable of 1 MiB', { sidecars: [{ ...helper, env: [{ name: 'A', value: MIB }] }] }, 'sidecars'),
  pods(
    'a securityContext of 1 MiB',
    { sidecars: [{ ...helper, securityContext: { [MIB]: 1 } }] },
    'sidecars',
  ),
  pods('levels of a securityContext', { sidecars: [{ ...helper, securityContext: deep(LEVELS) }] }, 'nested'),
  pods('levels of a source', { volumes: [{ name: 'v', projected: deep(LEVELS) }] }, 'nested'),
  pods(
    '__proto__ in a securityContext',
    { sidecars: [{ ...helper, securityContext: proto({ privileged: true }) }] },
    '__proto__',
  ),
];

/** An object with a field of that name, as JSON makes it. */
export function proto(value: unknown): object {
  return JSON.parse(`{"__proto__":${JSON.stringify(value)}}`) as object;
}

/** What a custom resource has no field for, beside what the table names. */
export const NOT_IN_THE_CONTRACT: readonly CustomResourceRow[] = [
  { ...spec('fields', 'a namespace', { namespace: 'kube-system' }), unknown: ['namespace'] },
  { ...spec('fields', '__proto__', proto({ suspend: false })), unknown: ['__proto__'] },
  { ...pods('__proto__', proto({ hostNetwork: true })), unknown: ['podTemplate', '__proto__'] },
  {
    ...pods('__proto__ in a sidecar', { sidecars: [{ ...helper, ...proto({ stdin: true }) }] }),
    unknown: ['podTemplate', 'sidecars', 0, '__proto__'],
  },
];
