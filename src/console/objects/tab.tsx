import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useRef } from 'react';
import type { ObjectMap } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useDeployment } from '../deployment/deployment-context.ts';
import { describeResource } from '../deployment/describe-resource.ts';
import { Section } from '../deployment/section.tsx';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { Missing } from './missing.tsx';
import { ObjectDetails } from './object-details.tsx';
import { ObjectList } from './object-list.tsx';
import styles from './objects.module.css';
import { Pods } from './pods.tsx';
import { objectsQuery } from './queries.ts';
import { keyOf, refOf } from './selection.ts';

/** The pods, and why their usage is absent if it is. */
function PodsSection({ map, isStale }: { readonly map: ObjectMap; readonly isStale: boolean }) {
  const pods = map.resources.filter(({ kind }) => kind === 'Pod');
  const { available, reason } = map.metrics;
  return (
    <Section id="pods" title="Pods">
      {pods.length === 0 && <p>There are no pods.</p>}
      {pods.length > 0 && <Pods pods={pods} isStale={isStale} />}
      {!available && (
        <p>
          CPU and memory in use are not shown: <bdi>{reason ?? 'the cluster has no metrics API'}</bdi>
        </p>
      )}
    </Section>
  );
}

/** The objects of a deployment in its cluster. */
export function ObjectsTab() {
  const { id, name, tenant_id: tenantId } = useDeployment().deployment;
  const { object: selected } = useSearch({ from: '/t/$tenantId/deployments/$deploymentId/objects' });
  const query = useQuery(objectsQuery(useTenantApi(), id));
  const freshness = useFreshness(query);
  const { data: map, error } = query;
  const selectedAtFirst = useRef(selected);
  const of = refOf({ ...(selected === undefined ? {} : { object: selected }) });
  return (
    <div className={of === null ? undefined : styles['split']}>
      <div className={styles['overview']}>
        <Section
          id="objects"
          title="Objects"
          command={
            <ShowCommand
              title="List the objects"
              request={{ path: `/v2/deployments/${id}/objects`, tenantId }}
              berth={commandLine('berth', 'objects', name)}
              kubectl={describeResource(id)}
            />
          }
        >
          {query.isPending && <Loading what="the objects from the cluster" />}
          {error !== null && <ProblemNotice error={error} onRetry={() => void query.refetch()} />}
          <StaleNotice freshness={freshness} />
          {map !== undefined && (
            <>
              <Missing unread={map.unread} omitted={map.omitted} />
              {map.resources.length === 0 && <p>The cluster has no objects of this deployment.</p>}
              <ObjectList objects={map.resources} selected={selected} isStale={freshness.isStale} />
            </>
          )}
        </Section>
        {map !== undefined && <PodsSection map={map} isStale={freshness.isStale} />}
      </div>
      {of !== null && (
        <ObjectDetails
          of={of}
          known={map?.resources.find((each) => keyOf(each) === keyOf(of))}
          isStale={freshness.isStale}
          takesFocus={selected !== selectedAtFirst.current}
        />
      )}
    </div>
  );
}
