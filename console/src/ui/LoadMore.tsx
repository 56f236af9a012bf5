import { Button } from "./Button";

interface LoadMoreProps {
  list: { hasMore: boolean; isLoadingMore: boolean; loadMore: () => void };
  /** How many are shown. */
  count: number;
  /** What they are, in the plural: "keys". */
  name: string;
}

/** Below a list that is paged by cursor: how many are shown, and the next page. */
export function LoadMore({ list, count, name }: LoadMoreProps) {
  if (!list.hasMore) return null;
  return (
    <div className="row">
      <Button isPending={list.isLoadingMore} onClick={list.loadMore}>
        Show more
      </Button>
      <span className="soft numbers">
        The newest {count} {name} are shown.
      </span>
    </div>
  );
}
