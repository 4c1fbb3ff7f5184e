import { IMAGE_ID_PATTERN, IMAGE_PATTERN, REPOSITORY_PATTERN } from '../../domain/kubernetes/image.ts';
import { MAX_QUANTITY_LENGTH } from '../../domain/kubernetes/quantity.ts';
import { VOLUME_KINDS } from '../../domain/kubernetes/volume-kinds.ts';
import { COMPONENTS } from '../../domain/resource-spec/components.ts';
import { RESOURCE_LIMITS } from '../../domain/resource-spec/resource-spec.ts';
import { MANAGED_DEPLOYMENT, MAX_APP_NAME, NOT_OBSERVED } from '../resource/definition.ts';
import {
  managedDeploymentSpecSchema,
  managedDeploymentStatusSchema,
} from '../resource/managed-deployment.ts';
import { COLUMNS } from './columns.ts';
import { addRules, at, atMost, definitionOf, MORE_THAN_ZERO, objectSchema } from './definition.ts';
import { addFormerNames, relaxRenamedFields } from './former-fields.ts';
import type { StructuralSchema, ValidationRule } from './structural-schema.ts';

/** The CustomResourceDefinition, generated from the zod schemas. `npm run crds` writes the definition to crds/. */

/** A field that is immutable once it is set. */
function immutableOnceSet(field: string): ValidationRule {
  return {
    rule: `!has(oldSelf.${field}) || (has(self.${field}) && self.${field} == oldSelf.${field})`,
    message: `${field} cannot be changed`,
  };
}

const NOT_NAMED_APP: ValidationRule = {
  rule: "self.name != 'app'",
  message: 'the name app is reserved for the app container',
};

/**
 * Rejects limits of 0 in a map of limits. 0 of an extended resource is valid and means no device. The operator checks
 * other sizes of huge pages.
 */
const LIMITS_MORE_THAN_ZERO: ValidationRule = {
  rule: "['cpu', 'memory', 'ephemeral-storage', 'hugepages-2Mi', 'hugepages-1Gi'].all(name, !(name in self) || !isQuantity(self[name]) || quantity(self[name]).isGreaterThan(quantity('0')))",
  message:
    'limits of cpu, memory, ephemeral-storage and huge pages must be more than 0: Kubernetes reads 0 as no limit',
};

/** A repository of a registry. */
const REPOSITORY: ValidationRule = {
  rule: `self.matches(r'${REPOSITORY_PATTERN}') && !self.matches(r'${IMAGE_ID_PATTERN}')`,
  message: 'must be a repository of a registry, without tag and digest',
};

/** An image reference, checked as in domain/kubernetes/image.ts, without the checks of length and digest. */
const IMAGE_REFERENCE: ValidationRule = {
  rule: `self.matches(r'${IMAGE_PATTERN}') && !self.matches(r'${IMAGE_ID_PATTERN}')`,
  message: 'must be an image reference, [registry/]name[:tag][@digest], and not the id of an image',
};

/** Paths with the sizes of containers that Berth creates. */
const SIZED = [...COMPONENTS.map((component) => `components.${component}`), 'database', 'cache'];
const SIZES = SIZED.flatMap((part) =>
  ['requests', 'limits'].flatMap((list): [string, ValidationRule[]][] => {
    const positive = list === 'limits' ? [MORE_THAN_ZERO] : [];
    return [
      [`spec.${part}.resources.${list}.cpu`, [atMost(String(RESOURCE_LIMITS.cpu)), ...positive]],
      [`spec.${part}.resources.${list}.memory`, [atMost(`${RESOURCE_LIMITS.memoryMb}Mi`), ...positive]],
    ];
  }),
);

/** The size to which storage can be lowered. Empty: the size is not known, so storage cannot be lowered. */
const CAPACITY =
  "(has(self.status) && has(self.status.volume) ? (has(self.status.volume.capacity) ? self.status.volume.capacity : self.status.volume.requested) : '')";

/** The previous value of storage, below the capacity, which is accepted again. Empty: none. */
const FORMER =
  "(has(self.status) && has(self.status.volume) && has(self.status.volume.former) ? self.status.volume.former : '')";

/**
 * Prevents a decrease of storage, for resources applied by hand. For deployments of the hub, the API enforces this, and
 * a rule here would prevent the listener from reverting a manual edit. After an expansion that was rejected or is not
 * finished, storage can be lowered to the capacity, or to its previous value. Both values are read from the status,
 * which a writer of the spec cannot set.
 */
const MAY_NOT_SHRINK: ValidationRule = {
  rule: [
    'has(self.spec.deploymentId)',
    '!isQuantity(oldSelf.spec.database.storage)',
    '!isQuantity(self.spec.database.storage)',
    'quantity(self.spec.database.storage).compareTo(quantity(oldSelf.spec.database.storage)) >= 0',
    `(isQuantity(${CAPACITY}) && quantity(self.spec.database.storage).compareTo(quantity(${CAPACITY})) >= 0)`,
    `(isQuantity(${FORMER}) && quantity(self.spec.database.storage).compareTo(quantity(${FORMER})) == 0)`,
  ].join(' || '),
  message: 'database.storage may grow, never shrink',
  messageExpression: `'database.storage may grow, never shrink' + (${CAPACITY} != '' ? ': the volume has ' + ${CAPACITY} : '')`,
};

