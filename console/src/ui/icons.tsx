import type { ReactNode } from "react";

/** Draws 20 px line icons in the colour of the text; they carry no meaning of their own. */
function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      width="20"
      height="20"
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

export const CloseIcon = () => <Icon><path d="M5 5l10 10M15 5L5 15" /></Icon>;
export const MenuIcon = () => <Icon><path d="M3 6h14M3 10h14M3 14h14" /></Icon>;
export const CopyIcon = () => <Icon><rect x="7" y="7" width="9" height="9" rx="2" /><path d="M13 4H6a2 2 0 00-2 2v7" /></Icon>;
export const CheckIcon = () => <Icon><path d="M4.5 10.5l3.5 3.5 7.5-8" /></Icon>;
export const ExternalIcon = () => <Icon><path d="M8 5H5v10h10v-3M11 4h5v5M16 4l-7 7" /></Icon>;
export const OverviewIcon = () => <Icon><path d="M3.5 9L10 3.5 16.5 9v7.5h-4.5v-5h-4v5H3.5z" /></Icon>;
export const SearchIcon = () => <Icon><circle cx="9" cy="9" r="5.2" /><path d="M13 13l4 4" /></Icon>;
export const SellIcon = () => <Icon><path d="M3.5 8.5l1.4-5h10.2l1.4 5M3.5 8.5a2.2 2.2 0 004.3 0 2.2 2.2 0 004.4 0 2.2 2.2 0 004.3 0M4.7 10.5v6h10.6v-6" /></Icon>;
export const PaymentsIcon = () => <Icon><path d="M4 7h12M13 4l3 3-3 3M16 13H4M7 10l-3 3 3 3" /></Icon>;
export const DevelopersIcon = () => <Icon><path d="M7 6l-4 4 4 4M13 6l4 4-4 4" /></Icon>;
export const AutomationIcon = () => <Icon><circle cx="10" cy="10" r="6.5" /><path d="M10 6v4l2.8 1.8" /></Icon>;
export const SkillsIcon = () => <Icon><path d="M10 3l1.8 4.2L16 9l-4.2 1.8L10 15l-1.8-4.2L4 9l4.2-1.8zM16 14v3M14.5 15.5h3" /></Icon>;
export const AccountIcon = () => <Icon><circle cx="10" cy="7" r="3.2" /><path d="M3.8 16.5c1-3 3.4-4.3 6.2-4.3s5.2 1.3 6.2 4.3" /></Icon>;
export const ThemeIcon = () => <Icon><circle cx="10" cy="10" r="6.5" /><path d="M10 3.5v13a6.5 6.5 0 000-13z" fill="currentColor" /></Icon>;
export const MoreIcon = () => <Icon><path d="M5 10h.01M10 10h.01M15 10h.01" strokeWidth="2.6" /></Icon>;
export const ChevronIcon = () => <Icon><path d="M6 8l4 4 4-4" /></Icon>;
