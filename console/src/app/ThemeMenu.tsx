import { Button } from "@/ui/Button";
import { Menu } from "@/ui/Menu";
import { ThemeIcon } from "@/ui/icons";
import type { Theme } from "./theme";
import { setTheme, useTheme } from "./theme";

const NAMES: Record<Theme, string> = { system: "As the system", light: "Light", dark: "Dark" };

export function ThemeMenu() {
  const theme = useTheme();
  return (
    <Menu
      name="Theme"
      trigger={
        <Button kind="quiet" size="icon" aria-label={`Theme: ${NAMES[theme]}`}>
          <ThemeIcon />
        </Button>
      }
      items={(Object.keys(NAMES) as Theme[]).map((each) => ({
        label: NAMES[each],
        isSelected: each === theme,
        onSelect: () => setTheme(each),
      }))}
    />
  );
}
