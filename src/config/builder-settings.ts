import { hostname } from 'node:os';
import { z } from 'zod';
import { dnsSubdomainSchema } from '../domain/kubernetes/names.ts';
import { type Setting, setting } from './setting.ts';
import { count, flag, optional, port } from './value-schemas.ts';

const BUILDER = ['builder'] as const;
/** What the operator gives to the steps of a build. */
const STEPS = ['operator', 'build-step'] as const;

const baseImage = (fallback: string) =>
  z
    .string()
    .regex(/^[\w./:@{}-]+$/, 'must be an image reference, with {version} where the version goes')
    .default(fallback);

/** Settings of the steps of a build that are Berth's own, and of the local builder (docs/builds.md). */
export const BUILDER_SETTINGS = {
  BERTH_BUILD_NODE_IMAGE: setting(
    baseImage('docker.io/library/node:{version}-bookworm-slim'),
    'base of images whose Dockerfile Berth writes, for Node; {version} is the configuration’s',
    STEPS,
  ),
  BERTH_BUILD_PYTHON_IMAGE: setting(
    baseImage('docker.io/library/python:{version}-slim-bookworm'),
    'the same for Python',
    STEPS,
  ),
  BERTH_BUILD_CA: setting(
    optional,
    'PEM file of authorities that vouch for git hosts, beside the usual ones (in the steps’ image, or for the local builder)',
    ['builder', 'build-step'],
  ),
  BERTH_TERMINATION_LOG: setting(
    z.string().default('/dev/termination-log'),
    'where a step of a build writes its last word',
    ['build-step'],
  ),
  BERTH_BUILDER_UNSANDBOXED: setting(
    flag,
    'true: the local builder may run. It runs strangers’ commands as processes of this machine, in no sandbox',
    BUILDER,
  ),
  BERTH_BUILDER_KUBECONFIG: setting(optional, 'kubeconfig of the local builder alone', BUILDER),
  BERTH_BUILDER_NODE: setting(
    dnsSubdomainSchema.optional(),
    'name of its Node; unset: berth-builder-HOSTNAME',
    BUILDER,
  ),
  BERTH_BUILDER_CAPACITY: setting(count(2), 'builds that it runs at a time', BUILDER),
  BERTH_BUILDER_FOLDER: setting(
    optional,
    'folder for volumes and logs of its pods; unset: one in the temporary folder, of the node’s name',
    BUILDER,
  ),
  BERTH_BUILDER_PATH: setting(
    optional,
    'folders, as in PATH, that are looked in first for the commands of a build (buildctl)',
    BUILDER,
  ),
  BERTH_BUILDER_HOST: setting(
    z.string().default('127.0.0.1'),
    'address under which the API server reaches it, for kubectl logs',
    BUILDER,
  ),
  BERTH_BUILDER_PORT: setting(port(0), 'port for that; 0: a free one', BUILDER),
  BERTH_BUILDER_CLIENT_CA: setting(
    optional,
    'PEM file of the authority that issued the API server’s kubelet client certificate: nobody else reads logs. Must be set where BERTH_BUILDER_HOST is not on loopback',
    BUILDER,
  ),
} as const satisfies Record<string, Setting>;

/** A name that the Node of this machine may have. */
export function nodeName(): string {
  const host = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[.-]+|[.-]+$/g, '');
  return `berth-builder-${host === '' ? 'local' : host}`.slice(0, 200);
}
