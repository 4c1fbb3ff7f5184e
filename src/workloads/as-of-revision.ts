import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { pullSecretName } from '../contract/resource/names.ts';
import { APP_CONTAINER_NAME, TRACING_ENV_NAMES } from '../domain/deployment/reserved.ts';
import { exporterVariables } from '../domain/resource-spec/exporter-variables.ts';
import type { PodTemplates } from './desired-object.ts';
import { app } from './names.ts';
import { ownServicesOf } from './objects/app-env.ts';

/** Which revision templates are of. */
interface Identity {
  readonly id?: string | undefined;
  readonly number: number;
}

/**
 * The resource as it would be if this revision were still the wanted one: its image and its secrets, with all else as
 * the spec says now. What belongs to a revision is read from templates that were rendered of it: image, environment,
 * whether database and cache are its own, which tracing variables its secrets set, and the Secret that its image is
 * pulled with. So resource and revision render again, with another source_config, as the revision's templates did.
 * @param given image as the revision names it: the templates may name its digest
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
  // Templates of an earlier version do not say; of the wanted revision the spec does.
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
