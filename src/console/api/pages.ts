import { infiniteQueryOptions } from '@tanstack/react-query';

/** Lists with offsets. */

const PAGE = 100;

type ListRequest<T> = (
  query: { limit: number; offset: number },
  signal: AbortSignal,
) => Promise<{ readonly resources: readonly T[]; readonly offset: number }>;

/** All rows of a list, such as the choices of a field. */
export async function allOf<T>(request: ListRequest<T>, signal: AbortSignal): Promise<readonly T[]> {
  const rows: T[] = [];
  let offset = 0;
  for (;;) {
    const page = await request({ limit: PAGE, offset }, signal);
    rows.push(...page.resources);
    if (page.resources.length < PAGE) return rows;
    offset = page.offset;
  }
}

/** A list that is shown page by page. @param queryKey one of api/keys.ts */
export const pagesOptions = <T>(queryKey: readonly unknown[], request: ListRequest<T>) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: async ({ pageParam, signal }) => {
      const { resources, offset } = await request({ limit: PAGE, offset: pageParam }, signal);
      return { resources, next: resources.length < PAGE ? undefined : offset };
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
  });
