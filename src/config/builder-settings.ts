import { hostname } from 'node:os';
import { z } from 'zod';
import { dnsSubdomainSchema } from '../domain/kubernetes/names.ts';
import { type Setting, setting } from './setting.ts';
import { count, flag, optional, port } from './value-schemas.ts';

const BUILDER = ['builder'] as const;
/** Readers of settings that the operator passes to the steps of a build. */
const STEPS = ['operator', 'build-step'] as const;

const baseImage = (fallback: string) =>
  z
    .string()
    .regex(
      /^[\w./:@{}-]+$/,
      'must be an image reference that contains {version} as a placeholder for the version',
    )
    .default(fallback);

/** Settings of the build steps that Berth implements, and of the local builder (docs/builds.md). */
export const BUILDER_SETTINGS = {
  BERTH_BUILD_NODE_IMAGE: setting(
    baseImage('docker.io/library/node:{version}-bookworm-slim'),
    'base image for Node, if Berth generates the Dockerfile. {version} is the version in the configuration',
    STEPS,
  ),
  BERTH_BUILD_PYTHON_IMAGE: setting(
    baseImage('docker.io/library/python:{version}-slim-bookworm'),
    'base image for Python, if Berth generates the Dockerfile. {version} is the version in the configuration',
    STEPS,
  ),
  BERTH_BUILD_CA: setting(
    optional,
    'PEM file of certificate authorities for git hosts, in addition to the usual authorities (in the image of the ' +
      'build steps, or for the local builder)',
    ['builder', 'build-step'],
  ),
  BERTH_TERMINATION_LOG: setting(
    z.string().default('/dev/termination-log'),
    'file to which a build step writes its result',
    ['build-step'],
  ),
  BERTH_BUILDER_UNSANDBOXED: setting(
    flag,
    'true: allow the local builder. The local builder runs the commands of builds as processes of this machine, ' +
      'without a sandbox',
    BUILDER,
  ),
  BERTH_BUILDER_KUBECONFIG: setting(optional, 'kubeconfig file for the local builder only', BUILDER),
  BERTH_BUILDER_NODE: setting(
    dnsSubdomainSchema.optional(),
    'name of the Node of the local builder. Unset: berth-builder-HOSTNAME',
    BUILDER,
  ),
  BERTH_BUILDER_CAPACITY: setting(count(2), 'builds that the local builder runs at the same time', BUILDER),
  BERTH_BUILDER_FOLDER: setting(
    optional,
    'folder for volumes and logs of the pods of the local builder. Unset: a folder with the name of its Node in the temporary folder',
    BUILDER,
  ),
  BERTH_BUILDER_PATH: setting(
    optional,
    'folders, as in PATH, that are searched first for the commands of a build (buildctl)',
    BUILDER,
  ),
  BERTH_BUILDER_HOST: setting(
    z.string().default('127.0.0.1'),
    'address at which the API server reaches the local builder, for kubectl logs',
    BUILDER,
  ),
  BERTH_BUILDER_PORT: setting(
    port(0),
    'port at which the API server reaches the local builder. 0: a free port',
    BUILDER,
  ),
  BERTH_BUILDER_CLIENT_CA: setting(
    optional,
    'PEM file of the authority that issued the kubelet client certificate of the API server. Only clients with a ' +
      'certificate of this authority can read logs. Required if BERTH_BUILDER_HOST is not a loopback address',
    BUILDER,
  ),
} as const satisfies Record<string, Setting>;

/** A valid Node name for this machine. */
export function nodeName(): string {
  const host = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[.-]+|[.-]+$/g, '');
  return `berth-builder-${host === '' ? 'local' : host}`.slice(0, 200);
}
