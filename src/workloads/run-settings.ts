import type { V1Container, V1EnvVar } from '@kubernetes/client-node';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { APP_CONTAINER_NAME } from '../domain/deployment/reserved.ts';
import type { Component } from '../domain/resource-spec/components.ts';
import { DEFAULT_PORT } from '../domain/run-settings/run-settings.ts';
import { PORT_NAMES } from './addresses.ts';
import type { PodTemplates } from './desired-object.ts';

/** The run settings of the desired revision in the app container: port, commands and env. */

/** Port on which the api component must serve HTTP. Every app container gets this port as PORT. */
export const appPort = ({ spec }: ManagedDeployment): number => spec.podTemplate.port ?? DEFAULT_PORT;

/** Ports on which pods of these templates serve HTTP. */
export function portsOf(templates: PodTemplates): number[] {
  const containers = templates.api?.spec?.containers ?? [];
  return containers
    .filter(({ name }) => name === APP_CONTAINER_NAME)
    .flatMap(({ ports = [] }) => ports.filter(({ name }) => name === PORT_NAMES.app))
    .map(({ containerPort }) => containerPort);
}

/** Command and arguments of a component. Empty: those of the image. */
export function commandOf(
  { spec }: ManagedDeployment,
  component: Component,
): Pick<V1Container, 'command' | 'args'> {
  const { command = [], args = [] } = spec.podTemplate.commands?.[component] ?? {};
  return { ...(command.length === 0 ? {} : { command }), ...(args.length === 0 ? {} : { args }) };
}

/**
 * The variables of the revision, after those of Berth, so that values can refer to these: `$(DATABASE_URI)`. As in Kubernetes,
 * a reference to an unknown variable stays as it is.
 */
export const ownEnv = ({ spec }: ManagedDeployment): V1EnvVar[] =>
  (spec.podTemplate.env ?? []).map(({ name, value }) => ({ name, value }));

/** Names of the variables of the revision. */
export const ownVariableNames = ({ spec }: ManagedDeployment): string[] =>
  (spec.podTemplate.env ?? []).map(({ name }) => name);

/** The value of a variable of the revision. undefined: the revision has no such variable. */
export const ownValue = ({ spec }: ManagedDeployment, variable: string): string | undefined =>
  spec.podTemplate.env?.find(({ name }) => name === variable)?.value;
