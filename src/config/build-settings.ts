import { z } from 'zod';
import { isZeroQuantity } from '../domain/kubernetes/limits.ts';
import { dnsLabelSchema, dnsSubdomainSchema } from '../domain/kubernetes/names.ts';
import { quantitySchema } from '../domain/kubernetes/quantity.ts';
import { CLUSTER, type Setting, setting } from './setting.ts';
import { baseUrl, count, csv, flag, optional } from './value-schemas.ts';

const OPERATOR = ['operator'] as const;

/** Kubernetes reads a limit of 0 as no limit. */
const positiveQuantity = quantitySchema.refine((text) => !isZeroQuantity(text), 'must be more than 0');

const LABEL = /^[\w./-]+=[\w.-]*$/;
const TAINT = /^[\w./-]+(=[\w.-]*)?(:(NoSchedule|PreferNoSchedule|NoExecute))?$/;

/** Settings of builds. */
export const BUILD_SETTINGS = {
  BERTH_BUILDS: setting(
    flag,
    'true: build images in the namespace of builds. With BERTH_HOSTING=self_hosted, these are uploaded folders. Unset: true with BERTH_HOSTING=cloud, otherwise false',
    ['api', ...CLUSTER],
  ),
  BERTH_BUILD_NAMESPACE: setting(
    dnsLabelSchema.default('berth-builds'),
    'namespace of builds. The namespace must exist with the Pod Security level privileged (the chart creates this ' +
      'namespace)',
    CLUSTER,
  ),
  BERTH_BUILD_BERTH_IMAGE: setting(
    optional,
    'image of Berth, for two steps of a build. Unset: berth:VERSION',
    OPERATOR,
  ),
  BERTH_BUILD_BUILDKIT_IMAGE: setting(
    z.string().default('docker.io/moby/buildkit:v0.21.1-rootless'),
    'image of rootless BuildKit',
    OPERATOR,
  ),
  BERTH_BUILD_BUILDKIT_HOST: setting(
    optional,
    'BuildKit daemon that all builds share, such as tcp://buildkitd.builds:1234. Unset: each build runs its own daemon. For one trust domain only (see BERTH_BUILD_BUILDKIT_SHARED)',
    OPERATOR,
  ),
  BERTH_BUILD_BUILDKIT_SHARED: setting(
    flag,
    'true: all tenants trust each other, so their builds may share the daemon of BERTH_BUILD_BUILDKIT_HOST. The daemon runs commands outside the network policy of builds, and a Dockerfile can read the cache of another build. Unset: BERTH_BUILD_BUILDKIT_HOST is rejected',
    OPERATOR,
  ),
  BERTH_BUILD_PULL_SECRET: setting(
    dnsSubdomainSchema.optional(),
    'pull Secret in the namespace of builds for the images of the build steps (imagePullSecrets)',
    OPERATOR,
  ),
  BERTH_BUILD_BASE_SECRET: setting(
    dnsSubdomainSchema.optional(),
    'pull Secret (kubernetes.io/dockerconfigjson) in the namespace of builds for base images. Tenants can build FROM ' +
      'every image that this Secret can pull',
    ['listener'],
  ),
  BERTH_BUILD_CA_CONFIG_MAP: setting(
    dnsSubdomainSchema.optional(),
    'ConfigMap in the namespace of builds with a ca.crt (PEM) that is trusted for registries and git hosts, in addition to the usual authorities',
    OPERATOR,
  ),
  BERTH_BUILD_PROXY: setting(
    baseUrl,
    'HTTP proxy for pulls, pushes and the commands of Dockerfiles. Git hosts are called without the proxy',
    OPERATOR,
  ),
  BERTH_BUILD_NO_PROXY: setting(
    csv,
    'hosts and networks that are called without the proxy, comma-separated',
    OPERATOR,
  ),
  BERTH_BUILD_TIMEOUT_SECONDS: setting(count(1800), 'seconds after which a build fails', OPERATOR),
  BERTH_BUILD_LIMIT: setting(count(10), 'builds that run at the same time. Others wait', OPERATOR),
  BERTH_BUILD_TENANT_LIMIT: setting(count(2), 'builds of one tenant that run at the same time', OPERATOR),
  BERTH_BUILD_CPU: setting(
    positiveQuantity.default('1'),
    'CPU of a build, as a Kubernetes quantity',
    OPERATOR,
  ),
  BERTH_BUILD_MEMORY: setting(
    positiveQuantity.default('2Gi'),
    'memory of a build, as a Kubernetes quantity',
    OPERATOR,
  ),
  BERTH_BUILD_WORKSPACE: setting(
    positiveQuantity.default('10Gi'),
    'maximum size of the clone, and of the layers of a build, as a Kubernetes quantity',
    OPERATOR,
  ),
  BERTH_BUILD_CACHE: setting(
    flag,
    'false: do not keep layers in the registry for the next build of a deployment. Unset: true',
    OPERATOR,
  ),
  BERTH_BUILD_INSECURE_REGISTRY: setting(
    flag,
    'true: builds and the hub use plain HTTP for the registry. Unset: false',
    [...OPERATOR, 'api'],
  ),
  BERTH_BUILD_KEEP_SECONDS: setting(
    count(3600),
    'seconds that the Job of a finished build is kept, with its pods',
    OPERATOR,
  ),
  BERTH_BUILD_NODE_SELECTOR: setting(
    csv.refine((parts) => parts.every((part) => LABEL.test(part)), 'must be key=value, comma-separated'),
    'node labels that build pods select, key=value, comma-separated',
    OPERATOR,
  ),
  BERTH_BUILD_TOLERATIONS: setting(
    csv.refine(
      (parts) => parts.every((part) => TAINT.test(part)),
      'must be key[=value][:effect], comma-separated',
    ),
    'node taints that build pods tolerate, key[=value][:effect], comma-separated',
    OPERATOR,
  ),
} as const satisfies Record<string, Setting>;
