import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import {
  leaseRequestSchema,
  leaseResponseSchema,
  leaseStateSchema,
} from '../../../contract/protocol/lease-protocol.ts';
import {
  buildLogsRequestSchema,
  buildLogsResponseSchema,
  logChunkResponseSchema,
  logChunkSchema,
  logRequestsResponseSchema,
} from '../../../contract/protocol/log-protocol.ts';
import {
  objectAnswerResponseSchema,
  objectAnswerSchema,
  objectMapResultSchema,
  objectRequestSchema,
  objectResultSchema,
} from '../../../contract/protocol/object-protocol.ts';
import {
  volumeRemovalRequestSchema,
  volumeRemovalResponseSchema,
} from '../../../contract/protocol/removal-protocol.ts';
import {
  inventoryRequestSchema,
  inventoryResponseSchema,
  reportSchema,
  reportsRequestSchema,
  reportsResponseSchema,
  revisionRefSchema,
} from '../../../contract/protocol/report-protocol.ts';
import {
  taskOrderSchema,
  taskOrdersResponseSchema,
  taskReportSchema,
  taskReportsRequestSchema,
  taskReportsResponseSchema,
} from '../../../contract/protocol/task-protocol.ts';
import {
  applyWorkSchema,
  purgeWorkSchema,
  workItemSchema,
  workResponseSchema,
} from '../../../contract/protocol/work-protocol.ts';
import { renderConfigSchema } from '../../../contract/render/render-config.ts';
import { managedDeploymentSpecSchema } from '../../../contract/resource/managed-deployment.ts';
import {
  amountsSchema,
  componentSchema,
  resourcesSchema,
} from '../../../contract/resource/managed-deployment-parts.ts';
import { scheduleSpecSchema } from '../../../contract/resource/schedule-spec.ts';
import { buildLogLineSchema } from '../../../domain/builds/build-log.ts';
import { conditionSchema } from '../../../domain/conditions/conditions.ts';
import { failureSourceSchema } from '../../../domain/conditions/failure-source.ts';
import { loggedComponentSchema, logLineSchema } from '../../../domain/core/log-query.ts';
import { applyBodySchema } from '../../../domain/deployment/apply.ts';
import {
  createBodySchema,
  createRevisionConfigSchema,
  patchBodySchema,
  patchRevisionConfigSchema,
  secretBodySchema,
  sourceConfigBodySchema,
} from '../../../domain/deployment/deployment-bodies.ts';
import { changeSecretsBodySchema } from '../../../domain/deployment/secret-changes.ts';
import { deploymentTypeSchema, sourceSchema } from '../../../domain/deployment/source.ts';
import { containerSchema } from '../../../domain/kubernetes/container.ts';
import { volumeMountSchema, volumeSchema } from '../../../domain/kubernetes/volume.ts';
import { affinitySchema } from '../../../domain/pod-settings/affinity.ts';
import {
  cacheBodySchema,
  databaseBodySchema,
  shownCacheSchema,
  shownDatabaseSchema,
} from '../../../domain/pod-settings/data-services.ts';
import { gpuSchema } from '../../../domain/pod-settings/gpu.ts';
import { healthCheckSchema } from '../../../domain/pod-settings/health-check.ts';
import { placementSchema } from '../../../domain/pod-settings/placement.ts';
import { securityProfileSchema } from '../../../domain/pod-settings/security-profile.ts';
import { tolerationSchema } from '../../../domain/pod-settings/toleration.ts';
import { tenantQuotaChangesSchema, tenantQuotasSchema } from '../../../domain/policy/tenant-quotas.ts';
import { effectiveResourceSpecSchema } from '../../../domain/resource-spec/effective-spec-schema.ts';
import { resourceSpecSchema } from '../../../domain/resource-spec/resource-spec.ts';
import {
  commandBodySchema,
  commandsBodySchema,
  variableSchema,
} from '../../../domain/run-settings/run-settings-schema.ts';
import { secretReferenceBodySchema } from '../../../domain/run-settings/secret-reference-schema.ts';
import { scheduleBodySchema, shownScheduleSchema } from '../../../domain/schedules/schedules.ts';
import { type OpenApiDocument, SCHEMA_REFERENCE } from './openapi-types.ts';

