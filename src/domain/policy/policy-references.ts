import type { Container } from '../kubernetes/container.ts';
import type { Volume } from '../kubernetes/volume.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import type { PodView, Violation } from './policy-view.ts';

/**
 * References to objects that Berth made for another deployment: its database's credentials, its environment, the
 * credentials for its images, its volume. Their names end in `-<8 hex digits of the id>-<what>`; whatever looks so and is not one's own is refused.
 */
const GENERATED_SECRET = /-[0-9a-f]{8}-(db|db-copy|tls|pull|env-\d+)$/;
const GENERATED_PART = /-(db|db-copy|tls|pull|env-\d+)$/;
const GENERATED_CLAIM = /-[0-9a-f]{8}-db$/;

export interface Reference {
  readonly name: string;
  readonly kind: 'secret' | 'claim';
  readonly loc: (string | number)[];
}

function secretAt(name: string | undefined, ...loc: (string | number)[]): Reference[] {
  return name === undefined ? [] : [{ name, kind: 'secret', loc }];
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
      : [{ name: claim, kind: 'claim' as const, loc: at('persistentVolumeClaim', 'claimName') }]),
  ];
}

function inContainer(container: Container, loc: (string | number)[]): Reference[] {
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

/** Every Secret and volume claim that a spec names, with the place. */
export function references(spec: ResourceSpec): Reference[] {
  return [
    ...(spec.image_pull_secrets ?? []).flatMap(({ name }, index) =>
      secretAt(name, 'image_pull_secrets', index, 'name'),
    ),
    ...(spec.volumes ?? []).flatMap(inVolume),
    ...(['init_containers', 'sidecars'] as const).flatMap((list) =>
      (spec[list] ?? []).flatMap((container, index) => inContainer(container, [list, index])),
    ),
  ];
}

/** Name of the deployment that Berth would give an object of this name; null: Berth gives no such name. */
export function generatedFor(name: string): string | null {
  const app = name.replace(GENERATED_PART, '');
  return app === name || app === '' ? null : app;
}

/** Whether Berth made the Secret of this name, as far as that can be told, and for another deployment than this one. */
export function isSecretOfAnother(name: string, appName: string): boolean {
  return GENERATED_SECRET.test(name) && name.replace(GENERATED_PART, '') !== appName;
}

/** Every reference to an object that Berth made for another deployment, and to any database volume. */
export function generatedObjectIssues({ spec, appName }: PodView): Violation[] {
  return references(spec)
    .filter(({ name, kind }) =>
      kind === 'claim' ? GENERATED_CLAIM.test(name) : isSecretOfAnother(name, appName),
    )
    .map(({ loc }) => ({
      loc: ['source_config', 'resource_spec', ...loc],
      msg: 'belongs to a deployment of Berth and cannot be used here',
    }));
}
