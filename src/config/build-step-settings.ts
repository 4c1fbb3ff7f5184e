import { z } from 'zod';
import { type Setting, setting } from './setting.ts';
import { optional } from './value-schemas.ts';

/** The operator passes its own values of these settings to the steps of a build. */
const PASSED_ON = ['operator', 'build-step'] as const;

const baseImage = (fallback: string) =>
  z
    .string()
    .regex(/^[\w./:@{}-]+$/, 'must be an image reference, with {version} where the version goes')
    .default(fallback);

/** Settings of the build steps that Berth implements (docs/builds.md). */
export const BUILD_STEP_SETTINGS = {
  BERTH_BUILD_NODE_IMAGE: setting(
    baseImage('docker.io/library/node:{version}-bookworm-slim'),
    'base image for Node, if Berth generates the Dockerfile. {version} is the version in the configuration',
    PASSED_ON,
  ),
  BERTH_BUILD_PYTHON_IMAGE: setting(
    baseImage('docker.io/library/python:{version}-slim-bookworm'),
    'base image for Python, if Berth generates the Dockerfile. {version} is the version in the configuration',
    PASSED_ON,
  ),
  BERTH_BUILD_CA: setting(
    optional,
    'PEM file of certificate authorities for git hosts, in addition to the usual ones',
    ['build-step'],
  ),
  BERTH_TERMINATION_LOG: setting(
    z.string().default('/dev/termination-log'),
    'file to which a build step writes its result',
    ['build-step'],
  ),
} as const satisfies Record<string, Setting>;
