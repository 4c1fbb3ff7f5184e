import type { BuildConfig, BuildToleration } from '../contract/render/build-config.ts';
import { ConfigError } from './config-error.ts';
import type { Settings } from './settings.ts';

/** Whether this installation builds images. In hosting mode self_hosted, only uploaded folders are built. */
export const runsBuilds = ({ BERTH_BUILDS, BERTH_HOSTING }: Settings): boolean =>
  BERTH_BUILDS ?? BERTH_HOSTING === 'cloud';

/**
 * The settings of builds. null: this installation builds nothing.
 * @throws ConfigError
 */
export function buildsOf(
  settings: Settings,
): (Omit<BuildConfig, 'berthImage' | 'uploadLimits'> & OfOthers) | null {
  if (!runsBuilds(settings)) return null;
  return {
    namespace: settings.BERTH_BUILD_NAMESPACE,
    berthImage: settings.BERTH_BUILD_BERTH_IMAGE ?? null,
    buildkitImage: settings.BERTH_BUILD_BUILDKIT_IMAGE,
    buildkitHost: buildkitHostOf(settings),
    baseSecret: settings.BERTH_BUILD_BASE_SECRET ?? null,
    pullSecret: settings.BERTH_BUILD_PULL_SECRET ?? null,
    caConfigMap: settings.BERTH_BUILD_CA_CONFIG_MAP ?? null,
    proxy: proxyOf(settings),
    timeoutSeconds: settings.BERTH_BUILD_TIMEOUT_SECONDS,
    limits: { total: settings.BERTH_BUILD_LIMIT, perTenant: settings.BERTH_BUILD_TENANT_LIMIT },
    resources: { cpu: settings.BERTH_BUILD_CPU, memory: settings.BERTH_BUILD_MEMORY },
    workspace: settings.BERTH_BUILD_WORKSPACE,
    cache: settings.BERTH_BUILD_CACHE ?? true,
    insecureRegistry: settings.BERTH_BUILD_INSECURE_REGISTRY ?? false,
    keepSeconds: settings.BERTH_BUILD_KEEP_SECONDS,
    sourceVariables: sourceVariables(settings),
    nodeSelector: Object.fromEntries(settings.BERTH_BUILD_NODE_SELECTOR.map(pairOf)),
    tolerations: settings.BERTH_BUILD_TOLERATIONS.map(tolerationOf),
  };
}

/** A shared daemon does not isolate tenants from each other, so it needs an explicit setting. */
function buildkitHostOf(settings: Settings): string | null {
  const host = settings.BERTH_BUILD_BUILDKIT_HOST ?? null;
  if (host === null || settings.BERTH_BUILD_BUILDKIT_SHARED === true) return host;
  throw new ConfigError([
    'BERTH_BUILD_BUILDKIT_HOST: all tenants would share this daemon, and a tenant could read and change the builds ' +
      'of others; next: unset it, so that each build runs its own daemon, or set BERTH_BUILD_BUILDKIT_SHARED=true if ' +
      'all tenants trust each other',
  ]);
}

/** Settings that the operator does not need, or that are not known yet. */
interface OfOthers {
  /** Secret for base images, which the listener reads. null: none. */
  readonly baseSecret: string | null;
  /** null: the image of the running version. */
  readonly berthImage: string | null;
}

function proxyOf({ BERTH_BUILD_PROXY: url, BERTH_BUILD_NO_PROXY: except }: Settings): BuildConfig['proxy'] {
  return url === undefined ? null : { url, except: except.join(',') };
}

/** Variables that the step `source` reads by the same names. */
function sourceVariables(settings: Settings): Record<string, string> {
  return {
    BERTH_GIT_ALLOW_PRIVATE: String(settings.BERTH_GIT_ALLOW_PRIVATE ?? false),
    BERTH_BUILD_NODE_IMAGE: settings.BERTH_BUILD_NODE_IMAGE,
    BERTH_BUILD_PYTHON_IMAGE: settings.BERTH_BUILD_PYTHON_IMAGE,
  };
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Parses `key` or `key=value`, either with `:effect`. */
function tolerationOf(text: string): BuildToleration {
  const [taint = '', effect] = text.split(':');
  const [key, value] = taint.includes('=') ? pairOf(taint) : [taint, undefined];
  return { key, ...(value === undefined ? {} : { value }), ...(effect === undefined ? {} : { effect }) };
}
