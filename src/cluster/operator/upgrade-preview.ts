/** Previews which workload templates an upgrade to this version changes. The preview only reads. */
import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import { MANAGED_DEPLOYMENT } from '../../contract/resource/definition.ts';
import { LABELS } from '../../contract/resource/names.ts';
import { asOfRevision } from '../../workloads/as-of-revision.ts';
import { desiredObjects } from '../../workloads/desired-objects.ts';
import { cacheName, databaseName } from '../../workloads/names.ts';
import { renderTemplates } from '../../workloads/objects/pod-template.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { controllerOf, type UntypedObject } from '../kube/client/object.ts';
import { RESOURCES } from '../kube/client/resources.ts';
import { type RefusedPart, type Rules, refusedParts } from './access/refused-parts.ts';
import { type FieldChange, templateDifference } from './decide/template-difference.ts';
import { byIdentity, identityChanges, namespaceChanges } from './identity-preview.ts';
import { CHILD_KINDS } from './kinds.ts';
import type { ClusterView } from './observe/cluster-view.ts';
import { gather } from './observe/gather.ts';
import { withCurrentNames } from './observe/stored-names.ts';
import type { Observed } from './observed.ts';
import { pinnedTemplate } from './rollout/pinned-service-templates.ts';

/** The preview of one deployment. */
export interface DeploymentPreview {
  readonly namespace: string;
  readonly name: string;
  /** Number of the active revision; null: no revision is active. */
  readonly revision: number | null;
  /**
   * The changes with the next revision. Database and cache change only when settings of the database or cache change.
   */
  readonly changes: readonly WorkloadChange[];
  /**
   * Fields that this version rejects in new specs. Running workloads keep these fields for the time that `until`
   * states.
   */
  readonly refused: readonly RefusedPart[];
  /** Why the deployment has no preview; absent: the deployment has a preview. */
  readonly problem?: string;
  /** The changes by the identity rules with the upgrade itself; absent: no changes. See identity-preview.ts. */
  readonly identity?: readonly string[];
}

export interface WorkloadChange {
  /** `api`, `queue`, …, `database` or `cache`. */
  readonly workload: string;
  readonly fields: readonly FieldChange[];
}

/** Kinds that outlive a custom resource. */
const RETAINED_KINDS = ['PersistentVolumeClaim', 'ControllerRevision'] as const;

type Lists = Pick<ClusterView, 'resource' | 'children' | 'watches'>;

/** Kinds that hold stored or running templates. */
const TEMPLATE_KINDS = ['ControllerRevision', 'StatefulSet', 'Deployment', 'PersistentVolumeClaim'] as const;

/**
 * Previews every deployment of these namespaces (an empty list: all namespaces), ordered by namespace and name.
 * @throws KubeError when the API server does not respond, or rejects the request
 */
export async function previewUpgrade(
  client: Pick<KubeClient, 'listAll'>,
  namespaces: readonly string[],
  config: RenderConfig,
  rules: Rules,
): Promise<DeploymentPreview[]> {
  const scopes = namespaces.length === 0 ? [undefined] : namespaces;
  const found = await Promise.all(scopes.map((namespace) => readLists(client, namespace)));
  return found
    .flatMap(({ keys, view }) => {
      const identities = byIdentity(keys.flatMap((key) => view.resource(key) ?? []));
      return keys.map((key) =>
        withIdentity(previewOf(view, key, config, rules), identities, view, { ...config, ...rules }),
      );
    })
    .sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
}

function withIdentity(
  preview: DeploymentPreview,
  identities: ReturnType<typeof byIdentity>,
  view: Lists,
  { hosting, listenerNamespaces = [] }: Pick<RenderConfig, 'hosting'> & Pick<Rules, 'listenerNamespaces'>,
): DeploymentPreview {
  const key = `${preview.namespace}/${preview.name}`;
  const resource = view.resource(key);
  if (resource === undefined) return preview;
  const isOutside =
    hosting === 'cloud' && listenerNamespaces !== null && !listenerNamespaces.includes(preview.namespace);
  const outside = isOutside ? namespaceChanges(resource) : [];
  const shared = identityChanges(resource, identities, (name) =>
    RETAINED_KINDS.flatMap((kind) => view.children(kind, `${preview.namespace}/${name}`)),
  );
  const identity = [...shared, ...outside];
  return identity.length === 0 ? preview : { ...preview, identity };
}

