import { useQuery } from '@tanstack/react-query';
import type { Revision } from '../api/types.ts';
import { objectsQuery, POLL_MS } from '../objects/queries.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { areReady, type ComponentProgress, componentsOf } from './components.ts';
import { Beginning, Duration } from './duration.tsx';
import { isFinal, secondsBetween } from './steps.ts';
import styles from './timeline.module.css';

const COLUMNS = ['Component', 'State', 'Pods since', 'All running after', 'Pods ready'] as const;

function ComponentRow({ progress }: { readonly progress: ComponentProgress }) {
  const { component, state, beganAt, runningAt, pods, ready, isKept } = progress;
  return (
    <tr>
      <th scope="row">{component}</th>
      <td>{state}</td>
      <td>
        <Beginning at={beganAt} />
      </td>
      <td>{isKept ? 'not replaced' : <Duration seconds={secondsBetween(beganAt, runningAt)} />}</td>
      <td>
        {ready} of {pods}
      </td>
    </tr>
  );
}

/** The components of a revision, as they are in the cluster now. */
export function ComponentList({ revision }: { readonly revision: Revision }) {
  const query = useQuery({
    ...objectsQuery(useTenantApi(), revision.deployment_id),
    // Each request reads the cluster, so it is repeated only while something happens. An answer can be older than the end of the rollout.
    refetchInterval: ({ state: { data } }) =>
      isFinal(revision.status) && data !== undefined && areReady(data.resources, revision) ? false : POLL_MS,
  });
  if (query.error !== null) return <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Loading what="the components" />;
  const components = componentsOf(query.data.resources, revision);
  if (components.length === 0)
    return <p className={styles['total']}>The cluster has no pods of revision {revision.number} now.</p>;
  return (
    <>
      <ScrollTable label={`Components of revision ${revision.number}`} columns={COLUMNS}>
        {components.map((each) => (
          <ComponentRow key={each.component} progress={each} />
        ))}
      </ScrollTable>
      <p className={styles['total']}>
        The cluster reports when containers began to run, and not when they became ready.
      </p>
    </>
  );
}
