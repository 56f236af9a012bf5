import { useRef } from "react";
import type { PlanDetail } from "@/api/automationTypes";
import { createPlan } from "@/api/automations";
import type { Network } from "@/api/types";
import { addTo, removeFrom } from "@/ui/draft";
import type { Draft } from "@/ui/draft";
import { useForm } from "@/ui/form";
import { bodyOf } from "./planBody";
import { planProblems } from "./planProblems";
import type { PlanRules, Problems } from "./planProblems";
import { readRefusal } from "./planRefusal";
import type { KnownToken, TokenOf } from "./planTokens";
import { usePlanTokens } from "./planTokens";

export interface PlanForm {
  draft: Draft;
  tokenOf: TokenOf;
  known: KnownToken[];
  /** What is wrong with the draft, whether it is shown yet or not. */
  problems: Problems;
  failure: unknown;
  isPending: boolean;
  set: (name: string, value: string) => void;
  field: (name: string) => { value: string; onChange: (value: string) => void; error: string | undefined };
  add: (list: string, members: Record<string, string>) => void;
  remove: (list: string, id: string) => void;
  submit: () => Promise<void>;
}

/** What the preview of a draft was refused for. */
export interface Refused {
  draft: Draft;
  failure: unknown;
}

/** Returns a key that stays the same for the same text: a repeated click makes no second plan. */
function useIdempotencyKey(): (text: string) => string {
  const known = useRef<{ text: string; key: string } | null>(null);
  return (text) => {
    if (known.current?.text !== text) known.current = { text, key: crypto.randomUUID() };
    return known.current.key;
  };
}

const refusalAt = (name: string, draft: Draft, refused: Refused | null): string | undefined => {
  if (refused === null) return undefined;
  const found = readRefusal(refused.draft, refused.failure);
  return found?.field === name && refused.draft[name] === draft[name] ? found.text : undefined;
};

interface Options {
  network: Network;
  initial: Draft;
  rules: PlanRules;
  onDone: (detail: PlanDetail) => void;
}

/** The form of a plan: errors found here, and those that the service names, stand at their fields. */
export function usePlanForm({ network, initial, rules, onDone }: Options): PlanForm {
  const sent = useRef<Draft | null>(null);
  const keyOf = useIdempotencyKey();
  const { known, tokenOf } = usePlanTokens(network);
  const form = useForm<Draft, PlanDetail>({
    initial,
    validate: (draft) => planProblems(draft, tokenOf, rules),
    submit: (draft) => {
      sent.current = draft;
      const body = bodyOf(draft, tokenOf);
      return createPlan(body, keyOf(JSON.stringify(body)));
    },
    onDone,
  });
  const replace = (draft: Draft) => {
    for (const [name, value] of Object.entries(draft)) if (form.values[name] !== value) form.set(name, value);
  };
  const draft = form.values;
  return {
    draft,
    tokenOf,
    known,
    problems: planProblems(draft, tokenOf, rules),
    failure: form.failure,
    isPending: form.isPending,
    set: form.set,
    field: (name) => {
      const own = form.field(name);
      const submitted = sent.current === null || form.failure === null ? null : { draft: sent.current, failure: form.failure };
      return { ...own, error: own.error ?? refusalAt(name, draft, submitted) };
    },
    add: (list, members) => replace(addTo(draft, list, members)),
    remove: (list, id) => replace(removeFrom(draft, list, id)),
    submit: form.submit,
  };
}

/** The form with what its preview was refused for at the field. */
export const withRefusal = (form: PlanForm, refused: Refused | null): PlanForm => ({
  ...form,
  field: (name) => {
    const own = form.field(name);
    return { ...own, error: own.error ?? refusalAt(name, form.draft, refused) };
  },
});
