import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { MAX_ROUTE_HOSTS } from '../../../contract/resource/definition.ts';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { app } from '../../../workloads/names.ts';
import { appUrl } from '../../../workloads/objects/app-url.ts';
import { gatewayRef, type ParentRef, pathPrefix, routeKind } from '../../../workloads/objects/routing.ts';
import { isAdmitted } from '../domains/observed-host.ts';
import { isRouteKind, ROUTE_KINDS } from '../kinds.ts';
import { type ChildObject, childId, liveChild, type Observed } from '../observed.ts';
import type { Finding } from './conditions.ts';

/**
 * The state of the external route, read from the route object. An Ingress counts as ready when it exists, because not
 * every controller reports more. An HTTPRoute counts as ready when its Gateway reports Accepted for the current
 * generation. Every Gateway must report this. A route without a status is not attached.
 */

const there = (message: string): Finding => ({ status: 'True', reason: 'RouteExists', message });
const pending = (message: string): Finding => ({ status: 'False', reason: 'RoutePending', message });

interface IngressFields {
  spec?: { rules?: { host?: string; http?: { paths?: { path?: string }[] } }[] };
}

interface ParentStatus {
  parentRef?: { name?: string; namespace?: string };
  conditions?: {
    type: string;
    status: string;
    reason?: string;
    message?: string;
    observedGeneration?: number;
  }[];
}

interface HttpRouteFields {
  spec?: {
    parentRefs?: { name?: string; namespace?: string }[];
    hostnames?: string[];
    rules?: { matches?: { path?: { value?: string } }[] }[];
  };
  status?: { parents?: ParentStatus[] };
}

/** The condition RouteReady; null: no URL is requested, or Berth does not manage routes here. */
export function routeReady(observed: Observed, config: RenderConfig): Finding | null {
  const wanted = appUrl(observed.resource, config);
  const kind = routeKind(config);
  if (wanted === null || kind === null || !URL.canParse(wanted)) return null;
  if (observed.hostRefused !== undefined)
    return { status: 'False', reason: 'RouteRefused', message: observed.hostRefused };
  if (observed.missingKinds?.has(kind)) {
    const message =
      `${wanted} needs the kind ${kind}, which this cluster does not have: install the Gateway API, or ` +
      `use another kind of route (BERTH_ROUTING)`;
    return { status: 'False', reason: 'RouteUnsupported', message };
  }
  const route = liveChild(observed, kind, app(observed.resource));
  if (route === undefined) return pending(`the ${kind} for ${wanted} is being created`);
  if (addressOf(route) !== plain(wanted)) return pending(`the ${kind} is being changed to ${wanted}`);
  if (kind === 'Ingress') return there(`the Ingress for ${wanted} exists`);
  return accepted(route, gatewayRef(config));
}

/** The state of the route of an additional host that may be routed. */
export function routeOfHost(
  observed: Observed,
  { host, routeName }: { readonly host: string; readonly routeName: string },
  config: RenderConfig,
): Finding {
  const kind = routeKind(config) ?? 'Ingress';
  if (observed.missingKinds?.has(kind))
    return pending(`${host} needs the kind ${kind}, which this cluster does not have`);
  const route = liveChild(observed, kind, routeName);
  if (route === undefined || addressOf(route) !== httpsUrl(host, '/'))
    return pending(`the ${kind} for ${host} is being created`);
  if (kind === 'Ingress') return there(`the Ingress for ${host} exists`);
  return accepted(route, gatewayRef(config));
}

/**
 * The URL at which the app is currently reachable: that of the current route, or of a route of the former kind while
 * the new kind of route is not ready. null: no route is ready.
 */
export function servedUrl(observed: Observed, config: RenderConfig): string | null {
  const wanted = appUrl(observed.resource, config);
  const kind = routeKind(config);
  for (const candidate of ROUTE_KINDS.toSorted((a) => (a === kind ? -1 : 1))) {
    const route = liveChild(observed, candidate, app(observed.resource));
    const address = route === undefined ? null : addressOf(route);
    if (route === undefined || address === null) continue;
    if (candidate === 'HTTPRoute' && accepted(route, parentOf(route)).status !== 'True') continue;
    return wanted !== null && plain(wanted) === address ? wanted : address;
  }
  return null;
}

/**
 * Hosts of all route objects of the app, whether or not a Gateway accepts them. A terminating route may have a
 * finalizer, and routes traffic until it is gone. A Gateway may accept a rejected route at any time. The former value
 * is kept if the routes have more hosts than the status can hold, or if the route kind is temporarily not found. The
 * former value frees no host.
 */
