import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Deployment } from '../api/types.ts';
import { mainCondition, revisionText } from '../deployment/status.ts';
import { DeploymentMark } from '../deployment/status-mark.tsx';
import { Time } from '../ui/time.tsx';
import styles from './fleet.module.css';

const ROW_HEIGHT = 56;
const COLUMNS = ['Name', 'Status', 'Reason', 'Revision', 'Source', 'Type', 'Cluster', 'Age'] as const;

interface RowProps {
  readonly row: Deployment;
  readonly tenantId: string;
  readonly cluster: string;
  readonly isStale: boolean;
}

function Cells({ row, tenantId, cluster, isStale }: RowProps) {
  const condition = mainCondition(row.conditions);
  return (
    <>
      <th scope="row" className={styles['cell']}>
        <Link
          to="/t/$tenantId/deployments/$deploymentId"
          params={{ tenantId, deploymentId: row.id }}
          title={row.name}
        >
          {row.name}
        </Link>
      </th>
      <td className={styles['cell']}>
        <DeploymentMark status={row.status} isStale={isStale} />
      </td>
      <td className={styles['cell']} title={condition?.message}>
        {condition?.reason ?? '–'}
      </td>
      <td className={styles['cell']} title={revisionText(row)}>
        {row.image_version !== null && <code>{row.image_version} </code>}
        {revisionText(row)}
      </td>
      <td className={styles['cell']}>{row.source}</td>
      <td className={styles['cell']}>{row.source_config.deployment_type ?? '–'}</td>
      <td className={styles['cell']} title={cluster}>
        {cluster}
      </td>
      <td className={styles['cell']}>
        <Time at={row.created_at} />
      </td>
    </>
  );
}

interface FleetTableProps {
  readonly rows: readonly Deployment[];
  readonly tenantId: string;
  readonly isStale: boolean;
  /** Name of the cluster of a deployment. */
  readonly clusterOf: (row: Deployment) => string;
  /** Whether more rows can be loaded. */
  readonly hasMore: boolean;
  readonly loadMore: () => void;
}

/** The rows near the visible part of the page. Only these are in the document, so that thousands scroll smoothly. */
export function FleetTable({ rows, tenantId, isStale, clusterOf, hasMore, loadMore }: FleetTableProps) {
  const list = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  // What is above the rows changes its height with the window and the filters.
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0));
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    scrollMargin: top,
    getItemKey: (index) => rows[index]?.id ?? index,
  });
  const items = virtualizer.getVirtualItems();
  const lastIndex = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastIndex >= rows.length - 20) loadMore();
  }, [hasMore, lastIndex, rows.length, loadMore]);
  return (
    <table
      aria-label="Deployments"
      aria-rowcount={hasMore ? -1 : rows.length + 1}
      className={styles['table']}
    >
      <thead>
        <tr className={`${styles['row']} ${styles['head']}`}>
          {COLUMNS.map((column) => (
            <th scope="col" key={column}>
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={list} className={styles['rows']} style={{ height: virtualizer.getTotalSize() }}>
        {items.map(({ key, index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <tr
              aria-rowindex={index + 2}
              key={key}
              className={`${styles['row']} ${styles['placed']}`}
              style={{ transform: `translateY(${start - top}px)` }}
            >
              <Cells row={row} tenantId={tenantId} cluster={clusterOf(row)} isStale={isStale} />
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
