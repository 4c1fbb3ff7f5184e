import { commandLine } from '../commands/commands.ts';

/** The command of kubectl that describes the custom resource of a deployment. */
export const describeResource = (deploymentId: string): string =>
  commandLine('kubectl', 'describe', 'mdep', '-A', '-l', `berth.dev/deployment-id=${deploymentId}`);
