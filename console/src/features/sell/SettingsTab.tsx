import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { networksQuery } from "@/api/networks";
import { Answer } from "@/ui/Answer";
import { Button } from "@/ui/Button";
import { announce } from "@/ui/toast";
import { useTokens } from "@/api/networks";
import { useWrapperChanged } from "./useWrappers";
import { useWrapperForm } from "./useWrapperForm";
import { changesOf, fieldsOf } from "./wrapperBody";
import type { Wrapper } from "./wrapperDraft";
import { draftOf } from "./wrapperDraft";
import { WrapperFormView } from "./WrapperFormView";

function SettingsForm({ wrapper }: { wrapper: Wrapper }) {
  const tokens = useTokens();
  const changed = useWrapperChanged();
  const [stored, setStored] = useState(wrapper);
  const form = useWrapperForm({
    initial: draftOf(wrapper, tokens),
    submit: async (draft, tokenOf) => {
      const changes = changesOf(stored, fieldsOf(draft, tokenOf));
      if (Object.keys(changes).length === 0) return stored;
      return call("PATCH /v1/wrappers/{id}", { path: { id: stored.id }, body: changes }, { deadlineSeconds: 40 });
    },
    onDone: (saved) => {
      if (saved === stored) {
        announce("Nothing has changed.");
        return;
      }
      setStored(saved);
      form.reset(draftOf(saved, tokens));
      changed(saved);
      announce(saved.enabled ? "Saved. New terms are offered within a second." : "Saved.", "good");
    },
  });
  return (
    <WrapperFormView
      form={form}
      stored={stored}
      name={`Settings of ${wrapper.name}`}
      verb="Save changes"
      cancel={<Button onClick={() => form.reset(draftOf(stored, tokens))}>Undo changes</Button>}
    />
  );
}

/** The settings of a wrapper. Only what was changed is sent. */
export function SettingsTab({ wrapper }: { wrapper: Wrapper }) {
  const query = useQuery(networksQuery);
  return (
    <Answer query={query} name="the networks">
      {() => <SettingsForm wrapper={wrapper} />}
    </Answer>
  );
}
