import type { Container } from '../kubernetes/container.ts';
import { eachContainer } from '../kubernetes/pod-containers.ts';
import type { Volume } from '../kubernetes/volume.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import { isSecretOfAnother } from './generated-names.ts';
import type { PodView, Violation } from './policy-view.ts';

/** Rejects references to objects that Berth created for another deployment, and to every database volume. */
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
      secretAt(name, 'image_pull_secrets', index, 'name'),
    ),
    ...(spec.volumes ?? []).flatMap(inVolume),
    ...eachContainer(spec).flatMap(({ container, loc }) => inContainer(container, loc)),
  ];
}

/** Every reference to an object of another deployment, and to any database volume. */
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
