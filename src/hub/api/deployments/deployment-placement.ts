import { type RenderConfig, renderConfigSchema } from '../../../contract/render/render-config.ts';
import { tenantNamespace } from '../../../contract/resource/names.ts';
import { FALLBACK_NAMESPACE, type SourceConfig } from '../../../domain/deployment/deployment.ts';
import type { HostingMode } from '../../../domain/deployment/source.ts';
import { matchesAny, type Policy } from '../../../domain/policy/policy.ts';
import type { Reader } from '../../store/core/database.ts';
import type { ListenerRecord } from '../../store/core/records.ts';
import { chooseListener, type ServingListener } from '../../store/listeners/listeners.ts';
import { brokenRules } from '../core/errors.ts';

/** Selects the listener and the namespace of a new deployment. The listener and the namespace are fixed at creation. */

export interface Placement {
  readonly listener: ServingListener;
  readonly namespace: string;
}

export interface PlacementRules {
  readonly hosting: HostingMode;
  readonly policy: Policy;
  /** Namespace of Berth itself; absent or null: not known. */
  readonly ownNamespace?: string | null;
}

/**
 * Berth's own namespace contains the database, keys and permissions of Berth, so deployments may not use this
 * namespace, even if the list of a listener contains it.
 */
function isOwn(namespace: string, { ownNamespace = null }: PlacementRules): boolean {
  return namespace === ownNamespace;
}

/** Why the requested namespace cannot be used; null: it can be used. */
function namespaceRefusal(
  asked: string,
  listener: Pick<ListenerRecord, 'computeConfig'>,
  rules: PlacementRules,
): string | null {
  if (isOwn(asked, rules)) return 'is the namespace of Berth itself';
  const listed = listener.computeConfig.k8s_namespaces;
  if (listed.length > 0) {
    return listed.includes(asked)
      ? null
      : `must be one of the namespaces of the listener: ${listed.join(', ')}`;
  }
  return matchesAny(asked, rules.policy.namespaces.refused) ? 'is a namespace of the system' : null;
}

/**
 * The namespace of a new deployment. In cloud mode, this is the tenant's own namespace, otherwise the requested
 * namespace, or the first namespace of the listener.
 * @throws ApiError 400
 */
export function chooseNamespace(
  rules: PlacementRules,
  tenantId: string,
  asked: string | null,
  listener: Pick<ListenerRecord, 'computeConfig'>,
): string {
  const loc = ['source_config', 'listener_config', 'cluster_namespace'];
  if (rules.hosting === 'cloud') {
    const own = tenantNamespace(tenantId);
    if (asked === null || asked === own) return own;
    throw brokenRules([
      { loc, msg: `must be the tenant's own namespace, ${own}`, type: 'namespace_not_allowed' },
    ]);
  }
  const listed = listener.computeConfig.k8s_namespaces;
  const first = listed.find((namespace) => !isOwn(namespace, rules)) ?? listed[0];
  const chosen = asked ?? first ?? FALLBACK_NAMESPACE;
  // The policy is not applied to a namespace that was not requested, because it may reject `default`.
  const msg = asked !== null || isOwn(chosen, rules) ? namespaceRefusal(chosen, listener, rules) : null;
  if (msg !== null) throw brokenRules([{ loc, msg, type: 'namespace_not_allowed' }]);
  return chosen;
}

/** Listener and namespace of a new deployment. @throws ApiError 400 that names the field */
export async function choosePlacement(
  reader: Reader,
  rules: PlacementRules,
  tenantId: string,
  config: SourceConfig,
): Promise<Placement> {
  const listener = await chooseListener(reader, tenantId, config.listener_id);
  if (listener === null) {
    throw brokenRules([
      {
        loc: ['source_config', 'listener_id'],
        msg: 'must be the id of an existing listener',
        type: 'listener_unknown',
      },
    ]);
  }
  const asked = config.listener_config?.cluster_namespace ?? null;
  return { listener, namespace: chooseNamespace(rules, tenantId, asked, listener) };
}

/** The rendering configuration of the listener's cluster; null: the listener has not reported it yet. */
export function listenerRendering(listener: Pick<ListenerRecord, 'rendering'>): RenderConfig | null {
  const parsed = renderConfigSchema.safeParse(listener.rendering);
  return parsed.success ? parsed.data : null;
}
