import { Reflector } from '../kube/cache/reflector.ts';
import { type Clock, systemClock } from '../kube/client/clock.ts';
import { RESOURCES } from '../kube/client/resources.ts';
import { EnvSecrets } from './apply/env-secrets.ts';
import { IdentityRecords } from './apply/identity-records.ts';
import { FIXED_QUOTA } from './apply/namespace-quota.ts';
import { PullSecrets } from './apply/pull-secret.ts';
import { TenantNamespaces } from './apply/tenant-namespace.ts';
import { BuildSecrets } from './builds/build-secrets.ts';
import type { ListenerOptions } from './listener-options.ts';
import { type Resource, ResourceView } from './resource-view.ts';
import { type Admission, createAdmission } from './session/admission.ts';
import { ClusterProbe } from './session/cluster-facts.ts';

/** The parts that live as long as the process, across terms. */
export interface ListenerParts {
  options: ListenerOptions;
  clock: Clock;
  random: () => number;
  view: ResourceView;
  probe: ClusterProbe;
  admission: Admission;
  secrets: EnvSecrets;
  pullSecrets: PullSecrets;
  identities: IdentityRecords;
  builds: BuildSecrets | undefined;
  namespaces: TenantNamespaces;
}

function createView({ client, logger, namespaces }: ListenerOptions, clock: Clock): ResourceView {
  const names = namespaces.length === 0 ? [''] : [...new Set(namespaces)];
  const reflectors = names.map((namespace) => {
    const scope = namespace === '' ? {} : { namespace };
    return [
      namespace,
      new Reflector<Resource>({ client, resource: RESOURCES.ManagedDeployment, logger, clock, ...scope }),
    ] as const;
  });
  return new ResourceView(new Map(reflectors));
}

/** Creates the parts without starting any of them. */
export function createParts(options: ListenerOptions): ListenerParts {
  const { client, logger, rendering, buildNamespace, clock = systemClock, random = Math.random } = options;
  const view = createView(options, clock);
  return {
    options,
    clock,
    random,
    view,
    probe: new ClusterProbe({
      client,
      ownNamespace: options.ownNamespace,
      namespaces: options.namespaces,
      lastError: () => view.lastError(),
      unreadable: () => view.unreadable(),
      rendering,
      logger,
      clock,
    }),
    admission: createAdmission(options.hub),
    secrets: new EnvSecrets({ client, logger }),
    pullSecrets: new PullSecrets(client),
    identities: new IdentityRecords(client),
    builds:
      buildNamespace === undefined
        ? undefined
        : new BuildSecrets({
            client,
            namespace: buildNamespace,
            baseSecret: options.buildBaseSecret,
            logger,
          }),
    namespaces: new TenantNamespaces({
      client,
      podSecurity: rendering.podSecurity,
      quota: options.tenantQuota === undefined ? FIXED_QUOTA : options.tenantQuota,
      clock,
    }),
  };
}