export function routesSeen(
  { resource, children, missingKinds }: Observed,
  config: RenderConfig,
): ManagedDeploymentStatus['routes'] {
  const kind = routeKind(config);
  // With generation 0, the hub frees no host. Without `routes`, the hub would use the URL.
  if (kind !== null && missingKinds?.has(kind))
    return resource.status?.routes ?? { recordGeneration: 0, hosts: [] };
  const routes = [...children.values()].filter(({ kind }) => isRouteKind(kind));
  const hosts = [...new Set(routes.flatMap(hostsOf))].sort();
  return hosts.length > MAX_ROUTE_HOSTS
    ? resource.status?.routes
    : { recordGeneration: resource.spec.recordGeneration, hosts };
}

/**
 * Routes, by `childId`, that are kept although they are no longer desired. Such routes have the former kind and the
 * requested address. The operator keeps them until the replacement is ready and the rollout is complete. A route to
 * another address is removed at once, because another deployment may use its host next.
 */
export function keptRoutes(observed: Observed, config: RenderConfig, complete: boolean): ReadonlySet<string> {
  return new Set([
    ...keptRouteOfUrl(observed, config, complete),
    ...keptRoutesOfHosts(observed, config, complete),
  ]);
}

function keptRouteOfUrl(observed: Observed, config: RenderConfig, complete: boolean): string[] {
  const wanted = appUrl(observed.resource, config);
  if (wanted === null || !URL.canParse(wanted) || observed.hostRefused !== undefined) return [];
  if (complete && routeReady(observed, config)?.status !== 'False') return [];
  return routesTo(observed, app(observed.resource), plain(wanted));
}

function keptRoutesOfHosts(observed: Observed, config: RenderConfig, complete: boolean): string[] {
  if (routeKind(config) === null) return [];
  return (observed.domains ?? []).filter(isAdmitted).flatMap((host) => {
    if (complete && routeOfHost(observed, host, config).status !== 'False') return [];
    return routesTo(observed, host.routeName, httpsUrl(host.host, '/'));
  });
}

/** Live routes of any kind with this name and address, by `childId`. */
function routesTo(observed: Observed, name: string, address: string): string[] {
  return ROUTE_KINDS.filter((kind) => {
    const route = liveChild(observed, kind, name);
    return route !== undefined && addressOf(route) === address;
  }).map((kind) => childId(kind, name));
}

/** Normalized URL, without the trailing slash that browsers add. */
function plain(text: string): string {
  const url = new URL(text);
  return httpsUrl(url.hostname, pathPrefix(url));
}

function httpsUrl(host: string, path: string): string {
  return `https://${host}${path === '/' ? '' : path}`;
}

/** All hosts of a route, in lower case. */
export function hostsOf(route: ChildObject): string[] {
  const { spec } = route as ChildObject & IngressFields & HttpRouteFields;
  const all = [...(spec?.hostnames ?? []), ...(spec?.rules ?? []).map(({ host }) => host)];
  return all.flatMap((host) => host?.toLowerCase() ?? []);
}

/** URL of a live route; null: the route has no host. */
function addressOf(route: ChildObject): string | null {
  const { spec } = route as ChildObject & IngressFields & HttpRouteFields;
  const [rule] = spec?.rules ?? [];
  const host = spec?.hostnames?.[0] ?? rule?.host;
  const path = rule?.matches?.[0]?.path?.value ?? rule?.http?.paths?.[0]?.path ?? '/';
  return host === undefined ? null : httpsUrl(host, path);
}

function parentOf(route: ChildObject): ParentRef {
  const [parent] = (route as ChildObject & HttpRouteFields).spec?.parentRefs ?? [];
  return {
    name: parent?.name ?? '',
    ...(parent?.namespace === undefined ? {} : { namespace: parent.namespace }),
  };
}

/** The status that the Gateway reports for the route. The controller of the Gateway writes one entry per parent. */
function accepted(route: ChildObject, gateway: ParentRef): Finding {
  const { status } = route as ChildObject & HttpRouteFields;
  const { namespace = '', generation = 0 } = route.metadata;
  const name = `${gateway.namespace ?? namespace}/${gateway.name}`;
  const entry = status?.parents?.find(({ parentRef }) => {
    return `${parentRef?.namespace ?? namespace}/${parentRef?.name}` === name;
  });
  const conditions = entry?.conditions ?? [];
  const answer = (type: string) =>
    conditions.find((candidate) => {
      return candidate.type === type && (candidate.observedGeneration ?? generation) >= generation;
    });
  const problem = [answer('Accepted'), answer('ResolvedRefs')].find(
    (condition) => condition?.status === 'False',
  );
  if (problem !== undefined) {
    const { type, reason = 'no reason', message: said = '' } = problem;
    const message = `gateway ${name}: ${type} is False: ${reason}: ${said}`;
    return { status: 'False', reason: 'RouteRefused', message };
  }
  return answer('Accepted')?.status === 'True'
    ? there(`gateway ${name} has accepted the HTTPRoute`)
    : pending(`gateway ${name} has not accepted the HTTPRoute yet`);
}
