import { MANAGED_DEPLOYMENT } from '../resource/definition.ts';
import { type Fields, missingFields } from './compatibility.ts';
import { resourceSchema } from './crd.ts';

/** Compares the custom resource definition that a cluster serves with that of this version. */

/** Path of the OpenAPI document, which every account can read. Few accounts can read the CRD itself. */
export const SERVED_AT = `/openapi/v3/apis/${MANAGED_DEPLOYMENT.apiVersion}`;

interface Served {
  components?: {
    schemas?: Record<string, Fields & { 'x-kubernetes-group-version-kind'?: { kind: string }[] }>;
  };
}

export interface DefinitionDifference {
  /** Paths of fields that the cluster lacks. The cluster rejects writes with these fields. */
  readonly lacks: readonly string[];
  /** Paths of fields that this version does not know. */
  readonly more: readonly string[];
}

/**
 * The differences between the definition of the cluster and that of this version.
 * @param document response of the cluster at {@link SERVED_AT}
 * @returns null if the cluster does not publish the fields, or does not publish them yet
 */
export function definitionDifference(document: unknown): DefinitionDifference | null {
  const { components } = (document ?? {}) as Served;
  const served = Object.values(components?.schemas ?? {}).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(({ kind }) => kind === MANAGED_DEPLOYMENT.kind),
  );
  if (served === undefined) return null;
  const schema = resourceSchema({ formerNames: true });
  return {
    // The next version may remove the former names.
    lacks: missingFields(resourceSchema({ formerNames: false }), served),
    // Only spec and status are compared, because the API server adds other fields.
    more: ['spec', 'status'].flatMap((part) =>
      missingFields({ properties: { [part]: served.properties?.[part] ?? {} } }, schema),
    ),
  };
}

const SHOWN = 10;

/** A list of names, shortened if it is long. */
export function shown(names: readonly string[]): string {
  return names.length > SHOWN
    ? `${names.slice(0, SHOWN).join(', ')} and ${names.length - SHOWN} more`
    : names.join(', ');
}

/** @param program the program with the newer version */
export function olderDefinition(program: 'the hub' | 'this program', lacks: readonly string[]): string {
  return `the custom resource definition of the cluster is older than ${program}: it lacks ${shown(lacks)}`;
}

export function upgradeDefinition(program: 'the hub' | 'this program'): string {
  return `upgrade it to the version of ${program}: helm upgrade with that chart, or kubectl apply --server-side -f crds/`;
}
