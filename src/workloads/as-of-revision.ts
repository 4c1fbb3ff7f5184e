import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { pullSecretName } from '../contract/resource/names.ts';
import { APP_CONTAINER_NAME, TRACING_ENV_NAMES } from '../domain/deployment/reserved.ts';
import { exporterVariables } from '../domain/resource-spec/exporter-variables.ts';
import type { PodTemplates } from './desired-object.ts';
import { app } from './names.ts';
import { ownServicesOf } from './objects/app-env.ts';

/** The revision to which templates belong. */
interface Identity {
  readonly id?: string | undefined;
  readonly number: number;
}

/**
 * The resource as if this revision were still the desired revision. Image and secrets are those of the revision, and
 * all other values come from the current spec. The parts of a revision are read from its stored templates: image,
 * environment, whether database and cache belong to the tenant, the tracing variables of its secrets, and its pull
 * Secret. The resource then renders the templates of the revision with another source_config.
 * @param given the image as in the revision, whereas the templates may contain the digest of the image
 */
export function asOfRevision<R extends ManagedDeployment>(
  resource: R,
  { id, number }: Identity,
  templates: PodTemplates,
  given?: string,
): R {
  const pod = Object.values(templates)[0]?.spec;
  const container = pod?.containers.find(({ name }) => name === APP_CONTAINER_NAME);
  const image = given ?? container?.image;
  const envSecretName = container?.envFrom?.[0]?.secretRef?.name;
  const own = ownServicesOf(resource, templates);
  const fromSecrets = (container?.env ?? []).flatMap(({ name, valueFrom }) => {
    const { name: secret, key } = valueFrom?.secretKeyRef ?? {};
    return key === name && secret !== undefined && secret === envSecretName ? [name] : [];
  });
  const ownVariables = TRACING_ENV_NAMES.filter((variable) => fromSecrets.includes(variable));
  const exporting = exporterVariables(fromSecrets);
  const { spec } = resource;
  const { ownVariables: _, exporterVariables: wanted = [], ...tracing } = spec.tracing;
  // Templates of an earlier version lack this value. For the desired revision, the value is in the spec.
  const isWanted = id === spec.revision.id && number === spec.revision.number;
  const exported = exporting.length === 0 && isWanted ? wanted : exporting;
  const { imagePullSecrets = [], ...podTemplate } = spec.podTemplate;
  const pullSecret = pullSecretName(app(resource));
  const pullSecrets = [
    ...imagePullSecrets.filter(({ name }) => name !== pullSecret),
    ...(pod?.imagePullSecrets?.some(({ name }) => name === pullSecret) ? [{ name: pullSecret }] : []),
  ];
  return {
    ...resource,
    spec: {
      ...spec,
      revision: {
        ...(id === undefined ? {} : { id }),
        number,
        ...(image === undefined ? {} : { image }),
        ...(envSecretName === undefined ? {} : { envSecretName }),
      },
      database: { ...spec.database, external: !own.database },
      cache: { ...spec.cache, external: !own.cache },
      podTemplate: {
        ...podTemplate,
        ...(pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets }),
      },
      tracing: {
        ...tracing,
        ...(ownVariables.length === 0 ? {} : { ownVariables }),
        ...(exported.length === 0 ? {} : { exporterVariables: exported }),
      },
    },
  };
}
