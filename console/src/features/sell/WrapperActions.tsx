import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { useGo } from "@/ui/address";
import { Button } from "@/ui/Button";
import { Confirm } from "@/ui/Confirm";
import { Menu } from "@/ui/Menu";
import { announce } from "@/ui/toast";
import { useWrapperChanged } from "./useWrappers";
import type { Wrapper } from "./wrapperDraft";

type Asked = "enable" | "disable" | "delete" | null;

interface DialogProps {
  wrapper: Wrapper;
  onClose: () => void;
}

function EnableDialog({ wrapper, onClose }: DialogProps) {
  const changed = useWrapperChanged();
  return (
    <Confirm
      title={`Enable “${wrapper.name}”?`}
      verb="Enable"
      isDangerous={false}
      act={() => call("POST /v1/wrappers/{id}/enable", { path: { id: wrapper.id } }, { deadlineSeconds: 40 })}
      onDone={(enabled) => {
        changed(enabled);
        announce(`“${enabled.name}” can be bought now.`, "good");
        onClose();
      }}
      onClose={onClose}
    >
      <p>
        Everybody can buy calls at <code className="foreign">{wrapper.endpoint}</code>, and the catalog lists it at
        once. Upstream and recipients are checked again first.
      </p>
    </Confirm>
  );
}

function DisableDialog({ wrapper, onClose }: DialogProps) {
  const changed = useWrapperChanged();
  return (
    <Confirm
      title={`Disable “${wrapper.name}”?`}
      verb="Disable"
      act={() => call("POST /v1/wrappers/{id}/disable", { path: { id: wrapper.id } })}
      onDone={(disabled) => {
        changed(disabled);
        announce(`“${disabled.name}” is disabled.`, "good");
        onClose();
      }}
      onClose={onClose}
    >
      <p>Nobody can buy it, and its listings are taken down. You can enable it again. What was paid stays paid.</p>
    </Confirm>
  );
}

function DeleteDialog({ wrapper, onClose }: DialogProps) {
  const client = useQueryClient();
  const go = useGo();
  return (
    <Confirm
      title={`Delete “${wrapper.name}”?`}
      verb="Delete"
      act={() => call("DELETE /v1/wrappers/{id}", { path: { id: wrapper.id } })}
      onDone={() => {
        announce(`Deleted “${wrapper.name}”.`, "good");
        go("/sell");
        client.removeQueries({ queryKey: [...keys.wrappers, "one", wrapper.id] });
        void client.invalidateQueries({ queryKey: keys.wrappers });
        void client.invalidateQueries({ queryKey: keys.listings });
        void client.invalidateQueries({ queryKey: keys.audit });
      }}
      onClose={onClose}
    >
      <p>
        It cannot be restored. Its analytics go with it; its payments stay in your list. The slug{" "}
        <code className="foreign">{wrapper.slug}</code> stays yours.
      </p>
    </Confirm>
  );
}

/** Enable or disable a wrapper, and delete it; each asks first. */
export function WrapperActions({ wrapper }: { wrapper: Wrapper }) {
  const [asked, setAsked] = useState<Asked>(null);
  const onClose = () => setAsked(null);
  return (
    <>
      {wrapper.enabled ? (
        <Button onClick={() => setAsked("disable")}>Disable</Button>
      ) : (
        <Button kind="primary" onClick={() => setAsked("enable")}>
          Enable
        </Button>
      )}
      <Menu
        name={`More for ${wrapper.name}`}
        items={[{ label: "Delete", isDangerous: true, onSelect: () => setAsked("delete") }]}
      />
      {asked === "enable" && <EnableDialog wrapper={wrapper} onClose={onClose} />}
      {asked === "disable" && <DisableDialog wrapper={wrapper} onClose={onClose} />}
      {asked === "delete" && <DeleteDialog wrapper={wrapper} onClose={onClose} />}
    </>
  );
}
