import { act, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Answer } from "./Answer";
import { Problem } from "./PageState";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  document.body.innerHTML = "";
});

const failure = (status: number, seconds: number | null = null) => ({
  status,
  code: "some_code",
  message: "A sentence of the service.",
  requestId: "5a1f0c2e",
  retryAfterSeconds: seconds,
});

test.each([
  [401, "You are not signed in"],
  [403, "This is not allowed"],
  [409, "This cannot be done now"],
  [429, "Too many requests"],
  [503, "The service has an outage"],
  [0, "The service cannot be reached"],
])("status %i has a state of its own", (status, title) => {
  render(<Problem error={failure(status)} />);
  expect(screen.getByRole("heading").textContent).toBe(title);
  expect(screen.getByText("5a1f0c2e")).toBeTruthy();
});

test("Retry-After is counted down, and nothing can be tried again before", async () => {
  render(<Problem error={failure(429, 90)} onRetry={() => {}} />);
  const button = screen.getByRole<HTMLButtonElement>("button");
  expect(screen.getByText("Try again in 1 min 30 s.")).toBeTruthy();
  expect(button.disabled).toBe(true);
  await act(async () => vi.advanceTimersByTimeAsync(60_000));
  expect(screen.getByText("Try again in 30 s.")).toBeTruthy();
  await act(async () => vi.advanceTimersByTimeAsync(31_000));
  expect(button.disabled).toBe(false);
});

const query = (data: string[] | undefined, error: unknown = null) => ({ data, error, refetch: () => {} });

test("an answer shows loading, refusal, emptiness and data", () => {
  const show = (state: ReturnType<typeof query>) => (
    <Answer query={state} name="the names" isEmpty={(data) => data.length === 0} empty="No names yet.">
      {(data) => data.join(" and ")}
    </Answer>
  );
  const { rerender } = render(show(query(undefined)));
  expect(screen.getByText("Loading the names")).toBeTruthy();
  rerender(show(query(undefined, failure(403))));
  expect(screen.getByRole("alert")).toBeTruthy();
  rerender(show(query([])));
  expect(screen.getByText("No names yet.")).toBeTruthy();
  rerender(show(query(["Ada", "Grace"])));
  expect(screen.getByText("Ada and Grace")).toBeTruthy();
  rerender(show(query(["Ada"], failure(503))));
  expect(screen.getByText("Ada")).toBeTruthy();
  expect(screen.getByRole("alert")).toBeTruthy();
});
