import * as Dropdown from "@radix-ui/react-dropdown-menu";
import { useRef } from "react";
import type { ReactNode } from "react";
import { Button } from "./Button";
import { MoreIcon } from "./icons";
import { joinClasses } from "./joinClasses";
import styles from "./Menu.module.css";

export interface MenuItem {
  label: string;
  onSelect: () => void;
  isDangerous?: boolean;
  isDisabled?: boolean;
  isSelected?: boolean;
}

interface MenuProps {
  /** What the menu is for, for screen readers: "Actions for the key ci". */
  name: string;
  items: readonly MenuItem[];
  /** The button that opens it; three dots without one. It has to take a ref. */
  trigger?: ReactNode;
}

/** A menu of actions. Not modal: that form of Radix's would put a style element into the page. */
export function Menu({ name, items, trigger }: MenuProps) {
  const selected = useRef<(() => void) | null>(null);
  return (
    <Dropdown.Root modal={false}>
      <Dropdown.Trigger asChild>
        {trigger ?? (
          <Button kind="quiet" size="icon" aria-label={name}>
            <MoreIcon />
          </Button>
        )}
      </Dropdown.Trigger>
      <Dropdown.Portal>
        <Dropdown.Content
          className={styles["menu"]}
          align="end"
          sideOffset={4}
          collisionPadding={12}
          onCloseAutoFocus={() => {
            // The focus goes back to the trigger now, so that a dialog gives it back there.
            selected.current?.();
            selected.current = null;
          }}
        >
          {items.map((item) => (
            <Dropdown.Item
              key={item.label}
              className={joinClasses(styles["item"], item.isDangerous && styles["danger"])}
              disabled={item.isDisabled ?? false}
              onSelect={() => {
                selected.current = item.onSelect;
              }}
            >
              {item.label}
              {item.isSelected && <span aria-label="selected">✓</span>}
            </Dropdown.Item>
          ))}
        </Dropdown.Content>
      </Dropdown.Portal>
    </Dropdown.Root>
  );
}
