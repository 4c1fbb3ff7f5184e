import { Button } from './button.tsx';

interface MoreButtonProps {
  readonly query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => unknown;
  };
  /** Such as "Show older events". */
  readonly text: string;
}

/** Requests the next page of a list, if there is one. */
export const MoreButton = ({ query, text }: MoreButtonProps) =>
  query.hasNextPage && (
    <Button onClick={() => void query.fetchNextPage()} isBusy={query.isFetchingNextPage}>
      {text}
    </Button>
  );
