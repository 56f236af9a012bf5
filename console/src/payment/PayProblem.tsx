import { Note } from "@/ui/Note";
import { Problem } from "@/ui/PageState";
import { DiffersFromPrice } from "./signPayment";

/** Why a payment was not prepared or signed. */
export function PayProblem({ problem }: { problem: unknown }) {
  if (problem instanceof DiffersFromPrice) {
    return (
      <div role="alert">
        <Note tone="bad">
          <h3>This payment is not the price</h3>
          <p>{problem.message}</p>
          <ul>
            {problem.differences.map((each) => (
              <li key={each} className="foreign">
                {each}
              </li>
            ))}
          </ul>
        </Note>
      </div>
    );
  }
  if (problem instanceof Error && problem.name === "Undecodable") {
    return (
      <div role="alert">
        <Note tone="bad">
          <h3>This is not a plain payment</h3>
          <p>{problem.message} Nothing was signed.</p>
        </Note>
      </div>
    );
  }
  return <Problem error={problem} isSmall />;
}
