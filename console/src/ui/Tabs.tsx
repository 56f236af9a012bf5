import * as RadixTabs from "@radix-ui/react-tabs";
import type { ReactNode } from "react";
import styles from "./Tabs.module.css";

export interface Tab {
  id: string;
  label: string;
  content: ReactNode;
}

interface TabsProps {
  name: string;
  tabs: readonly Tab[];
  selected: string;
  onSelect: (id: string) => void;
}

/** Tabs; the page keeps which one is selected in its address, so that a link leads to it. */
export function Tabs({ name, tabs, selected, onSelect }: TabsProps) {
  return (
    <RadixTabs.Root value={selected} onValueChange={onSelect}>
      <RadixTabs.List className={styles["list"]} aria-label={name}>
        {tabs.map((each) => (
          <RadixTabs.Trigger key={each.id} value={each.id} className={styles["tab"]}>
            {each.label}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {tabs.map((each) => (
        <RadixTabs.Content key={each.id} value={each.id} className={styles["panel"]} tabIndex={-1}>
          {each.content}
        </RadixTabs.Content>
      ))}
    </RadixTabs.Root>
  );
}
