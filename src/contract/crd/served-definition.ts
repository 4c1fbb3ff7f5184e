import { MANAGED_DEPLOYMENT } from '../resource/managed-deployment.ts';
import { type Fields, missingFields } from './compatibility.ts';
import { customResourceDefinition } from './crd.ts';

/** The custom resource as a cluster serves it, beside that of this version. */

/** Every account may read it; the definition itself is for few. */
export const SERVED_AT = `/openapi/v3/apis/${MANAGED_DEPLOYMENT.apiVersion}`;

interface Served {
  components?: {
    schemas?: Record<string, Fields & { 'x-kubernetes-group-version-kind'?: { kind: string }[] }>;
  };
}

export interface DefinitionDifference {
  /** Paths of fields that the cluster's lacks: what is written with them is refused. */
  readonly lacks: readonly string[];
  /** That this version does not know. */
  readonly more: readonly string[];
}

/**
 * How that of the cluster differs from that of this version.
 * @param document what the cluster answers at {@link SERVED_AT}
 * @returns null where the cluster does not tell its fields (yet)
 */
export function definitionDifference(document: unknown): DefinitionDifference | null {
  const { components } = (document ?? {}) as Served;
  const served = Object.values(components?.schemas ?? {}).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(({ kind }) => kind === MANAGED_DEPLOYMENT.kind),
  );
  const schema = customResourceDefinition().spec.versions[0]?.schema.openAPIV3Schema;
  if (served === undefined || schema === undefined) return null;
  return {
    lacks: missingFields(schema, served),
    // The API server adds nothing below spec and status.
    more: ['spec', 'status'].flatMap((part) =>
      missingFields({ properties: { [part]: served.properties?.[part] ?? {} } }, schema),
    ),
  };
}

const SHOWN = 10;

/** Names, not more than can be read. */
export function shown(names: readonly string[]): string {
  return names.length > SHOWN
    ? `${names.slice(0, SHOWN).join(', ')} and ${names.length - SHOWN} more`
    : names.join(', ');
}

/** @param program whose version is newer */
export function olderDefinition(program: 'the hub' | 'this program', lacks: readonly string[]): string {
  return `the custom resource definition of the cluster is older than ${program}: it lacks ${shown(lacks)}`;
}

export function upgradeDefinition(program: 'the hub' | 'this program'): string {
  return `upgrade it to the version of ${program}: helm upgrade with that chart, or kubectl apply --server-side -f crds/`;
}
