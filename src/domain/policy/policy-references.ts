import type { Container } from '../kubernetes/container.ts';
import type { Volume } from '../kubernetes/volume.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import type { PodView, Violation } from './policy-view.ts';

/**
 * Rejects references to objects of other deployments: database credentials, environment, pull Secret and volume. Names
 * of objects of deployments end in `-<8 hex digits of the id>-<suffix>`. Every name of this form that does not belong
 * to the deployment itself is rejected.
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

/** Every Secret and volume claim that a spec references, with the path. */
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

/**
 * Name of the deployment that an object with this name would belong to. null: Berth does not use names of this form.
 */
export function generatedFor(name: string): string | null {
  const app = name.replace(GENERATED_PART, '');
  return app === name || app === '' ? null : app;
}

/** Whether a Secret of this name belongs to another deployment, according to its name. */
export function isSecretOfAnother(name: string, appName: string): boolean {
  return GENERATED_SECRET.test(name) && name.replace(GENERATED_PART, '') !== appName;
}

/** Rejects every reference to an object of another deployment, and to any database volume. */
export function generatedObjectIssues({ spec, appName }: PodView): Violation[] {
  return references(spec)
    .filter(({ name, kind }) =>
      kind === 'claim' ? GENERATED_CLAIM.test(name) : isSecretOfAnother(name, appName),
    )
    .map(({ loc }) => ({
      loc: ['source_config', 'resource_spec', ...loc],
      msg: 'belongs to a deployment of Berth and cannot be referenced',
    }));
}
