import { type Clock, systemClock } from '../kube/clock.ts';
import { Reflector } from '../kube/reflector.ts';
import { RESOURCES } from '../kube/resources.ts';
import { type Admission, createAdmission } from './admission.ts';
import { BuildSecrets } from './build-secrets.ts';
import { ClusterProbe } from './cluster-facts.ts';
import { EnvSecrets } from './env-secrets.ts';
import { IdentityRecords } from './identity-records.ts';
import type { ListenerOptions } from './listener-options.ts';
import { FIXED_QUOTA } from './namespace-quota.ts';
import { PullSecrets } from './pull-secret.ts';
import { type Resource, ResourceView } from './resource-view.ts';
import { TenantNamespaces } from './tenant-namespace.ts';

/** What lasts as long as the process, whichever term it is. */
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

/** Nothing of it runs yet. */
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
