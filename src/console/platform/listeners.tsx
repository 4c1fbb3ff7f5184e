import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { read } from '../api/client.ts';
import type { Listener } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { ListPage } from '../list/list-page.tsx';
import { useScope } from '../session/use-scope.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { TextField } from '../ui/fields/text-field.tsx';
import { StateMark } from '../ui/mark.tsx';
import { Time } from '../ui/time.tsx';
import { DeleteListener, ForgetCluster } from './listener-actions.tsx';
import {
  DOCTOR_COMMAND,
  lagText,
  listenerFindings,
  toneOfListener,
  waitingByListener,
} from './listener-facts.ts';
import styles from './platform.module.css';
import { listenerPagesQuery, waitingQuery } from './queries.ts';
import { useRequestAgain } from './use-request-again.ts';

function Findings({ listener }: { readonly listener: Listener }) {
  const findings = listenerFindings(listener);
  if (findings.length === 0) return <>none</>;
  return (
    <ul className={styles['findings']}>
      {findings.map(({ message, next }) => (
        <li key={message}>
          {message} Next: {next}.
        </li>
      ))}
    </ul>
  );
}

interface RowProps {
  readonly listener: Listener;
  readonly isStale: boolean;
  /** Changes that the cluster has not reported yet, in words. */
  readonly lag: string;
}

function Row({ listener, isStale, lag }: RowProps) {
  const { compute_id: name, status, version, cluster_version: clusterVersion } = listener;
  const { last_seen_at: seenAt, tenant_id: owner, compute_config: config } = listener;
  const mayWrite = useScope('deployments:write');
  const mayForget = useScope('admin') || (mayWrite && owner !== null);
  return (
    <tr>
      <th scope="row">
        <bdi>{name}</bdi>
        {owner === null && ' (platform)'}
      </th>
      <td>
        <StateMark tone={toneOfListener(status)} text={status} isStale={isStale} />
      </td>
      <td>{version ?? '–'}</td>
      <td>{clusterVersion ?? '–'}</td>
      <td>{seenAt === null ? 'never taken' : <Time at={seenAt} />}</td>
      <td>{lag}</td>
      <td>{config.k8s_namespaces.length === 0 ? 'all' : config.k8s_namespaces.join(', ')}</td>
      <td>
        <Findings listener={listener} />
      </td>
      <td>
        <div className={styles['actions']}>
          {mayForget && listener.cluster_id !== null && <ForgetCluster listener={listener} />}
          {mayWrite && owner !== null && <DeleteListener listener={listener} />}
        </div>
      </td>
    </tr>
  );
}

/** The words of a list that is separated by commas or spaces. */
const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

function CreateListener() {
  const api = useTenantApi();
  const [name, setName] = useState('');
  const [namespaces, setNamespaces] = useState('');
  const again = useRequestAgain();
  const body = { compute_id: name.trim(), compute_config: { k8s_namespaces: wordsOf(namespaces) } };
  const action = useMutation({
    mutationFn: () => read(api.POST('/v2/listeners', { body: { compute_type: 'k8s', ...body } })),
    onSuccess: again,
  });
  const option =
    body.compute_config.k8s_namespaces.length > 0 ? ['--namespaces', wordsOf(namespaces).join()] : [];
  return (
    <ActionDialog
      opens="Create a listener"
      title="Create a listener"
      acts="Create"
      action={action}
      onClose={() => {
        setName('');
        setNamespaces('');
      }}
      command={
        <ShowCommand
          title="Create the listener"
          request={{ method: 'POST', path: '/v2/listeners', tenantId: api.tenantId, body }}
          berth={commandLine('berth', 'listeners', 'create', name.trim(), ...option)}
        />
      }
    >
      <p>Registers a cluster. The listener in it needs an API key with the scope listeners:run.</p>
      <TextField label="Name of the cluster" value={name} onChange={setName} required />
      <TextField
        label="Namespaces"
        hint="Separated by commas. Empty: all namespaces."
        value={namespaces}
        onChange={setNamespaces}
      />
    </ActionDialog>
  );
}

const COLUMNS = [
  'Cluster',
  'Status',
  'Berth',
  'Kubernetes',
  'Lease renewed',
  'Lag',
  'Namespaces',
  'Findings',
  'Actions',
];

/** The listeners that the tenant can use. */
export function ListenersPage() {
  const api = useTenantApi();
  const query = useInfiniteQuery(listenerPagesQuery(api));
  const waiting = useQuery(waitingQuery(api));
  const mayWrite = useScope('deployments:write');
  const counts = waitingByListener(waiting.data?.deployments ?? []);
  const lagOf = ({ id, tenant_id: owner }: Listener) =>
    waiting.data === undefined || waiting.isRefetchError
      ? 'not known'
      : lagText(counts.get(owner === null ? null : id) ?? 0, waiting.data.isComplete);
  return (
    <ListPage
      title="Listeners"
      what="the listeners"
      columns={COLUMNS}
      query={query}
      empty="The tenant can use no listener"
      actions={
        <>
          {mayWrite && <CreateListener />}
          <ShowCommand
            title="List the listeners, and examine one"
            request={{ path: '/v2/listeners', tenantId: api.tenantId }}
            berth={commandLine('berth', 'listeners', 'list')}
            kubectl={DOCTOR_COMMAND}
          />
        </>
      }
      row={(listener, isStale) => (
        <Row key={listener.id} listener={listener} isStale={isStale} lag={lagOf(listener)} />
      )}
    >
      <p>
        The lag is the number of deployments of this tenant whose latest change the cluster has not reported.
        Findings are what the hub knows. In the cluster, the doctor examines more:
      </p>
      <p>
        <code>{DOCTOR_COMMAND}</code>
      </p>
    </ListPage>
  );
}
