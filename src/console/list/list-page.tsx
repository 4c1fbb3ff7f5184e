import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { StaleNotice } from '../live/stale-notice.tsx';
import { useFreshness } from '../live/use-freshness.ts';
import { Page } from '../shell/page.tsx';
import { Empty } from '../ui/empty.tsx';
import { Loading } from '../ui/loading.tsx';
import { MoreButton } from '../ui/more-button.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';

interface ListPageProps<T> {
  readonly title: string;
  /** What the list contains, such as "the API keys". */
  readonly what: string;
  readonly columns: readonly string[];
  readonly query: UseInfiniteQueryResult<InfiniteData<{ readonly resources: readonly T[] }>>;
  readonly actions: ReactNode;
  /** Shown if the list is empty. */
  readonly empty: string;
  /** Above the list. */
  readonly children?: ReactNode;
  readonly row: (item: T, isStale: boolean) => ReactNode;
}

/** A page with one list. */
export function ListPage<T>(props: ListPageProps<T>) {
  const { title, what, columns, query, actions, empty, children, row } = props;
  const freshness = useFreshness(query);
  const items = query.data?.pages.flatMap(({ resources }) => resources) ?? [];
  return (
    <Page title={title} actions={actions}>
      {children}
      {query.error !== null && <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />}
      <StaleNotice freshness={freshness} />
      {query.isPending && <Loading what={what} />}
      {query.data !== undefined && items.length === 0 && <Empty title={empty} />}
      {items.length > 0 && (
        <ScrollTable label={title} columns={columns}>
          {items.map((item) => row(item, freshness.isStale))}
        </ScrollTable>
      )}
      <MoreButton query={query} text="Show more" />
    </Page>
  );
}
