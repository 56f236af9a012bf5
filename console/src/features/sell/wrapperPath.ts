export const wrapperPath = (id: string): string => `/sell/${encodeURIComponent(id)}`;
