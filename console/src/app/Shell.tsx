import { useRouterState } from "@tanstack/react-router";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { actFor } from "@/api/client";
import { useOwner } from "@/api/session";
import { OtherAccount } from "@/features/session/OtherAccount";
import { OwnerMenu } from "@/features/session/OwnerMenu";
import { SignInDialog } from "@/features/session/SignInDialog";
import { PageLink } from "@/ui/address";
import { Button } from "@/ui/Button";
import { CloseIcon, MenuIcon } from "@/ui/icons";
import { Toasts } from "@/ui/Toasts";
import logo from "./favicon.svg";
import { NetworkMenu } from "./NetworkMenu";
import { NetworkNotice } from "./NetworkNotice";
import { NAVIGATION } from "./pages";
import styles from "./Shell.module.css";
import { ThemeMenu } from "./ThemeMenu";

const usePath = (): string => useRouterState({ select: (state) => state.location.pathname });
const isIn = (path: string, section: string): boolean =>
  section === "/" ? path === "/" : path === section || path.startsWith(`${section}/`);

function Brand() {
  return (
    <PageLink to="/" className={styles["brand"]}>
      <img src={logo} alt="" width="26" height="26" />
      Farebox
    </PageLink>
  );
}

function Navigation() {
  const path = usePath();
  return (
    <nav aria-label="Pages">
      <ul className={styles["links"]}>
        {NAVIGATION.map((each) => (
          <li key={each.path}>
            <PageLink to={each.path} className={styles["link"]} isCurrent={isIn(path, each.path)}>
              {each.icon}
              {each.title}
            </PageLink>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Drawer({ onClose }: { onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} className={styles["drawer"]} aria-label="Menu" onCancel={onClose}>
      <div className={styles["drawerHead"]}>
        <Brand />
        <Button kind="quiet" size="icon" aria-label="Close the menu" onClick={onClose}>
          <CloseIcon />
        </Button>
      </div>
      <Navigation />
    </dialog>
  );
}

function TopBar() {
  const [isOpen, setOpen] = useState(false);
  const path = usePath();
  useEffect(() => setOpen(false), [path]);
  return (
    <header className={styles["top"]}>
      <Button kind="quiet" size="icon" aria-label="Open the menu" onClick={() => setOpen(true)}>
        <MenuIcon />
      </Button>
      <div className="row">
        <NetworkMenu />
        <OwnerMenu />
        <ThemeMenu />
      </div>
      {isOpen && <Drawer onClose={() => setOpen(false)} />}
    </header>
  );
}

/** The frame of every page: navigation, account, network, theme, and the sign-in dialog above. */
export function Shell({ children }: { children: ReactNode }) {
  const owner = useOwner();
  const path = usePath();
  const main = useRef<HTMLDivElement>(null);
  const isFirst = useRef(true);
  // Once the pages of this account are there, and before they ask for anything.
  useLayoutEffect(() => actFor(owner?.id ?? null), [owner?.id]);
  useEffect(() => {
    // A screen reader and the keyboard follow to the new page.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [path]);
  return (
    <div className={styles["shell"]}>
      <Button className={styles["skip"]} onClick={() => main.current?.focus()}>
        Skip to the page
      </Button>
      <aside className={styles["side"]}>
        <Brand />
        <Navigation />
        <div className={styles["foot"]}>
          <NetworkMenu />
          <div className={styles["bar"]}>
            <OwnerMenu />
            <ThemeMenu />
          </div>
        </div>
      </aside>
      <TopBar />
      <main className={styles["main"]}>
        <OtherAccount />
        {/* Another wallet gets new pages: nothing typed for one is sent for the other. */}
        <div className={styles["content"]} ref={main} tabIndex={-1} key={owner?.id ?? "nobody"}>
          <NetworkNotice />
          {children}
        </div>
      </main>
      <SignInDialog />
      <Toasts />
    </div>
  );
}