const [appliedReport, refusedReport, observedReport, purgedReport] = reportSchema.options;

/**
 * Names of schemas in the document. A schema of the API has its name where it is declared: `.meta({ id })`. The schemas of
 * domain/ and contract/ get theirs here.
 *
 * A schema `X` of requests becomes `XInput`, except for an enumeration. If a schema of responses has the name X as well, the one of requests has the id
 * `XBody`, which also becomes `XInput`.
 */
const NAMES: Readonly<Record<string, z.ZodType>> = {
  CreateDeployment: createBodySchema,
  UpdateDeployment: patchBodySchema,
  ApplyDeployment: applyBodySchema,
  UpdateDeploymentSecrets: changeSecretsBodySchema,
  SourceConfigBody: sourceConfigBodySchema,
  SourceRevisionConfigBody: createRevisionConfigSchema,
  UpdateSourceRevisionConfig: patchRevisionConfigSchema,
  SecretBody: secretBodySchema,
  CommandBody: commandBodySchema,
  CommandsBody: commandsBodySchema,
  VariableBody: variableSchema,
  SecretReferenceBody: secretReferenceBodySchema,
  ResourceSpecBody: resourceSpecSchema,
  EffectiveResourceSpec: effectiveResourceSpecSchema,
  SecurityProfile: securityProfileSchema,
  HealthCheck: healthCheckSchema,
  Placement: placementSchema,
  Affinity: affinitySchema,
  Toleration: tolerationSchema,
  Gpu: gpuSchema,
  Schedule: shownScheduleSchema,
  ScheduleBody: scheduleBodySchema,
  ScheduleSpec: scheduleSpecSchema,
  DatabaseSettings: shownDatabaseSchema,
  DatabaseSettingsBody: databaseBodySchema,
  CacheSettings: shownCacheSchema,
  CacheSettingsBody: cacheBodySchema,
  DeploymentSource: sourceSchema,
  DeploymentType: deploymentTypeSchema,
  Container: containerSchema,
  Volume: volumeSchema,
  VolumeMount: volumeMountSchema,
  Condition: conditionSchema,
  Component: loggedComponentSchema,
  LogLine: logLineSchema,
  BuildLogLine: buildLogLineSchema,
  TenantQuotas: tenantQuotasSchema,
  TenantQuotaOverrides: tenantQuotaChangesSchema,
  // Listener protocol
  AcquireListenerLease: leaseRequestSchema,
  ListenerLease: leaseResponseSchema,
  ListenerLeaseState: leaseStateSchema,
  RenderConfig: renderConfigSchema,
  ListenerWork: workResponseSchema,
  ListenerWorkItem: workItemSchema,
  ApplyWork: applyWorkSchema,
  PurgeWork: purgeWorkSchema,
  ManagedDeploymentSpec: managedDeploymentSpecSchema,
  ComponentSpec: componentSchema,
  Resources: resourcesSchema,
  ResourceAmounts: amountsSchema,
  ReportListenerStatus: reportsRequestSchema,
  ListenerReport: reportSchema,
  AppliedReport: appliedReport,
  RefusedReport: refusedReport,
  ObservedReport: observedReport,
  RevisionRef: revisionRefSchema,
  PurgedReport: purgedReport,
  FailureSourceBody: failureSourceSchema,
  ReportAcknowledgement: reportsResponseSchema,
  SyncListenerInventory: inventoryRequestSchema,
  InventoryAcknowledgement: inventoryResponseSchema,
  RemoveVolume: volumeRemovalRequestSchema,
  VolumeRemoval: volumeRemovalResponseSchema,
  TaskOrders: taskOrdersResponseSchema,
  TaskOrder: taskOrderSchema,
  ReportTasks: taskReportsRequestSchema,
  TaskReport: taskReportSchema,
  TaskReportsAcknowledgement: taskReportsResponseSchema,
  LogRequests: logRequestsResponseSchema,
  ObjectRequest: objectRequestSchema,
  SendObjects: objectAnswerSchema,
  ObjectMapResult: objectMapResultSchema,
  ObjectResult: objectResultSchema,
  ObjectsAcknowledgement: objectAnswerResponseSchema,
  SendLogLines: logChunkSchema,
  LogLinesAcknowledgement: logChunkResponseSchema,
  SendBuildLogLines: buildLogsRequestSchema,
  BuildLogLinesAcknowledgement: buildLogsResponseSchema,
};

