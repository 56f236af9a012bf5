/** The page of a plan. */
export const planPath = (id: string): string => `/automation/${encodeURIComponent(id)}`;