/** Paths of image references, with the grammar of the API. The operator makes all other checks of images. */
const IMAGES = [
  'spec.revision.image',
  'spec.database.image',
  'spec.podTemplate.initContainers.items.image',
  'spec.podTemplate.sidecars.items.image',
];

/** Rules across fields, and transition rules, by path. `items` means the entries of a list. */
const RULES: Readonly<Record<string, readonly ValidationRule[]>> = {
  '': [
    {
      rule: `self.metadata.name.size() <= ${MAX_APP_NAME} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')`,
      message:
        `metadata.name must be a DNS label of at most ${MAX_APP_NAME} characters that starts with a letter: ` +
        `other names are derived from it`,
    },
    MAY_NOT_SHRINK,
  ],
  spec: [
    { rule: 'self.source == oldSelf.source', message: 'source cannot be changed' },
    // deploymentId cannot change, because immutable selectors contain the deploymentId, or the uid if deploymentId is
    // absent.
    {
      rule: 'has(self.deploymentId) == has(oldSelf.deploymentId) && (!has(self.deploymentId) || self.deploymentId == oldSelf.deploymentId)',
      message: 'deploymentId cannot be changed',
    },
    immutableOnceSet('tenantId'),
  ],
  'spec.schedules': [
    {
      rule: 'self.all(one, self.exists_one(other, other.name == one.name))',
      message: 'names of schedules must be unique',
    },
  ],
  ...Object.fromEntries(
    COMPONENTS.map((component) => [
      `spec.components.${component}.scale`,
      [{ rule: 'self.min <= self.max', message: 'min must not be more than max' }],
    ]),
  ),
  ...Object.fromEntries(SIZES),
  ...Object.fromEntries(IMAGES.map((path) => [path, [IMAGE_REFERENCE]])),
  'spec.build': [
    {
      rule: 'has(self.repoUrl) ? !has(self.upload) && has(self.configPath) : has(self.upload)',
      message: 'either repoUrl with configPath, or upload',
    },
  ],
  'spec.build.repository': [REPOSITORY],
  'spec.build.upload.repository': [REPOSITORY],
  'spec.podTemplate.initContainers.items.resources.limits': [LIMITS_MORE_THAN_ZERO],
  'spec.podTemplate.sidecars.items.resources.limits': [LIMITS_MORE_THAN_ZERO],
  'spec.database.storage': [
    atMost(`${RESOURCE_LIMITS.storageGi}Gi`),
    {
      rule: "isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",
      message: 'storage must be more than 0',
    },
  ],
  'spec.routing.url': [
    {
      // The operator makes all other checks of the URL.
      rule: "self.matches('^(?i:https):[^@?#*\\\\s]+$')",
      message: 'url must be an https URL without user, query and wildcard',
    },
  ],
  'spec.podTemplate.volumes.items': [
    {
      rule: `[${VOLUME_KINDS.map((source) => `has(self.${source})`).join(', ')}].filter(given, given).size() <= 1`,
      message: 'a volume has at most one source',
    },
  ],
  'spec.podTemplate.initContainers.items': [NOT_NAMED_APP],
  'spec.podTemplate.sidecars.items': [NOT_NAMED_APP],
};

/** Schemas of fields of Kubernetes types. A field has a schema only if a rule needs it. */
const SIZE_LIMIT: StructuralSchema = {
  description: 'Size limit, as a Kubernetes quantity.',
  type: 'string',
  maxLength: MAX_QUANTITY_LENGTH,
  'x-kubernetes-validations': [MORE_THAN_ZERO],
};

/** Merge strategies of server-side apply, by path. */
const MERGING: Readonly<Record<string, StructuralSchema>> = {
  // One writer owns all of spec. Without this strategy, a field that another client added would remain after a forced
  // apply.
  spec: { 'x-kubernetes-map-type': 'atomic' },
  'status.conditions': { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
  'status.components': { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
};

/**
 * The schema of the custom resource.
 * @param options.formerNames whether fields have their names of the previous version too
 */
export function resourceSchema({ formerNames }: { readonly formerNames: boolean }): StructuralSchema {
  const schema = objectSchema({
    description:
      'An application that Berth runs: its components, database and cache. Written by the listener from a record of the API, or by hand.',
    spec: managedDeploymentSpecSchema,
    status: managedDeploymentStatusSchema,
  });
  at(schema, 'spec.podTemplate.volumes.items.emptyDir').properties = { sizeLimit: SIZE_LIMIT };
  addRules(schema, RULES);
  for (const [path, merging] of Object.entries(MERGING)) Object.assign(at(schema, path), merging);
  at(schema, 'status.conditions.items.lastTransitionTime').format = 'date-time';
  // So tools that compare observedGeneration do not take a resource without a status for current.
  at(schema, 'status').default = { observedGeneration: NOT_OBSERVED };
  relaxRenamedFields(schema);
  if (formerNames) addFormerNames(schema);
  return schema;
}

/** Path of the generated CRD in the repository. */
export const CRD_FILE = `crds/${MANAGED_DEPLOYMENT.group}_${MANAGED_DEPLOYMENT.plural}.yaml`;

/** The CustomResourceDefinition of ManagedDeployment as a Kubernetes object. */
export function customResourceDefinition() {
  return definitionOf(MANAGED_DEPLOYMENT, COLUMNS, resourceSchema({ formerNames: true }));
}
