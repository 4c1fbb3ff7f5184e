import type { V1Container, V1EnvVar } from '@kubernetes/client-node';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { APP_CONTAINER_NAME } from '../domain/deployment/reserved.ts';
import type { Component } from '../domain/resource-spec/components.ts';
import { DEFAULT_PORT, type SecretReference, variableNames } from '../domain/run-settings/run-settings.ts';
import { PORT_NAMES } from './addresses.ts';
import type { PodTemplates } from './desired-object.ts';

/** The run settings of the desired revision in the app container: port, commands, env and references to Secrets. */

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

/** A variable whose value the kubelet reads from a Secret. */
const fromReference = ({ name, secretName, secretKey }: SecretReference): V1EnvVar => ({
  name,
  valueFrom: { secretKeyRef: { name: secretName, key: secretKey } },
});

/**
 * The variables of the revision, after those of Berth, so that values can refer to these: `$(DATABASE_URI)`. The references to
 * Secrets come first, so that values of env can refer to them too. As in Kubernetes, a reference to an unknown variable stays
 * as it is.
 */
export const ownEnv = ({ spec: { podTemplate } }: ManagedDeployment): V1EnvVar[] => [
  ...(podTemplate.secretReferences ?? []).map(fromReference),
  ...(podTemplate.env ?? []).map(({ name, value }) => ({ name, value })),
];

/** Names of the variables of the revision. */
export const ownVariableNames = ({ spec }: ManagedDeployment): string[] =>
  variableNames([], spec.podTemplate);

/** A variable of the revision, without its name. undefined: the revision has no such variable. */
export function ownVariable(resource: ManagedDeployment, name: string): Omit<V1EnvVar, 'name'> | undefined {
  const found = ownEnv(resource).find((variable) => variable.name === name);
  if (found === undefined) return undefined;
  const { name: _, ...source } = found;
  return source;
}
