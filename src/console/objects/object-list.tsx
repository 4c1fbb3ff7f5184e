import { Link } from '@tanstack/react-router';
import type { ClusterObject } from '../api/types.ts';
import { useDeployment } from '../deployment/deployment-context.ts';
import { Mark } from '../ui/mark.tsx';
import { stateOf } from './object-state.ts';
import { type Branch, treeOf } from './object-tree.ts';
import styles from './objects.module.css';
import { keyOf, type ObjectRef } from './selection.ts';

/** A link that selects an object. */
export function ObjectLink({
  of,
  isSelected = false,
}: {
  readonly of: ObjectRef;
  readonly isSelected?: boolean;
}) {
  const { id: deploymentId, tenant_id: tenantId } = useDeployment().deployment;
  return (
    <Link
      to="/t/$tenantId/deployments/$deploymentId/objects"
      params={{ tenantId, deploymentId }}
      search={{ object: keyOf(of) }}
      resetScroll={false}
      aria-current={isSelected ? 'true' : undefined}
      className={styles['link']}
    >
      {of.name}
    </Link>
  );
}

interface ObjectListProps {
  readonly objects: readonly ClusterObject[];
  /** `keyOf` the selected object. */
  readonly selected: string | undefined;
  readonly isStale: boolean;
}

function Branches({
  branches,
  ...shared
}: Omit<ObjectListProps, 'objects'> & { readonly branches: readonly Branch[] }) {
  const { selected, isStale } = shared;
  return (
    <ul className={styles['branches']}>
      {branches.map(({ object, below }) => (
        <li key={keyOf(object)}>
          <div className={styles['object']}>
            <span className={styles['kind']}>{object.kind}</span>
            <ObjectLink of={object} isSelected={selected === keyOf(object)} />
            <Mark {...stateOf(object, isStale)} />
            {object.message !== null && <span className={styles['message']}>{object.message}</span>}
          </div>
          {below.length > 0 && <Branches branches={below} {...shared} />}
        </li>
      ))}
    </ul>
  );
}

/** The object map: nested lists, which keyboards and screen readers follow without further help. */
export const ObjectList = ({ objects, ...shared }: ObjectListProps) => (
  <div className={styles['map']}>
    <Branches branches={treeOf(objects)} {...shared} />
  </div>
);
