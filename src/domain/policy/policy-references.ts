import { exceeds } from '../deployment/secret-size.ts';
import type { Container } from '../kubernetes/container.ts';
import { eachContainer } from '../kubernetes/pod-containers.ts';
import type { Volume } from '../kubernetes/volume.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import type { SecretReference } from '../run-settings/run-settings.ts';
import type { Policy } from './policy.ts';
import type { PodView, PolicyView, Violation } from './policy-view.ts';
import { type SecretUse, secretRefusal } from './referenceable-secrets.ts';

/** Rejects references to Secrets that no policy allows, and to every database volume. */
const GENERATED_CLAIM = /-[0-9a-f]{8}-db$/;

export interface Reference {
  readonly name: string;
  readonly kind: 'secret' | 'claim';
  /** How pods use a Secret. A claim has the use `content`. */
  readonly use: SecretUse;
  readonly loc: (string | number)[];
}

function secretAt(name: string | undefined, ...loc: (string | number)[]): Reference[] {
  return name === undefined ? [] : [{ name, kind: 'secret', use: 'content', loc }];
}

function inVolume(volume: Volume, index: number): Reference[] {
  const at = (...path: (string | number)[]) => ['volumes', index, ...path];
  const claim = volume.persistentVolumeClaim?.claimName;
  return [
    ...secretAt(volume.secret?.secretName, ...at('secret', 'secretName')),
    ...secretAt(volume.csi?.nodePublishSecretRef?.name, ...at('csi', 'nodePublishSecretRef', 'name')),
    ...(volume.projected?.sources ?? []).flatMap((source, entry) =>
      secretAt(source.secret?.name, ...at('projected', 'sources', entry, 'secret', 'name')),
    ),
    ...(claim === undefined
      ? []
      : [
          {
            name: claim,
            kind: 'claim' as const,
            use: 'content' as const,
            loc: at('persistentVolumeClaim', 'claimName'),
          },
        ]),
  ];
}

function inContainer(container: Container, loc: readonly (string | number)[]): Reference[] {
  return [
    ...(container.env ?? []).flatMap((variable, index) =>
      secretAt(
        variable.valueFrom?.secretKeyRef?.name,
        ...loc,
        'env',
        index,
        'valueFrom',
        'secretKeyRef',
        'name',
      ),
    ),
    ...(container.envFrom ?? []).flatMap((source, index) =>
      secretAt(source.secretRef?.name, ...loc, 'envFrom', index, 'secretRef', 'name'),
    ),
  ];
}

/** Every Secret and volume claim that a spec references, with the path. */
export function references(spec: ResourceSpec): Reference[] {
  return [
    ...(spec.image_pull_secrets ?? []).flatMap(({ name }, index) =>
      secretAt(name, 'image_pull_secrets', index, 'name').map((found) => ({
        ...found,
        use: 'pull' as const,
      })),
    ),
    ...(spec.volumes ?? []).flatMap(inVolume),
    ...eachContainer(spec).flatMap(({ container, loc }) => inContainer(container, loc)),
  ];
}

/** Why the API rejects a reference, which it judges by the name alone. null: it does not. */
function nameIssue(
  { name, kind, use }: Pick<Reference, 'name' | 'kind' | 'use'>,
  appName: string,
): string | null {
  if (kind === 'secret') return secretRefusal({ name }, use, { appName, labelledOnly: false });
  return GENERATED_CLAIM.test(name) ? 'belongs to a deployment of Berth and cannot be referenced' : null;
}

/** Every reference to an object that Berth or the platform created, and to any database volume. */
export function generatedObjectIssues({ spec, appName }: PodView): Violation[] {
  return references(spec).flatMap(({ loc, ...reference }) => {
    const msg = nameIssue(reference, appName);
    return msg === null ? [] : [{ loc: ['source_config', 'resource_spec', ...loc], msg }];
  });
}

type ReferencesView = Pick<PolicyView, 'references' | 'storedReferences' | 'appName'>;

/**
 * The policy issues of `secret_references`. References that are stored are not checked again, because the policy may have
 * become narrower.
 */
export function secretReferenceIssues(
  { references: sent = [], storedReferences = [], appName }: ReferencesView,
  policy: Policy,
): Violation[] {
  const most = policy.secret_references.max_secrets;
  const count = secretsOf(sent).size;
  const found = sent.flatMap(({ secretName: name }, index) => {
    const msg = nameIssue({ name, kind: 'secret', use: 'content' }, appName);
    const isStored = storedReferences.some(({ secretName }) => secretName === name);
    return msg === null || isStored ? [] : [{ loc: ['secret_references', index, 'secret_name'], msg }];
  });
  if (!exceeds(count, most, secretsOf(storedReferences).size)) return found;
  return [{ loc: ['secret_references'], msg: `must not name more than ${most} different Secrets` }, ...found];
}

const secretsOf = (list: readonly SecretReference[]) => new Set(list.map(({ secretName }) => secretName));
