import type { ReactNode } from "react";
import { Button } from "./Button";
import { Actions, Dialog } from "./Dialog";
import { useForm } from "./form";
import { FormFrame } from "./FormFrame";

interface ConfirmProps<Result> {
  title: string;
  /** The button: the verb of what happens. */
  verb: string;
  isDangerous?: boolean;
  act: () => Promise<Result>;
  onDone: (result: Result) => void;
  onClose: () => void;
  children: ReactNode;
}

/** Asks before a change that cannot be undone, and shows why it failed if it does. */
export function Confirm<Result>(props: ConfirmProps<Result>) {
  const { title, verb, isDangerous = true, act, onDone, onClose, children } = props;
  const form = useForm({ initial: {}, submit: act, onDone });
  return (
    <Dialog title={title} onClose={onClose}>
      <FormFrame form={form} name={title}>
        {children}
        <Actions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={isDangerous ? "danger" : "primary"} isPending={form.isPending}>
            {verb}
          </Button>
        </Actions>
      </FormFrame>
    </Dialog>
  );
}
