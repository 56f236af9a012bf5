import { lazyRouteComponent } from "@tanstack/react-router";
import type { RouteComponent } from "@tanstack/react-router";
import type { ReactNode } from "react";
import {
  AccountIcon,
  AutomationIcon,
  DevelopersIcon,
  OverviewIcon,
  PaymentsIcon,
  SearchIcon,
  SellIcon,
  SkillsIcon,
} from "@/ui/icons";

interface PageEntry {
  /** `$name` stands for one segment, which the page reads by `usePathParameter("name")`. */
  path: string;
  title: string;
  /** Whether the page shows records of a signed-in wallet. */
  needsOwner: boolean;
  component: RouteComponent;
}

/** Every page of the console; each is a chunk of its own, loaded when it is visited. */
export const PAGES: readonly PageEntry[] = [
  {
    path: "/",
    title: "Overview",
    needsOwner: false,
    component: lazyRouteComponent(() => import("@/features/overview/OverviewPage"), "OverviewPage"),
  },
  {
    path: "/discover",
    title: "Discover",
    needsOwner: false,
    component: lazyRouteComponent(() => import("@/features/discover/DiscoverPage"), "DiscoverPage"),
  },
  {
    path: "/discover/listing",
    title: "Listing",
    needsOwner: false,
    component: lazyRouteComponent(() => import("@/features/discover/ListingPage"), "ListingPage"),
  },
  {
    path: "/sell",
    title: "Sell",
    needsOwner: true,
    component: lazyRouteComponent(() => import("@/features/sell/SellPage"), "SellPage"),
  },
  {
    path: "/sell/new",
    title: "New wrapper",
    needsOwner: true,
    component: lazyRouteComponent(() => import("@/features/sell/NewWrapperPage"), "NewWrapperPage"),
  },
  {
    path: "/sell/$id",
    title: "Wrapper",
    needsOwner: true,
    component: lazyRouteComponent(() => import("@/features/sell/WrapperPage"), "WrapperPage"),
  },
  {
    path: "/payments",
    title: "Payments",
    needsOwner: true,
    component: lazyRouteComponent(() => import("@/features/payments/PaymentsPage"), "PaymentsPage"),
  },
  {
    path: "/payments/$transaction",
    title: "Payment",
    needsOwner: false,
    component: lazyRouteComponent(() => import("@/features/payments/PaymentPage"), "PaymentPage"),
  },
  {
    path: "/automation",
    title: "Automation",
    needsOwner: true,
    component: lazyRouteComponent(() => import("@/features/automation/AutomationPage"), "AutomationPage"),
  },
  {
    path: "/automation/new",
    title: "New plan",
    needsOwner: true,
    component: lazyRouteComponent(() => import("@/features/automation/NewPlanPage"), "NewPlanPage"),
  },
  {
    path: "/automation/$id",
    title: "Plan",
    needsOwner: true,
    component: lazyRouteComponent(() => import("@/features/automation/PlanPage"), "PlanPage"),
  },
  {
    path: "/developers",
    title: "Developers",
    needsOwner: true,
    component: lazyRouteComponent(() => import("@/features/developers/DevelopersPage"), "DevelopersPage"),
  },
  {
    path: "/skills",
    title: "Skills",
    needsOwner: false,
    component: lazyRouteComponent(() => import("@/features/skills/SkillsPage"), "SkillsPage"),
  },
  {
    path: "/skills/$slug",
    title: "Skill",
    needsOwner: false,
    component: lazyRouteComponent(() => import("@/features/skills/SkillPage"), "SkillPage"),
  },
  {
    path: "/account",
    title: "Account",
    needsOwner: true,
    component: lazyRouteComponent(() => import("@/features/account/AccountPage"), "AccountPage"),
  },
];

interface NavigationEntry {
  path: string;
  title: string;
  icon: ReactNode;
}

/** The sections of the navigation, in its order. */
export const NAVIGATION: readonly NavigationEntry[] = [
  { path: "/", title: "Overview", icon: <OverviewIcon /> },
  { path: "/discover", title: "Discover", icon: <SearchIcon /> },
  { path: "/sell", title: "Sell", icon: <SellIcon /> },
  { path: "/payments", title: "Payments", icon: <PaymentsIcon /> },
  { path: "/automation", title: "Automation", icon: <AutomationIcon /> },
  { path: "/developers", title: "Developers", icon: <DevelopersIcon /> },
  { path: "/skills", title: "Skills", icon: <SkillsIcon /> },
  { path: "/account", title: "Account", icon: <AccountIcon /> },
];
