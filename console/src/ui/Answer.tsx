import type { ReactNode } from "react";
import { Loading, Problem } from "./PageState";

/** The members of a query that its states need; a `useQuery` result has them. */
interface QueryState<Data> {
  data: Data | undefined;
  error: unknown;
  refetch: () => unknown;
}

interface AnswerProps<Data> {
  query: QueryState<Data>;
  /** What is read, for the loading state: "the API keys". */
  name: string;
  isEmpty?: (data: Data) => boolean;
  empty?: ReactNode;
  loading?: ReactNode;
  children: (data: Data) => ReactNode;
}

/**
 * Shows a query in each of its states: loading, refused or outage, empty, and its data. Data that
 * could not be read again stays, with the reason above it.
 */
export function Answer<Data>({ query, name, isEmpty, empty, loading, children }: AnswerProps<Data>) {
  const { data, error } = query;
  const retry = () => void query.refetch();
  if (data === undefined) {
    if (error) return <Problem error={error} onRetry={retry} />;
    return loading ?? <Loading name={name} />;
  }
  const content = isEmpty?.(data) ? empty : children(data);
  if (!error) return content;
  return (
    <div className="stack">
      <Problem error={error} onRetry={retry} isSmall>
        <p>Below is what was read before.</p>
      </Problem>
      {content}
    </div>
  );
}
