import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
} from "@tanstack/react-router";
import { NeedsOwner } from "@/features/session/NeedsOwner";
import { PageLink, readSearch, writeSearch } from "@/ui/address";
import { Page } from "@/ui/Page";
import { Empty, Loading } from "@/ui/PageState";
import { PageError } from "./ErrorBoundary";
import { PAGES } from "./pages";
import { Shell } from "./Shell";

const root = createRootRoute({
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
  notFoundComponent: () => (
    <Page title="No such page">
      <Empty title="There is no page at this address" action={<PageLink to="/">Go to the overview</PageLink>} />
    </Page>
  ),
});

const routes = PAGES.map(({ path, title, needsOwner, component: Content }) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: needsOwner
      ? () => (
          <NeedsOwner title={title}>
            <Content />
          </NeedsOwner>
        )
      : Content,
  }),
);

/** Pages are fragments of `/`: the service serves one document and no rules of rewriting. */
export function createConsoleRouter() {
  return createRouter({
    routeTree: root.addChildren(routes),
    history: createHashHistory(),
    parseSearch: readSearch,
    stringifySearch: writeSearch,
    defaultPendingComponent: Loading,
    defaultErrorComponent: PageError,
    defaultPreload: "intent",
    defaultPendingMs: 200,
    scrollRestoration: true,
  });
}
