import type { ClusterObject, ObjectContainer } from '../api/types.ts';
import { Mark, StateMark } from '../ui/mark.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import { type Amounts, amountsOf, amountsText, podAmounts, type Resource, usedPart } from './amounts.ts';
import { ObjectLink } from './object-list.tsx';
import { containerTone, readyText, restartsOf, stateOf } from './object-state.ts';
import styles from './objects.module.css';
import { keyOf } from './selection.ts';

/** Pods and their containers. */

/** Above this part of the limit, a container may soon be slowed down or ended. */
const HIGH = 0.9;

function Usage({ amounts, resource }: { readonly amounts: Amounts; readonly resource: Resource }) {
  const part = usedPart(amounts);
  return (
    <>
      {part !== undefined && (
        <meter
          className={styles['meter']}
          aria-label={resource === 'cpu' ? 'CPU in use' : 'Memory in use'}
          value={Math.min(1, part)}
          high={HIGH}
        />
      )}
      {amountsText(amounts, resource)}
    </>
  );
}

const POD_COLUMNS = ['Pod', 'State', 'Ready', 'Restarts', 'CPU', 'Memory', 'Node', 'Age'] as const;

/** All pods with what they use. */
export const Pods = ({
  pods,
  isStale,
}: {
  readonly pods: readonly ClusterObject[];
  readonly isStale: boolean;
}) => (
  <ScrollTable label="Pods" columns={POD_COLUMNS}>
    {pods.map((object) => {
      const { pod, created_at: createdAt } = object;
      const containers = pod?.containers ?? [];
      return (
        <tr key={keyOf(object)}>
          <th scope="row">
            <ObjectLink of={object} />
          </th>
          <td>
            <Mark {...stateOf(object, isStale)} />
          </td>
          <td>{readyText(containers)}</td>
          <td>{restartsOf(containers)}</td>
          <td>
            <Usage amounts={podAmounts(containers, 'cpu')} resource="cpu" />
          </td>
          <td>
            <Usage amounts={podAmounts(containers, 'memory_mb')} resource="memory_mb" />
          </td>
          <td>{pod?.node ?? 'none yet'}</td>
          <td>{createdAt === null ? '–' : <Time at={createdAt} />}</td>
        </tr>
      );
    })}
  </ScrollTable>
);

const CONTAINER_COLUMNS = ['Container', 'State', 'Restarts', 'CPU', 'Memory', 'Image'] as const;

function ContainerState({
  container,
  isStale,
}: {
  readonly container: ObjectContainer;
  readonly isStale: boolean;
}) {
  const { state, reason, message, exit_code: exitCode, started_at: startedAt } = container;
  return (
    <>
      <StateMark tone={containerTone(container)} text={state} isStale={isStale} />
      {reason !== undefined && <p>{reason}</p>}
      {exitCode !== undefined && <p>Exit code {exitCode}</p>}
      {startedAt !== undefined && (
        <p>
          Started <Time at={startedAt} />
        </p>
      )}
      {message !== undefined && <p>{message}</p>}
    </>
  );
}

/** The containers of a pod. */
export const Containers = ({
  containers,
  isStale,
}: {
  readonly containers: readonly ObjectContainer[];
  readonly isStale: boolean;
}) => (
  <ScrollTable label="Containers" columns={CONTAINER_COLUMNS}>
    {containers.map((container) => (
      <tr key={container.name}>
        <th scope="row">
          <bdi>{container.name}</bdi>
          {container.init && <p>init container</p>}
        </th>
        <td>
          <ContainerState container={container} isStale={isStale} />
        </td>
        <td>{container.restarts}</td>
        <td>
          <Usage amounts={amountsOf(container, 'cpu')} resource="cpu" />
        </td>
        <td>
          <Usage amounts={amountsOf(container, 'memory_mb')} resource="memory_mb" />
        </td>
        <td>
          <code>{container.image}</code>
        </td>
      </tr>
    ))}
  </ScrollTable>
);
