import fc from 'fast-check';
import { isZeroQuantity } from '../../src/domain/kubernetes/limits.ts';
import type { Volume, VolumeMount } from '../../src/domain/kubernetes/volume.ts';
import {
  absolutePath,
  bytesText,
  configMapKey,
  fieldRef,
  type KubernetesOptions,
  label,
  mode,
  optional,
  partial,
  prose,
  relativePath,
  resourceField,
  subdomain,
  subscriptedPath,
} from './kubernetes.ts';

/** Arbitraries of volumes and of where they are mounted; all valid, none refused by a real API server. */

const volumeFieldPath = fc.oneof(
  subscriptedPath,
  fc.constantFrom(
    ...['metadata.name', 'metadata.namespace', 'metadata.uid', 'metadata.labels', 'metadata.annotations'],
  ),
);

function file<T extends object>(what: fc.Arbitrary<T>) {
  return fc.tuple(what, partial({ mode })).map(([rest, own]) => ({ ...rest, ...own }));
}

/** Files that the kubelet would write on top of each other are refused in one projected volume: paths are numbered. */
function numbered<T extends { path: string }>(files: T[], start = 0): T[] {
  return files.map((item, index) => ({ ...item, path: `${start + index}/${item.path}` }));
}

const items = fc
  .array(file(fc.record({ key: configMapKey, path: relativePath })), { maxLength: 3 })
  .map((list) => numbered(list));
const downwardApiFiles = fc
  .array(
    file(
      fc.oneof(
        fc.record({ path: relativePath, fieldRef: fieldRef(volumeFieldPath) }),
        fc.record({
          path: relativePath,
          resourceFieldRef: resourceField.map((ref) => ({ containerName: 'app', ...ref })),
        }),
      ),
    ),
    { maxLength: 3 },
  )
  .map((list) => numbered(list));

const projectedObject = fc
  .tuple(subdomain, partial({ ...optional, items }))
  .map(([name, rest]) => ({ name, ...rest }));

function projectedSources({ serviceAccountTokens }: KubernetesOptions) {
  const token = fc
    .tuple(
      relativePath,
      partial({
        audience: fc.constantFrom('vault', 'https://sts.example.com'),
        expirationSeconds: fc.integer({ min: 600, max: 2 ** 32 }),
      }),
    )
    .map(([path, rest]) => ({ serviceAccountToken: { path, ...rest } }));
  return fc
    .array(
      fc.oneof(
        projectedObject.map((configMap) => ({ configMap })),
        projectedObject.map((secret) => ({ secret })),
        partial({ items: downwardApiFiles }).map((downwardAPI) => ({ downwardAPI })),
        ...(serviceAccountTokens ? [token] : []),
      ),
      { maxLength: 4 },
    )
    .map((sources) => sources.map(renumberSource));
}

/** A source's files get the source's own numbers, so that no two sources share a path. */
function renumberSource<T extends object>(source: T, index: number): T {
  return JSON.parse(JSON.stringify(source), (key, value) =>
    key === 'path' && typeof value === 'string' ? `s${index}/${value}` : value,
  ) as T;
}

const defaultMode = { defaultMode: mode };
const readOnly = { readOnly: fc.boolean() };

/** One source of each kind, under its kind's name. */
export function volumeSources(options: KubernetesOptions) {
  return {
    configMap: fc
      .tuple(subdomain, partial({ ...defaultMode, ...optional, items }))
      .map(([name, rest]) => ({ name, ...rest })),
    secret: fc
      .tuple(subdomain, partial({ ...defaultMode, ...optional, items }))
      .map(([secretName, rest]) => ({ secretName, ...rest })),
    emptyDir: partial({
      medium: fc.constantFrom('', 'Memory'),
      sizeLimit: bytesText.map((quantity) => (isZeroQuantity(quantity) ? '1' : quantity)),
    }),
    persistentVolumeClaim: fc
      .tuple(subdomain, partial(readOnly))
      .map(([claimName, rest]) => ({ claimName, ...rest })),
    nfs: fc
      .tuple(fc.constantFrom('nfs.example.com', '192.0.2.7'), absolutePath, partial(readOnly))
      .map(([server, path, rest]) => ({ server, path, ...rest })),
    projected: partial({ ...defaultMode, sources: projectedSources(options) }),
    downwardAPI: partial({ ...defaultMode, items: downwardApiFiles }),
    csi: fc
      .tuple(
        fc.constantFrom('csi.example.com', 'Secrets-Store.csi.k8s.io', 'driver'),
        partial({
          ...readOnly,
          fsType: fc.constantFrom('', 'ext4'),
          volumeAttributes: fc.dictionary(configMapKey, prose, { maxKeys: 3, noNullPrototype: true }),
          nodePublishSecretRef: subdomain.map((name) => ({ name })),
        }),
      )
      .map(([driver, rest]) => ({ driver, ...rest })),
  };
}

/** Volumes of a pod, names unique. */
export function volumes(options: KubernetesOptions): fc.Arbitrary<Volume[]> {
  const { nfs, ...rest } = volumeSources(options);
  const kinds = options.podSecurity === 'restricted' ? rest : { ...rest, nfs };
  const sources = Object.entries(kinds).map(([kind, source]) =>
    (source as fc.Arbitrary<object>).map((value): object => ({ [kind]: value })),
  );
  return fc
    .uniqueArray(fc.tuple(label, fc.oneof(fc.constant({}), ...sources)), {
      maxLength: 6,
      selector: ([name]) => name,
    })
    .map((list) =>
      list
        .filter(([name]) => !name.startsWith('berth-'))
        .map(([name, source]): Volume => ({ name, ...source })),
    );
}

interface MountDraft {
  volume: number;
  rest: Partial<VolumeMount>;
  path: string;
}
export type MountDrafts = MountDraft[];

export const mountDrafts: fc.Arbitrary<MountDrafts> = fc.array(
  fc.record({
    volume: fc.nat(),
    path: absolutePath,
    rest: fc.oneof(
      partial({
        readOnly: fc.boolean(),
        subPath: relativePath,
        mountPropagation: fc.constantFrom('None' as const, 'HostToContainer' as const),
      }),
      fc.constant({ subPathExpr: '$(POD_NAME)/data' }),
    ),
  }),
  { maxLength: 4 },
);

/** Mounts of volumes that exist, each at a path of its own. */
export function resolveMounts(drafts: MountDrafts, available: readonly Volume[]): VolumeMount[] {
  return drafts.flatMap(({ volume, path, rest }, index) => {
    const target = available[volume % Math.max(1, available.length)];
    return target ? [{ name: target.name, mountPath: `/${index}${path}`, ...rest }] : [];
  });
}
