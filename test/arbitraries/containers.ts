import fc from 'fast-check';
import type { Container } from '../../src/domain/kubernetes/container.ts';
import { isZeroQuantity } from '../../src/domain/kubernetes/limits.ts';
import type { SecurityContext } from '../../src/domain/kubernetes/security-context.ts';
import {
  absolutePath,
  bytesText,
  configMapKey,
  fieldRef,
  type KubernetesOptions,
  label,
  optional,
  partial,
  resourceField,
  script,
  subdomain,
  subscriptedPath,
} from './kubernetes.ts';
import { type MountDrafts, mountDrafts } from './volumes.ts';

/** Arbitraries of init containers and sidecars; all valid, none refused by a real API server. */

const hex64 = fc.stringMatching(/^[0-9a-f]{64}$/);
const image = fc
  .tuple(
    fc.constantFrom('', 'registry.example.com/', 'localhost:5000/', '[2001:db8::1]:5000/'),
    fc.array(fc.stringMatching(/^[a-z0-9]{1,8}([._-][a-z0-9]{1,6})?$/), { minLength: 1, maxLength: 3 }),
    fc.option(fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}$/)),
    fc.option(hex64),
  )
  .map(([domain, path, tag, digest]) =>
    [domain, path.join('/'), tag === null ? '' : `:${tag}`, digest === null ? '' : `@sha256:${digest}`].join(
      '',
    ),
  );

const cpuText = fc.oneof(
  fc.integer({ min: 1, max: 4000 }).map((milli) => `${milli}m`),
  fc.constantFrom('0', '1', '0.5', '1.5', '2e0', '.25', '+1'),
);
const envFieldPath = fc.oneof(
  subscriptedPath,
  fc.constantFrom(
    ...['metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName'],
    ...['status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'],
  ),
);
const keyRef = fc
  .tuple(subdomain, configMapKey, partial(optional))
  .map(([name, key, rest]) => ({ name, key, ...rest }));

const valueFrom = fc.oneof(
  fieldRef(envFieldPath).map((ref) => ({ fieldRef: ref })),
  resourceField.map((ref) => ({ resourceFieldRef: ref })),
  keyRef.map((ref) => ({ configMapKeyRef: ref })),
  keyRef.map((ref) => ({ secretKeyRef: ref })),
);
const envName = fc.oneof(
  fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,20}$/),
  fc.stringMatching(/^[ -<>-~]{1,12}$/), // any printable ASCII but '='
);
const env = fc.uniqueArray(
  fc.oneof(
    fc.tuple(envName, partial({ value: script })).map(([name, rest]) => ({ name, ...rest })),
    fc.tuple(envName, valueFrom).map(([name, source]) => ({ name, valueFrom: source })),
  ),
  { maxLength: 5, selector: (variable) => variable.name },
);

const objectRef = fc.tuple(subdomain, partial(optional)).map(([name, rest]) => ({ name, ...rest }));
const envFrom = fc.array(
  fc
    .tuple(
      partial({ prefix: fc.constantFrom('', 'APP_', 'my.prefix-') }),
      fc.oneof(
        objectRef.map((ref) => ({ configMapRef: ref })),
        objectRef.map((ref) => ({ secretRef: ref })),
      ),
    )
    .map(([rest, source]) => ({ ...rest, ...source })),
  { maxLength: 3 },
);

function securityContext({ podSecurity }: KubernetesOptions): fc.Arbitrary<SecurityContext> {
  const strict = podSecurity === 'restricted';
  const profile = fc.constantFrom(
    { type: 'RuntimeDefault' as const },
    { type: 'Localhost' as const, localhostProfile: 'profiles/audit.json' },
  );
  const addable = strict ? ['NET_BIND_SERVICE'] : ['NET_BIND_SERVICE', 'CHOWN', 'SETUID', 'SYS_CHROOT'];
  return partial({
    runAsUser: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    runAsGroup: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    runAsNonRoot: strict ? fc.constant(true) : fc.boolean(),
    readOnlyRootFilesystem: fc.boolean(),
    allowPrivilegeEscalation: strict ? fc.constant(false) : fc.boolean(),
    privileged: fc.constant(false),
    procMount: fc.constant('Default' as const),
    capabilities: partial({
      add: fc.uniqueArray(fc.constantFrom(...addable), { maxLength: 2 }),
      drop: fc.constantFrom(['ALL'], ...(strict ? [] : [['KILL', 'MKNOD'], []])),
    }),
    seLinuxOptions: partial({
      type: fc.constantFrom('container_t', 'container_init_t'),
      level: fc.constant('s0:c1,c2'),
    }),
    seccompProfile: profile,
    appArmorProfile: profile,
  });
}

const atMost = (limit: fc.Arbitrary<string>, request: fc.Arbitrary<string>) =>
  fc.oneof(
    limit.map((value) => ({ limit: value })),
    request.map((value) => ({ request: value })),
    limit.map((value) => ({ limit: value, request: '0' })),
    limit.map((value) => ({ limit: value, request: value })),
  );
const equal = (value: fc.Arbitrary<string>) => value.map((both) => ({ limit: both, request: both }));

/** A limit of 0 is refused. Mapped and not filtered, so that walks of a seed take the same way. */
const positive = (text: fc.Arbitrary<string>) =>
  text.map((quantity) => (isZeroQuantity(quantity) ? '1' : quantity));

const resources = partial({
  cpu: atMost(positive(cpuText), cpuText),
  memory: atMost(positive(bytesText), bytesText),
  'ephemeral-storage': atMost(positive(bytesText), bytesText),
  'example.com/gpu': equal(fc.integer({ min: 0, max: 8 }).map(String)),
}).map((kinds) => {
  const side = (which: 'limit' | 'request') =>
    Object.fromEntries(
      Object.entries(kinds).flatMap(([name, amounts]) => {
        const amount = (amounts as { limit?: string; request?: string } | undefined)?.[which];
        return amount === undefined ? [] : [[name, amount]];
      }),
    );
  return { limits: side('limit'), requests: side('request') };
});

/** A container whose mounts still have to be resolved. */
export interface ContainerDraft {
  container: Container;
  mounts: MountDrafts | undefined;
}

/** Containers, names unique and none 'app'. */
export function containerDrafts(options: KubernetesOptions): fc.Arbitrary<ContainerDraft[]> {
  const rest = partial({
    imagePullPolicy: fc.constantFrom('Always' as const, 'IfNotPresent' as const, 'Never' as const),
    command: fc.array(script, { maxLength: 3 }),
    args: fc.array(script, { maxLength: 3 }),
    workingDir: absolutePath,
    env,
    envFrom,
    resources,
    securityContext: securityContext(options),
    restartPolicy: fc.constantFrom('Always' as const, 'OnFailure' as const, 'Never' as const),
  });
  const draft = fc
    .tuple(label, image, rest, fc.option(mountDrafts, { nil: undefined }))
    .map(([name, ref, own, mounts]): ContainerDraft => ({ container: { name, image: ref, ...own }, mounts }));
  return fc
    .uniqueArray(draft, { maxLength: 3, selector: ({ container }) => container.name })
    .map((drafts) => drafts.filter(({ container }) => container.name !== 'app'));
}
