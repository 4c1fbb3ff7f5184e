import { releaseTaskName } from '../../../workloads/tasks/release-task.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { Observed } from '../observed.ts';
import { podOf } from '../tasks/observe-task.ts';
import { readTask, type TaskResource } from '../tasks/observed-task.ts';
import type { ReleaseTasks } from '../tasks/tasks.ts';
import { recordedTask } from './decide-release.ts';

/**
 * Adds the tasks of a deployment that has a release command or the record of a release. A recorded task that the cache
 * does not show is read from the API server, because a revision fails without it.
 * @throws KubeError when the API server does not respond
 */
export async function withReleaseTasks(
  observed: Observed,
  key: string,
  { client, view, releases, signal }: Sources,
): Promise<Observed> {
  const { spec, status, metadata } = observed.resource;
  const { release } = status ?? {};
  if (spec.podTemplate.releaseCommand === undefined && release === undefined) return observed;
  const own = releases?.tasksOf(key) ?? null;
  if (releases === undefined || own === null)
    return { ...observed, tasks: null, lacksTasks: releases?.isMissing() === true };
  const tasks = [...own, ...foreignTasks(observed, releases)];
  if (release === undefined || release.succeeded === true) return { ...observed, tasks };
  const known = recordedTask(release, tasks);
  if (known !== undefined) return { ...observed, tasks, releasePod: podOf(view, key, known, null) };
  const at = { namespace: metadata.namespace, name: release.task };
  const found = await client.find<UntypedObject>(RESOURCES.DeploymentTask, at, { signal });
  const live = found === undefined ? null : readTask(found);
  if (live === null) return { ...observed, tasks };
  return { ...observed, tasks: withTask(tasks, live), releasePod: podOf(view, key, live, null) };
}

/** Tasks of other deployments that have the name of a release of this one, so that its own task cannot be created. */
function foreignTasks(
  { resource, storedTemplates }: Observed,
  releases: ReleaseTasks,
): readonly TaskResource[] {
  const { name: appName, namespace } = resource.metadata;
  return storedTemplates.flatMap(({ name }) => {
    const found = releases.task(`${namespace}/${releaseTaskName(name)}`);
    return found === undefined || found.spec.deployment === appName ? [] : [found];
  });
}

interface Sources {
  readonly client: Pick<KubeClient, 'find'>;
  readonly view: Pick<ClusterView, 'children'>;
  readonly releases: ReleaseTasks | undefined;
  readonly signal: AbortSignal;
}

const withTask = (tasks: readonly TaskResource[], live: TaskResource): TaskResource[] => [
  ...tasks.filter(({ metadata }) => metadata.name !== live.metadata.name),
  live,
];
