const NAME = "farebox.session";

/** The tabs of this browser: they share one session, and each shows the pages of one account. */
export interface Tabs {
  /** Tells the other tabs that the session is another one, or has ended. */
  tell: () => void;
  close: () => void;
}

/**
 * Joins the tabs of this origin. `listener` is called when another one has signed in or out; who is
 * signed in now, only the service says.
 */
export function joinTabs(listener: () => void): Tabs {
  if (typeof BroadcastChannel === "undefined") return { tell: () => {}, close: () => {} };
  const channel = new BroadcastChannel(NAME);
  channel.addEventListener("message", listener);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
  return { tell: () => channel.postMessage("changed"), close: () => channel.close() };
}
