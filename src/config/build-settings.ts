import { z } from 'zod';
import { isZeroQuantity } from '../domain/kubernetes/limits.ts';
import { dnsLabelSchema, dnsSubdomainSchema } from '../domain/kubernetes/names.ts';
import { quantitySchema } from '../domain/kubernetes/quantity.ts';
import { CLUSTER, type Setting, setting } from './setting.ts';
import { baseUrl, count, csv, flag, optional } from './value-schemas.ts';

const OPERATOR = ['operator'] as const;

/** A limit of 0 would be no limit. */
const positiveQuantity = quantitySchema.refine((text) => !isZeroQuantity(text), 'must be more than 0');

const LABEL = /^[\w./-]+=[\w.-]*$/;
const TAINT = /^[\w./-]+(=[\w.-]*)?(:(NoSchedule|PreferNoSchedule|NoExecute))?$/;

/** Settings of builds of git_host revisions (cloud). */
export const BUILD_SETTINGS = {
  BERTH_BUILD_NAMESPACE: setting(
    dnsLabelSchema.default('berth-builds'),
    'namespace of builds; it must exist, at the Pod Security level privileged (the chart makes it)',
    [...CLUSTER, 'builder'],
  ),
  BERTH_BUILD_BERTH_IMAGE: setting(
    optional,
    'Berth’s own image, for two steps of a build; unset: berth:VERSION',
    OPERATOR,
  ),
  BERTH_BUILD_BUILDKIT_IMAGE: setting(
    z.string().default('docker.io/moby/buildkit:v0.21.1-rootless'),
    'image of rootless BuildKit',
    OPERATOR,
  ),
  BERTH_BUILD_BUILDKIT_HOST: setting(
    optional,
    'BuildKit daemon of all builds, such as tcp://buildkitd.builds:1234; unset: each build runs its own. One trust domain only (see BERTH_BUILD_BUILDKIT_SHARED)',
    OPERATOR,
  ),
  BERTH_BUILD_BUILDKIT_SHARED: setting(
    flag,
    'true: all tenants trust each other, so their builds may share the daemon of BERTH_BUILD_BUILDKIT_HOST. It runs their commands outside the network policy of builds, and a Dockerfile can reach what another build has cached. Without it only a unix:// address is taken, which only the local builder reaches',
    OPERATOR,
  ),
  BERTH_BUILD_PULL_SECRET: setting(
    dnsSubdomainSchema.optional(),
    'Secret in the namespace of builds by which nodes pull the images of the steps (imagePullSecrets)',
    OPERATOR,
  ),
  BERTH_BUILD_BASE_SECRET: setting(
    dnsSubdomainSchema.optional(),
    'Secret (kubernetes.io/dockerconfigjson) in the namespace of builds by which base images are pulled. Whatever it may pull, tenants can build FROM',
    ['listener'],
  ),
  BERTH_BUILD_CA_CONFIG_MAP: setting(
    dnsSubdomainSchema.optional(),
    'ConfigMap in the namespace of builds whose ca.crt (PEM) vouches for registries and git hosts, beside the usual authorities; not for the local builder',
    OPERATOR,
  ),
  BERTH_BUILD_PROXY: setting(
    baseUrl,
    'HTTP proxy by which images are pulled and pushed, and for what Dockerfiles run; git hosts are called without',
    OPERATOR,
  ),
  BERTH_BUILD_NO_PROXY: setting(
    csv,
    'hosts and networks that are called without it, comma-separated',
    OPERATOR,
  ),
  BERTH_BUILD_TIMEOUT_SECONDS: setting(count(1800), 'a build that takes longer has failed', OPERATOR),
  BERTH_BUILD_LIMIT: setting(count(10), 'builds at a time; further ones wait', OPERATOR),
  BERTH_BUILD_TENANT_LIMIT: setting(count(2), 'builds of one tenant at a time', OPERATOR),
  BERTH_BUILD_CPU: setting(positiveQuantity.default('1'), 'CPU of a build, as a quantity', OPERATOR),
  BERTH_BUILD_MEMORY: setting(positiveQuantity.default('2Gi'), 'memory of a build, as a quantity', OPERATOR),
  BERTH_BUILD_WORKSPACE: setting(
    positiveQuantity.default('10Gi'),
    'how large the clone, and the layers of a build, may each become',
    OPERATOR,
  ),
  BERTH_BUILD_CACHE: setting(
    flag,
    'false: no layers are kept in the registry for the next build of a deployment; unset: true',
    OPERATOR,
  ),
  BERTH_BUILD_INSECURE_REGISTRY: setting(
    flag,
    'true: builds, and the hub, speak with the registry over plain HTTP; unset: false',
    [...OPERATOR, 'api'],
  ),
  BERTH_BUILD_KEEP_SECONDS: setting(
    count(3600),
    'how long the Job of a build that has ended is kept, with its pods',
    OPERATOR,
  ),
  BERTH_BUILD_NODE_SELECTOR: setting(
    csv.refine((parts) => parts.every((part) => LABEL.test(part)), 'must be key=value, comma-separated'),
    'labels of the nodes for builds, key=value, comma-separated',
    OPERATOR,
  ),
  BERTH_BUILD_TOLERATIONS: setting(
    csv.refine(
      (parts) => parts.every((part) => TAINT.test(part)),
      'must be key[=value][:effect], comma-separated',
    ),
    'taints of the nodes for builds, key[=value][:effect], comma-separated',
    OPERATOR,
  ),
} as const satisfies Record<string, Setting>;