async function readLists(
  client: Pick<KubeClient, 'listAll'>,
  namespace: string | undefined,
): Promise<{ keys: string[]; view: Lists }> {
  const within = namespace === undefined ? {} : { namespace };
  const [resources, ...children] = await Promise.all([
    client.listAll(RESOURCES.ManagedDeployment, within),
    ...TEMPLATE_KINDS.map((kind) =>
      client.listAll(CHILD_KINDS[kind].resource, {
        ...within,
        labelSelector: CHILD_KINDS[kind].labelSelector,
      }),
    ),
  ]);
  const byKey = new Map(resources.items.map((object) => [keyOf(object), withCurrentNames(object)]));
  const ofParent = new Map<string, UntypedObject[]>();
  for (const object of children.flatMap(({ items }) => items)) {
    // Children are found by owner or label, as the operator finds them.
    const names = new Set([object.metadata.labels?.[LABELS.instance], ownerOf(object)]);
    for (const name of names) {
      const at = `${object.kind} ${object.metadata.namespace}/${name}`;
      ofParent.set(at, [...(ofParent.get(at) ?? []), object]);
    }
  }
  return {
    keys: [...byKey.keys()],
    view: {
      resource: (key) => byKey.get(key),
      children: (kind, key) => ofParent.get(`${kind} ${key}`) ?? [],
      watches: () => true,
    },
  };
}

function keyOf({ metadata }: UntypedObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function ownerOf(object: UntypedObject): string | undefined {
  const owner = controllerOf(object);
  return owner?.kind === MANAGED_DEPLOYMENT.kind ? owner.name : undefined;
}

/** Pure: the same lists give the same preview. */
export function previewOf(view: Lists, key: string, config: RenderConfig, rules: Rules): DeploymentPreview {
  const [namespace = '', name = ''] = key.split('/');
  const gathered = gather(view, key);
  const unknown = (problem: string) => ({
    namespace,
    name,
    revision: null,
    changes: [],
    refused: [],
    problem,
  });
  if (gathered.kind === 'absent') return unknown('it is gone');
  if (gathered.kind === 'unreadable') return unknown(gathered.problems);
  const { observed } = gathered;
  try {
    const changes = [...componentChanges(observed, config), ...serviceChanges(observed, config)];
    const revision = observed.resource.status?.activeRevision?.number ?? null;
    const refused = refusedParts(observed, rules);
    return { namespace, name, revision, changes: changes.filter(({ fields }) => fields.length > 0), refused };
  } catch (error) {
    return unknown(error instanceof Error ? error.message : String(error));
  }
}

/** Compares the stored templates of the active revision with a new rendering for the current spec. */
function componentChanges({ resource, storedTemplates }: Observed, config: RenderConfig): WorkloadChange[] {
  const active = resource.status?.activeRevision;
  const stored = storedTemplates.find(({ name }) => name === active?.templates);
  if (active === undefined || stored === undefined) return [];
  const before = stored.templates();
  const content = {
    templates: before,
    settings: stored.settings(),
    componentSettings: stored.componentSettings(),
    lacking: stored.lacking(),
  };
  const after = renderTemplates(asOfRevision(resource, active, content), config);
  // The removal of a component from the spec does not depend on the version.
  return Object.entries(before).flatMap(([workload, template]) => {
    const fresh = after[workload as keyof typeof after];
    return fresh === undefined ? [] : [{ workload, fields: templateDifference(template, fresh) }];
  });
}

function serviceChanges(observed: Observed, config: RenderConfig): WorkloadChange[] {
  const { resource } = observed;
  const { database, cache } = resource.status?.dataImages ?? {};
  const desired = desiredObjects(resource, config, {
    templates: null,
    databaseImage: database,
    cacheImage: cache,
  });
  const services = [
    ['database', 'StatefulSet', databaseName(resource)],
    ['cache', 'Deployment', cacheName(resource)],
  ] as const;
  return services.flatMap(([workload, kind, name]) => {
    const kept = pinnedTemplate(observed, kind, name);
    const wanted = desired.find(({ object }) => object.kind === kind && object.metadata.name === name);
    if (kept === undefined || wanted === undefined) return [];
    const { template } = wanted.object['spec'] as { template: V1PodTemplateSpec };
    return [{ workload, fields: templateDifference(kept, template) }];
  });
}
