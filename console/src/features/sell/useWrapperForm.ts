import { useRef } from "react";
import { ApiError } from "@/api/errors";
import { useTokens } from "@/api/networks";
import { useForm } from "@/ui/form";
import type { Draft } from "@/ui/draft";
import { inWords } from "./callReasons";
import type { TokenOf, Wrapper } from "./wrapperDraft";
import { fieldOfRefusal, problemsOf } from "./wrapperProblems";

interface Options {
  initial: Draft;
  submit: (draft: Draft, tokenOf: TokenOf) => Promise<Wrapper>;
  onDone: (wrapper: Wrapper) => void;
}

export interface WrapperForm {
  draft: Draft;
  tokenOf: TokenOf;
  /** Why the service refused the form; at a field of it, or not. */
  failure: unknown;
  isPending: boolean;
  set: (name: string, value: string) => void;
  /** Replaces the draft, as by a list with one entry more. */
  change: (draft: Draft) => void;
  field: (name: string) => { value: string; onChange: (value: string) => void; error: string | undefined };
  submit: () => Promise<void>;
  reset: (draft: Draft) => void;
}

/** The refusal of a member that a field shows, as long as the field has the value that was refused. */
function refusalAt(name: string, draft: Draft, sent: Draft | null, failure: unknown): string | undefined {
  if (!(failure instanceof ApiError) || sent === null) return undefined;
  if (failure.code === "slug_taken") return name === "slug" && sent["slug"] === draft["slug"] ? failure.message : undefined;
  const found = fieldOfRefusal(sent, failure.message);
  if (found?.field !== name || sent[name] !== draft[name]) return undefined;
  return failure.code === "invalid_request" ? "The service does not take this value." : inWords(found.text);
}

/** The form of a wrapper: errors found here, and those that the service names, stand at their fields. */
export function useWrapperForm({ initial, submit, onDone }: Options): WrapperForm {
  const tokenOf = useTokens();
  const sent = useRef<Draft | null>(null);
  const form = useForm<Draft, Wrapper>({
    initial,
    validate: (draft) => problemsOf(draft, tokenOf),
    submit: (draft) => {
      sent.current = draft;
      return submit(draft, tokenOf);
    },
    onDone,
  });
  return {
    draft: form.values,
    tokenOf,
    failure: form.failure,
    isPending: form.isPending,
    set: form.set,
    change: (draft) => {
      for (const [name, value] of Object.entries(draft)) if (form.values[name] !== value) form.set(name, value);
    },
    field: (name) => {
      const own = form.field(name);
      return { ...own, error: own.error ?? refusalAt(name, form.values, sent.current, form.failure) };
    },
    submit: form.submit,
    reset: form.reset,
  };
}