/** Descriptions of responses of the listener protocol. The other schemas have theirs where they are declared. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ListenerLease: 'The lease that the listener holds.',
  ListenerLeaseState: 'The lease of a listener as it is stored.',
  ListenerWork: 'Due work items. Empty: no item was due in time.',
  ReportAcknowledgement: 'Acknowledgement of reports.',
  VolumeRemoval: 'Whether the listener may delete the volume of a database.',
  InventoryAcknowledgement: 'Result of the comparison of an inventory with the stored deployments.',
  TaskOrders: 'The tasks of the listener that have not ended.',
  TaskReportsAcknowledgement: 'The hub has the reports.',
  LogRequests: 'Requests of readers that the listener serves. Empty: no request arrived in time.',
  ObjectsAcknowledgement: 'The hub has the objects.',
  LogLinesAcknowledgement: 'Whether the hub accepted the lines.',
  BuildLogLinesAcknowledgement: 'Acknowledgement of lines of a build log.',
};

/** Registers the names. Must run before the document is generated. */
export function nameComponents(): void {
  for (const [id, schema] of Object.entries(NAMES)) {
    const known = z.globalRegistry.get(schema);
    if (known?.id !== undefined) continue;
    const description = DESCRIPTIONS[id];
    z.globalRegistry.add(schema, { ...known, id, ...(description === undefined ? {} : { description }) });
  }
}

/**
 * Components exist in a request form and a response form, and most components are used in only one form. Removes
 * components without references.
 */
export function withoutUnused(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  const text = JSON.stringify(document);
  const used = Object.entries(schemas).filter(([name]) => text.includes(`"${SCHEMA_REFERENCE}${name}"`));
  const pruned = {
    ...document,
    components: { ...document.components, schemas: Object.fromEntries(used) },
  };
  return used.length === Object.keys(schemas).length ? pruned : withoutUnused(pruned);
}

/**
 * `SourceConfigBodyInput` → `SourceConfigInput`. An enumeration has one form, so `DeploymentSourceInput` and
 * `DeploymentSource` become one component. The components must be used.
 * @throws Error for a name that is taken
 */
export function withInputNames(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  const publishedName = (name: string) =>
    schemas[name]?.enum === undefined ? name.replace(/BodyInput$/, 'Input') : name.replace(/Input$/, '');
  const isTaken = (name: string, other: string) =>
    name !== other && other in schemas && !isDeepStrictEqual(schemas[name], schemas[other]);
  const taken = Object.keys(schemas).find((name) => isTaken(name, publishedName(name)));
  if (taken !== undefined)
    throw new Error(`failed to name ${taken}: another schema is called ${publishedName(taken)}`);
  const renamed = JSON.parse(JSON.stringify(document), (key, value) =>
    key === '$ref' && String(value).startsWith(SCHEMA_REFERENCE)
      ? `${SCHEMA_REFERENCE}${publishedName(value.slice(SCHEMA_REFERENCE.length))}`
      : value,
  ) as OpenApiDocument;
  const named = Object.entries(renamed.components.schemas).map(([name, schema]) => [
    publishedName(name),
    schema,
  ]);
  return { ...renamed, components: { ...renamed.components, schemas: Object.fromEntries(named) } };
}

/** Sorts the schemas by name: their registry has the order in which a program loads the modules. */
export function withSortedSchemas(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  const sorted = Object.keys(schemas)
    .sort()
    .map((name) => [name, schemas[name]]);
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(sorted) } };
}
