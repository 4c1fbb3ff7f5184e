import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { ClusterObject, ObjectDetails as Details, ObjectEvent } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import sections from '../deployment/deployment.module.css';
import { useDeployment } from '../deployment/deployment-context.ts';
import { shortId } from '../deployment/status.ts';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { type Fact, Facts } from '../ui/facts.tsx';
import { Loading } from '../ui/loading.tsx';
import { Mark } from '../ui/mark.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import ui from '../ui/ui.module.css';
import { Missing } from './missing.tsx';
import { ObjectLink } from './object-list.tsx';
import { stateOf } from './object-state.ts';
import styles from './objects.module.css';
import { Containers } from './pods.tsx';
import { objectQuery } from './queries.ts';
import { isReadKind, keyOf, kubectlKind, type ObjectRef, type ReadKind } from './selection.ts';

/** One object of a deployment. */

function ObjectCommand({ kind, name }: { readonly kind: ReadKind; readonly name: string }) {
  const { id, tenant_id: tenantId, name: deployment } = useDeployment().deployment;
  const selectors = ['-l', `berth.dev/deployment-id=${id}`, '--field-selector', `metadata.name=${name}`];
  return (
    <ShowCommand
      title="Show this object"
      request={{ path: `/v2/deployments/${id}/objects/${kind}/${encodeURIComponent(name)}`, tenantId }}
      berth={commandLine('berth', 'objects', deployment, `${kind}/${name}`)}
      kubectl={commandLine('kubectl', 'get', kubectlKind(kind), '-A', ...selectors, '-o', 'yaml')}
    />
  );
}

const Owner = ({ owner }: { readonly owner: NonNullable<ClusterObject['owner']> }) => (
  <>
    <bdi>{owner.kind}</bdi> <ObjectLink of={owner} />
  </>
);

function ObjectFacts({ object, isStale }: { readonly object: ClusterObject; readonly isStale: boolean }) {
  const { owner, component, revision_id: revisionId, created_at: createdAt, pod } = object;
  const facts: readonly Fact[] = [
    [object.kind === 'Secret' ? 'Used by' : 'Owner', owner && <Owner key="owner" owner={owner} />],
    ['Component', component],
    ['Revision', revisionId && shortId(revisionId)],
    ['Node', pod?.node],
    ['Created', createdAt && <Time key="created" at={createdAt} />],
  ];
  return (
    <>
      <p>
        <Mark {...stateOf(object, isStale)} />
      </p>
      {object.message !== null && <p>{object.message}</p>}
      <Facts facts={facts} />
      {pod !== undefined && <Containers containers={pod.containers} isStale={isStale} />}
    </>
  );
}

function Events({ events }: { readonly events: readonly ObjectEvent[] }) {
  if (events.length === 0) return <p>The cluster has no events about this object.</p>;
  return (
    <ScrollTable label="Events of the object" columns={['Reason', 'Message', 'Count', 'Last', 'Source']}>
      {events.map((event, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: events have no id.
        <tr key={index}>
          <th scope="row">
            <Mark tone={event.type === 'Warning' ? 'bad' : 'off'} text={event.reason} />
          </th>
          <td>{event.message}</td>
          <td>{event.count}</td>
          <td>{event.last_at === null ? '–' : <Time at={event.last_at} />}</td>
          <td>{event.source}</td>
        </tr>
      ))}
    </ScrollTable>
  );
}

function Manifest({ yaml }: Pick<Details, 'yaml'>) {
  if (yaml === null) return <p>The object is too large to be shown as YAML.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls what has the focus.
    <section aria-label="YAML" tabIndex={0} className={styles['yaml']}>
      <pre className={ui['code']}>{yaml}</pre>
    </section>
  );
}

/** What can be requested about an object. */
function Requested({
  kind,
  name,
  known,
}: {
  kind: ReadKind;
  name: string;
  known: ClusterObject | undefined;
}) {
  const { deployment, isStale } = useDeployment();
  const query = useQuery(objectQuery(useTenantApi(), deployment.id, { kind, name }));
  const freshness = useFreshness(query);
  const { data, error } = query;
  // The map has what the pods use.
  const object = known ?? data?.object;
  return (
    <>
      {object !== undefined && <ObjectFacts object={object} isStale={isStale || freshness.isStale} />}
      {query.isPending && <Loading what="events and YAML" />}
      {error !== null && <ProblemNotice error={error} onRetry={() => void query.refetch()} />}
      {data !== undefined && (
        <>
          <StaleNotice freshness={freshness} />
          <h3>Events</h3>
          <Missing unread={data.unread} />
          <Events events={data.events} />
          <h3>YAML</h3>
          <Manifest yaml={data.yaml} />
        </>
      )}
    </>
  );
}

interface ObjectDetailsProps {
  readonly of: ObjectRef;
  /** The object in the map. undefined: the map does not have it. */
  readonly known: ClusterObject | undefined;
  readonly isStale: boolean;
  /** Whether the object was selected on this page, and not by its URL. */
  readonly takesFocus: boolean;
}

/** The selected object. Its heading gets the focus, so that a keyboard continues there. */
export function ObjectDetails({ of, known, isStale, takesFocus }: ObjectDetailsProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const key = keyOf(of);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another object moves the focus.
  useEffect(() => {
    if (takesFocus) heading.current?.focus();
  }, [key]);
  const { kind, name } = of;
  return (
    <section aria-labelledby="object" className={styles['details']}>
      <div className={sections['sectionHead']}>
        <h2 id="object" ref={heading} tabIndex={-1}>
          <bdi>{kind}</bdi> <bdi>{name}</bdi>
        </h2>
        {isReadKind(kind) && <ObjectCommand kind={kind} name={name} />}
      </div>
      {isReadKind(kind) ? (
        <Requested key={key} kind={kind} name={name} known={known} />
      ) : (
        known !== undefined && <ObjectFacts object={known} isStale={isStale} />
      )}
      {kind === 'Secret' && (
        <p>Secrets are shown by name only. Berth does not read their values for this page.</p>
      )}
      {kind !== 'Secret' && !isReadKind(kind) && <p>Objects of this kind are not part of a deployment.</p>}
    </section>
  );
}
